#!/usr/bin/env python3
"""Break the code that judges, line by line, and see which changes its tests notice.

Judges, statistics and analysis decide what is PROVEN and what it costs: they notice the
mutants of a series, and their unit tests must notice theirs. Each mutant is one line
changed by universalmutator's rules for Python, in a copy of the checkout, where the
tests run that ran the line before. Exit status 1 means that one survived for which
judge_mutants.toml has no reason.

Arguments: files, for their mutants only; ``--sample N`` for N of them, always the same;
``--jobs N`` for N copies at a time (default: as many as CPUs).
"""

import argparse
import ast
import os
import shutil
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from queue import Queue
from warnings import catch_warnings

from coverage import CoverageData
from universalmutator.mutator import mutants_regexp

from temper.digest import digest
from temper.errors import InfraError
from temper.kernel.mutants import Mutant
from temper.paths import REPOSITORY
from temper.process import Finished, call
from temper.scratch import scratch_folder
from temper.stats.proportion import interval

MUTATED = ("features/*/judges", "src/temper/stats", "src/temper/analysis")
TESTS = "tests/unit"
REASONS = REPOSITORY / "scripts" / "judge_mutants.toml"
SECONDS_MAX = 300.0
"""What takes longer hangs, because the mutant does."""
ALL_TESTS_MAX = 2 * 3600.0
RULES = ["universal.rules", "python.rules"]

Lines = Mapping[tuple[str, int], frozenset[str]]
"""File and line -> the tests that run it."""


def files() -> list[str]:
    """Return the files that are mutated."""
    found = (path for where in MUTATED for path in REPOSITORY.glob(f"{where}/*.py"))
    return sorted(str(path.relative_to(REPOSITORY)) for path in found)


def mutants_of(file: str) -> Iterator[Mutant]:
    """Yield the mutants of a file that are other programs, and those only once."""
    text = (REPOSITORY / file).read_text("utf-8")
    lines = text.split("\n")
    words = docstring_lines(text)
    seen = {meaning(text)}
    with redirect_stdout(StringIO()):
        changes = mutants_regexp(
            [f"{line}\n" for line in lines], RULES, ignorePatterns=[]
        )
    for number, after, *_ in changes:
        mutant = changed(file, number, lines[number - 1], after.rstrip("\n"))
        means = meaning(mutant.applied(text)) if number not in words else None
        if means and means not in seen:
            seen.add(means)
            yield mutant


def changed(file: str, number: int, before: str, after: str) -> Mutant:
    """Return a mutant whose id is the same wherever its line is."""
    key = f"{file}\n{before.strip()}\n{after.strip()}"
    return Mutant(digest(key.encode())[:10], file, number, after, "changes the line")


def docstring_lines(text: str) -> set[int]:
    """Return the numbers of the lines that strings take which are statements."""
    return {
        number
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


def meaning(text: str) -> str | None:
    """Return what two programs have in common that do the same; None: it is none.

    mypy reads the types of functions, and nothing else does.
    """
    try:
        with catch_warnings(action="ignore"):
            tree = ast.parse(text)
            # Which refuses more, such as a break where there is no loop.
            compile(text, "", "exec")
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.FunctionDef):
            node.returns = None
    return ast.dump(tree)


def covering(mutant: Mutant, lines: Lines) -> frozenset[str]:
    """Return the tests that run the statement of a mutant.

    What is run when a file is imported is for all tests of that file.
    """
    text = (REPOSITORY / mutant.file).read_text("utf-8")
    around = [
        range(node.lineno, (node.end_lineno or node.lineno) + 1)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.stmt)
    ]
    everything = range(1, text.count("\n") + 2)
    holding = [numbers for numbers in around if mutant.line in numbers]
    for numbers in (*sorted(holding, key=len), everything):
        empty: frozenset[str] = frozenset()
        if tests := empty.union(*(lines.get((mutant.file, n), empty) for n in numbers)):
            return tests
    return empty


def tests_of_lines(folder: Path) -> Lines:
    """Run all tests in a copy of the checkout, and return which ran which lines.

    Ends the program if one fails: mutants could not be told from what that is.
    """
    settings = folder.parent / "coverage.ini"
    data = folder.parent / "coverage.db"
    settings.write_text(
        f"[run]\ndata_file = {data}\ndynamic_context = test_function\n"
        f"include =\n{''.join(f'    {where}/*.py' + chr(10) for where in MUTATED)}"
    )
    coverage = ("coverage", "run", f"--rcfile={settings}", "-m")
    check_passed(run_tests([TESTS], folder, ALL_TESTS_MAX, *coverage))
    return read_lines(CoverageData(str(data)), folder)


def read_lines(data: CoverageData, folder: Path) -> Lines:
    """Return what coverage has found out."""
    data.read()
    found: dict[tuple[str, int], frozenset[str]] = {}
    for path in data.measured_files():
        file = str(Path(path).relative_to(folder))
        for number, contexts in data.contexts_by_lineno(path).items():
            found[file, number] = frozenset(map(node_of, filter(None, contexts)))
    return found


