#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Break every comparison, constant and store of the library, and see that tests fail.

Each mutant is one change to one token or statement of ``src/``, built in a scratch
copy and given to the tests, the fastest first, until one fails. Survivors that are no
fault of the tests stand in ``mutants.toml`` with their reasons; others make this
command fail.

Arguments: what to break, as ``FILE`` or ``FILE:LINE`` (default: all); ``known``
for the dangerous changes that ``mutants.toml`` lists; ``--sample N`` for N of them;
``--jobs N`` for N copies at a time (default: as many as CPUs).
"""

import argparse
import contextlib
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

LIBRARY = Path(__file__).resolve().parent.parent
NOTES = tomllib.loads((LIBRARY / "tests" / "mutants.toml").read_text())

SECONDS_MAX = 180
"""A test that takes longer hangs, because the mutant does."""
MEMORY_MAX = 16 << 30
CANNOT_RUN = 77
"""The exit status of tests that lack something."""

TOKEN = re.compile(
    r"""
    (?P<comment>/\*.*?\*/|//[^\n]*)
  | (?P<directive>^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*)
  | (?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
  | (?P<number>\b(?:0[xX][0-9a-fA-F]+|[0-9]+)[uUlL]*\b)
  | (?P<name>\b[A-Za-z_]\w*\b)
  | (?P<operator><<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
COMPARISONS = {
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "==": "!=",
    "!=": "==",
    "&&": "||",
    "||": "&&",
}
ASSIGNMENT = re.compile(r"[-+*/%&|^]=|<<=|>>=|=|\+\+|--")
STORES = {
    "WRITE_ONCE",
    "atomic_store_explicit",
    "atomic_fetch_or_explicit",
    "__builtin_memcpy",
}
"""What stores, and is called as a function."""

CORE = [
    ["fill_progress"],
    ["config_found"],
    ["config_large_state"],
    ["batch_words"],
    ["memory_age"],
    ["bulk_keys"],
    ["memory_core"],
    ["sandbox_filter"],
    ["sandbox_limits"],
    ["threads_early"],
    ["threads_forks"],
    ["threads_forks_glibc"],
    ["threads_no_key"],
    ["sandbox_strict"],
    ["threads_churn", "400"],
    ["plugin_unload", "tests/libplugin.so"],
    ["processes_duplicates", "300000"],
    ["residue_calls"],
    ["memory_drop"],
    ["step_signal", "small", "batch_u64", "batch_look", "batch_refill", "release"],
    ["step_signal", "thread_end"],
    ["step_signal", "all", "first"],
    ["step_longjmp", "small", "batch_u64", "release"],
    ["step_fork", "small", "bulk", "batch_u64"],
    ["step_drop", "bulk", "batch_u64"],
]
CHACHA20 = [
    ["chacha20_vectors"],
    ["bulk_keys"],
    ["chacha20_lengths"],
    ["chacha20_fuzz", "0.05"],
    ["chacha20_residue"],
    ["chacha20_residue_native"],
    ["config_found"],
    ["chacha20_constant_time"],
    ["residue_calls"],
]
VDSO = [
    ["vdso_find"],
    ["config_found"],
    ["vdso_fuzz"],
]
PRELOAD = [
    ["fill_progress"],
    ["preload_functions"],
    ["preload_sandbox"],
    ["preload_device"],
]
SUITES = {
    "chacha20": CHACHA20,
    "vdso": VDSO,
    "preload": PRELOAD,
    "freestanding": PRELOAD,
    "sys": CORE + PRELOAD,
}
"""Programs and their arguments, by the first part of a file's name; else CORE."""
PRELOADED = "preload_"
PRELOAD_OBJECT = "libvgetrandom-preload.so"
UNDER_VALGRIND = {"chacha20_constant_time"}
"""Its CPU has no AVX-512."""
VALGRIND = ("valgrind", "--quiet", "--error-exitcode=1")
NOT_BUILT_HERE = {"chacha20_neon.c"}


@dataclass(frozen=True)
class Mutant:
    """A change of ``old``, at an offset of a file, to ``new``."""

    file: str
    offset: int
    old: str
    new: str
    line: str
    number: int

    def __str__(self) -> str:
        """Say where it is and what it changes."""
        return f"{self.file}:{self.number}: {self.line!r}: {self.old!r} -> {self.new!r}"

    def apply(self, text: str) -> str:
        """Return the changed text of the file."""
        end = self.offset + len(self.old)
        assert text[self.offset : end] == self.old
        return text[: self.offset] + self.new + text[end:]


def tokens(text: str) -> list[re.Match[str]]:
    """Return the tokens that a compiler sees outside of directives and strings."""
    kinds = {"number", "name", "operator"}
    found = [match for match in TOKEN.finditer(text) if match.lastgroup in kinds]
    return [match for match in found if not match[0].isspace()]


def next_number(literal: str) -> str:
    """Return the next integer, written in the same way."""
    digits = literal.rstrip("uUlL")
    suffix = literal[len(digits) :]
    value = int(digits, 0) + 1
    return (hex(value) if digits[:2].lower() == "0x" else str(value)) + suffix


def statement_around(found: list[re.Match[str]], index: int) -> tuple[int, int] | None:
    """Return the indices of a statement's first token and of its semicolon."""
    first, depth = index, 0
    while first and (depth or found[first - 1][0] not in (";", "{", "}")):
        first -= 1
        depth += {")": 1, "(": -1}.get(found[first][0], 0)
        if depth < 0:
            # Inside of parentheses: the head of a loop, or an argument.
            return None
        if found[first][0] == ")" and depth == 1:
            head = found[max(0, opening(found, first) - 1)][0]
            if head in ("if", "while", "for"):
                first += 1
                break
    last = index
    while last < len(found) and found[last][0] != ";":
        if found[last][0] in ("{", "}"):
            return None
        last += 1
    return first, last


def opening(found: list[re.Match[str]], index: int) -> int:
    """Return the index of the parenthesis that the one at ``index`` closes."""
    depth = 0
    while True:
        depth += {")": 1, "(": -1}.get(found[index][0], 0)
        if not depth:
            return index
        index -= 1


def is_declaration(found: list[re.Match[str]], first: int, index: int) -> bool:
    """Tell a declaration's initializer, which cannot be dropped, from a store."""
    head = [match for match in found[first:index] if match[0] not in ("*",)]
    words = [match.lastgroup == "name" for match in head]
    return len(words) > 1 and words[0] and words[1]


def mutants_of(file: str, text: str) -> Iterator[Mutant]:
    """Yield all mutants of a file."""
    found = tokens(text)
    lines = text.splitlines()
    dropped = set()

    def mutant(offset: int, old: str, new: str) -> Mutant:
        number = text.count("\n", 0, offset)
        return Mutant(file, offset, old, new, lines[number].strip(), number + 1)

    for index, match in enumerate(found):
        token = match[0]
        if match.lastgroup == "number":
            yield mutant(match.start(), token, next_number(token))
        elif token in COMPARISONS:
            yield mutant(match.start(), token, COMPARISONS[token])
        elif ASSIGNMENT.fullmatch(token) or token in STORES:
            around = statement_around(found, index)
            if not around or is_declaration(found, around[0], index):
                continue
            start, end = found[around[0]].start(), found[around[1]].end()
            head = found[around[0]][0]
            if start not in dropped and head not in ("return", "if", "for"):
                dropped.add(start)
                yield mutant(start, text[start:end], ";")


def all_mutants(names: list[str]) -> list[Mutant]:
    """Return the mutants of these files, or of all, in the order of the files."""
    paths = sorted((LIBRARY / "src").glob("*.[ch]"))
    return [
        mutant
        for path in paths
        if path.name not in NOT_BUILT_HERE
        for mutant in mutants_of(path.name, path.read_text())
        if not names or {mutant.file, f"{mutant.file}:{mutant.number}"} & set(names)
    ]


def known_mutants() -> list[Mutant]:
    """Return the dangerous ones, which no change of the tests may let live."""
    found = []
    for note in NOTES["dangerous"]:
        text = (LIBRARY / "src" / note["file"]).read_text()
        assert text.count(note["old"]) == 1, f"not there, or not once: {note}"
        offset = text.index(note["old"])
        number = text.count("\n", 0, offset) + 1
        found.append(
            Mutant(note["file"], offset, note["old"], note["new"], note["name"], number)
        )
    return found


class Scratch:
    """A copy of the library that is broken and repaired again and again."""

    def __init__(self, folder: Path) -> None:
        """Build the copy as it is."""
        folder.mkdir()
        self.source = folder / "source"
        self.build = folder / "build"
        leave_out = shutil.ignore_patterns("build", "target", "bench", "rust")
        shutil.copytree(LIBRARY, self.source, ignore=leave_out)
        # The benchmark has a build file of its own, and nothing here to measure.
        (self.source / "bench").mkdir()
        (self.source / "bench" / "meson.build").touch()
        options = ["-Dwerror=false", "-Dbuildtype=plain", "-Dc_args=-O2"]
        self.call(["meson", "setup", *options, self.build, self.source])
        assert self.make(["all"]), "the library does not build"
        self.good = self.machine_code()

    def call(self, command: list[str | Path]) -> int:
        """Run a command silently; return its exit status."""
        quiet = subprocess.DEVNULL
        done = subprocess.run(command, stdout=quiet, stderr=quiet, check=False)
        return done.returncode

    def make(self, targets: list[str]) -> bool:
        """Build targets; return whether the compiler accepted them."""
        return self.call(["ninja", "-C", self.build, *targets]) == 0

    def machine_code(self) -> bytes:
        """Return a shared object with all sources, and without what LTO needs."""
        return (self.build / PRELOAD_OBJECT).read_bytes()

    def failure(self, test: list[str]) -> str:
        """Run a test; return its name if it fails, and whether it had to be ended.

        A test that says that it cannot run here has judged nothing.
        """
        env = dict(os.environ)
        if test[0].startswith(PRELOADED):
            env["LD_PRELOAD"] = str(self.build / PRELOAD_OBJECT)
        program = [str(self.build / "tests" / test[0]), *test[1:]]
        with subprocess.Popen(
            [*VALGRIND, *program] if test[0] in UNDER_VALGRIND else program,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            cwd=self.build,
            env=env,
            start_new_session=True,
        ) as running:
            try:
                return "" if running.wait(SECONDS_MAX) in (0, CANNOT_RUN) else test[0]
            except subprocess.TimeoutExpired:
                return f"{test[0]} (hangs)"
            finally:
                # Also what the test has forked.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(running.pid, signal.SIGKILL)

    def fate(self, mutant: Mutant) -> str:
        """Return what became of a mutant: the test that killed it, or ``survived``."""
        path = self.source / "src" / mutant.file
        good = path.read_text()
        path.write_text(mutant.apply(good))
        try:
            return self.try_tests(suite_of(mutant.file))
        finally:
            path.write_text(good)

    def try_tests(self, suite: list[list[str]]) -> str:
        """Run tests of the broken copy until one fails."""
        if not self.make(["libvgetrandom.a", PRELOAD_OBJECT]):
            return "compiler"
        if self.machine_code() == self.good:
            return "same code"
        for test in suite:
            if not self.make(targets_of(test)):
                return "compiler"
            failure = self.failure(test)
            if failure:
                return failure
        return "survived"


def limit() -> None:
    """Keep broken programs, which inherit this, from taking all memory and disk."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MAX, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def targets_of(test: list[str]) -> list[str]:
    """Return what a test is made of: its program, and files that it is given."""
    return [f"tests/{test[0]}", *(word for word in test[1:] if "/" in word)]


def suite_of(file: str) -> list[list[str]]:
    """Return the tests that a file's mutants are given to."""
    return SUITES.get(re.split("[_.]", file)[0], CORE)


def reason_for(mutant: Mutant) -> str | None:
    """Return why a mutant may survive, as mutants.toml has it."""
    whys = [note["why"] for note in NOTES["survivor"] if explains(note, mutant)]
    return str(whys[0]) if whys else None


def stale_notes() -> list[str]:
    """Return the lines of mutants.toml's survivors that no mutant changes."""
    mutants = all_mutants([])
    return [
        f"{note['file']}: {note['line']}"
        for note in NOTES["survivor"]
        if not any(explains(note, mutant) for mutant in mutants)
    ]


def explains(note: dict[str, str], mutant: Mutant) -> bool:
    """Tell whether a survivor's note is about this mutant."""
    return (
        note["file"] == mutant.file
        and note["line"] == mutant.line
        and note.get("old", mutant.old) == mutant.old
    )


def run(mutants: list[Mutant], jobs: int) -> Counter[str]:
    """Try all mutants in so many copies; return how often each fate was met."""
    fates: Counter[str] = Counter()
    free: Queue[Scratch] = Queue()
    with (
        tempfile.TemporaryDirectory(prefix="mutants-") as folder,
        ThreadPoolExecutor(jobs) as pool,
    ):
        for scratch in pool.map(Scratch, [Path(folder) / str(n) for n in range(jobs)]):
            free.put(scratch)
        for suite in (CORE, CHACHA20, VDSO, PRELOAD):
            for test in suite:
                assert not scratch.failure(test), f"{test} fails without a mutant"

        def fate_of(mutant: Mutant) -> str:
            own = free.get()
            try:
                return own.fate(mutant)
            finally:
                free.put(own)

        for mutant, fate in zip(mutants, pool.map(fate_of, mutants), strict=True):
            why = reason_for(mutant) if fate == "survived" else None
            fates["explained" if why else fate] += 1
            print(f"{mutant}: {fate}{': ' + why if why else ''}", flush=True)
    report(fates)
    return fates


def report(fates: Counter[str]) -> None:
    """Print how many were killed by what, and the share."""
    tests = Counter(fates)
    no_mutants = tests.pop("compiler", 0), tests.pop("same code", 0)
    alive = tests.pop("survived", 0), tests.pop("explained", 0)
    killed = sum(tests.values())
    total = killed + sum(alive)
    print(f"\n{no_mutants[0]} the compiler refuses, {no_mutants[1]} make no difference")
    for test, count in tests.most_common():
        print(f"{count:5} killed by {test}")
    print(
        f"{killed} of {total} killed ({killed / max(1, total):.1%}); {alive[1]} survive"
        f" for a reason in mutants.toml, {alive[0]} for none"
    )


def main() -> None:
    """Run what the arguments ask for; exit with 1 if a mutant should have died."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", help="files, or 'known'")
    parser.add_argument("--sample", type=int, help="only so many, by chance")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--list", action="store_true", help="only name them")
    arguments = parser.parse_args()
    known = arguments.what == ["known"]
    mutants = known_mutants() if known else all_mutants(arguments.what)
    if arguments.sample:
        mutants = random.sample(mutants, min(arguments.sample, len(mutants)))
    if arguments.list:
        print(*mutants, sep="\n")
        return
    stale = stale_notes()
    assert not stale, f"mutants.toml names lines that are not there: {stale}"
    limit()
    fates = run(mutants, arguments.jobs)
    # A dangerous change that is none tells nothing of the tests.
    bad = ("survived", "compiler", "same code") if known else ("survived",)
    sys.exit(any(fates[fate] for fate in bad))


if __name__ == "__main__":
    main()