def node_of(context: str) -> str:
    """Return what pytest calls a test that coverage calls ``module.function``."""
    module, *names = context.split(".")
    return f"{TESTS}/{module}.py::{'::'.join(names)}"


def run_tests(
    tests: Iterable[str], folder: Path, timeout: float, *under: str
) -> Finished:
    """Run tests of a copy, one after the other, until one fails.

    ``under``: the module, and its arguments, that runs pytest. Raises InfraError after
    ``timeout`` seconds.
    """
    words = ("pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", *sorted(tests))
    # Python finds the copy's modules first.
    env = {**os.environ, "PYTHONPATH": str(folder / "src")}
    return call([sys.executable, "-m", *under, *words], folder, timeout, env=env)


def check_passed(done: Finished) -> None:
    """End the program unless tests passed: mutants could not be told from a failure."""
    if done.status:
        sys.exit(f"the tests fail without a mutant:\n{done.tail(20)}")


def copy(folder: Path) -> Path:
    """Copy what git knows of the checkout."""
    listed = call(["git", "ls-files", "-z"], REPOSITORY, SECONDS_MAX)
    for name in filter(None, "".join(listed.lines).split("\0")):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(REPOSITORY / name, target, follow_symlinks=False)
    return folder


def fate(mutant: Mutant, tests: Iterable[str], folder: Path) -> str:
    """Return whether a mutant was ``noticed``, ``survived``, or had ``no test``."""
    if not tests:
        return "no test"
    path = folder / mutant.file
    whole = path.read_text("utf-8")
    path.write_text(mutant.applied(whole), "utf-8")
    try:
        done = run_tests(tests, folder, SECONDS_MAX)
    except InfraError:
        return "noticed"
    finally:
        path.write_text(whole, "utf-8")
    return "noticed" if done.status else "survived"


def tried(
    mutants: list[Mutant], lines: Lines, copies: list[Path], reasons: Mapping[str, str]
) -> Counter[str]:
    """Try mutants in copies of the checkout; return how often each fate was met."""
    free: Queue[Path] = Queue()
    for each in copies:
        free.put(each)

    def fate_of(mutant: Mutant) -> str:
        folder = free.get()
        try:
            return fate(mutant, covering(mutant, lines), folder)
        finally:
            free.put(folder)

    fates: Counter[str] = Counter()
    with ThreadPoolExecutor(len(copies)) as pool:
        for mutant, found in zip(mutants, pool.map(fate_of, mutants), strict=True):
            why = reasons.get(mutant.id) if found != "noticed" else None
            fates["accepted" if why else found] += 1
            hunk = mutant.hunk((REPOSITORY / mutant.file).read_text("utf-8"))
            says = f"{found}: {why}" if why else found
            print(f"{mutant.id} {says}\n{hunk}\n", flush=True)
    return fates


def say(fates: Counter[str], sampled: bool) -> None:
    """Print the score, and its interval if it is of a sample."""
    caught, total = fates["noticed"] + fates["accepted"], sum(fates.values())
    low, high = interval(caught, total)
    within = f" ({low:.1%} to {high:.1%})" if sampled else ""
    print(f"\n{caught / total:.1%}{within} of {total} mutants noticed or accepted")
    for name, count in fates.most_common():
        print(f"{count:5} {name}")


def main() -> None:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", help="default: all")
    parser.add_argument("--sample", type=int, help="only so many")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    reasons = {each["mutant"]: each["reason"] for each in notes()}
    everything = [mutant for file in files() for mutant in mutants_of(file)]
    if stale := reasons.keys() - {mutant.id for mutant in everything}:
        parser.error(f"{REASONS}: there are no such mutants: {', '.join(stale)}")
    wanted = [m for m in everything if m.file in (arguments.files or [m.file])]
    if not wanted:
        parser.error(f"these files have no mutants; known: {' '.join(files())}")
    with scratch_folder() as scratch:
        copies = [copy(scratch / str(n) / "copy") for n in range(arguments.jobs)]
        lines = tests_of_lines(copies[0])
        chosen = sorted(wanted, key=lambda mutant: mutant.id)[: arguments.sample]
        # What pytest cannot find would fail, too.
        needed = frozenset[str]().union(*(covering(m, lines) for m in chosen))
        check_passed(run_tests(needed, copies[0], ALL_TESTS_MAX))
        fates = tried(chosen, lines, copies, reasons)
    say(fates, sampled=len(chosen) < len(wanted))
    sys.exit(bool(fates["survived"] + fates["no test"]))


def notes() -> list[dict[str, str]]:
    """Return the mutants that may survive, with reasons."""
    found: list[dict[str, str]] = tomllib.loads(REASONS.read_text("utf-8"))["accepted"]
    return found


if __name__ == "__main__":
    main()
