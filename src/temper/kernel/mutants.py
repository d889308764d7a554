"""Mutants of a series: its lines, each changed in one place.

Whoever breaks code on purpose breaks what he thought of. Rules that know nothing of the
code do not, so what they break and no proof notices says where proofs are blind.
"""

import difflib
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from io import StringIO
from pathlib import Path

from temper.digest import digest
from temper.errors import InfraError
from temper.scratch import scratch_folder

_TABLE = Path(__file__).with_name("mutants.toml")
_BUILTIN = ("universal.rules", "c_like.rules", "c.rules")

_SUFFIXES = frozenset({".c", ".h", ".S"})
_TESTS = "#include <kunit/test.h>"
"""A file of tests has it; what is broken there breaks no kernel."""

_COMMENT = re.compile(
    r"""("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|/\*.*?\*/|//[^\n]*""", re.DOTALL
)
_NO_CODE = re.compile(
    # What is included, said and noted; and what is left of a comment or of a block.
    r"^\s*(?:#\s*include\b|MODULE_\w+\(|(?:pr|dev)_\w+\(|printk|[{}()\\;]*\s*$)"
)
_CONTEXT = 2
_ID = 10


@dataclass(frozen=True)
class Mutant:
    """A line of a series, and what it becomes."""

    id: str
    """From file, line, neighbouring lines and replacement, so that it stays the same
    when lines elsewhere come and go."""
    file: str
    """In the kernel's tree."""
    line: int
    """Its number in the patched file; counts from 1."""
    after: str
    """What it becomes, without a line end."""
    does: str
    """What that does, as a verb and its object."""

    def applied(self, text: str) -> str:
        """Return the patched file ``text`` with the mutant."""
        lines = text.split("\n")
        lines[self.line - 1] = self.after
        return "\n".join(lines)

    def hunk(self, text: str) -> str:
        """Return what changes in the patched file ``text``, as lines of a diff."""
        lines = text.split("\n")
        at = self.line - 1
        return "\n".join(
            [
                f"@@ {self.file}:{self.line} @@",
                *(f" {line}" for line in lines[max(0, at - _CONTEXT) : at]),
                f"-{lines[at]}",
                f"+{self.after}",
                *(f" {line}" for line in lines[at + 1 : at + 1 + _CONTEXT]),
            ]
        )


def series_mutants(before: Mapping[str, str], after: Mapping[str, str]) -> list[Mutant]:
    """Return the mutants of the lines that a series adds, in the order of their ids.

    ``before`` and ``after``: file -> its text without and with the series. That order
    has nothing to do with the code, so the first few are a fair sample. Raises
    InfraError if universalmutator is not installed.
    """
    found = [
        mutant
        for file, text in after.items()
        if Path(file).suffix in _SUFFIXES and _TESTS not in text
        for mutant in _mutants(file, before.get(file, ""), text)
    ]
    return sorted(found, key=lambda mutant: mutant.id)


def added_lines(before: str, after: str) -> set[int]:
    """Return the numbers of the lines in ``after`` that ``before`` does not have."""
    matcher = difflib.SequenceMatcher(
        None, before.split("\n"), after.split("\n"), autojunk=False
    )
    return {
        number + 1
        for tag, _, _, start, end in matcher.get_opcodes()
        if tag in ("replace", "insert")
        for number in range(start, end)
    }


def code_of(text: str) -> str:
    """Return C source with blanks for comments, and the same lines."""
    return _COMMENT.sub(lambda found: found[1] or re.sub(r"[^\n]", " ", found[0]), text)


def _mutants(file: str, before: str, after: str) -> Iterator[Mutant]:
    wanted = added_lines(before, after)
    code = code_of(after).split("\n")
    seen: Counter[str] = Counter()
    for number, line, does in _changed_lines(code):
        if number not in wanted or _NO_CODE.match(code[number - 1]):
            continue
        place = _place(code, number)
        key = json.dumps([file, *place, line])
        seen[key] += 1
        # The same lines in the same company get different ids.
        name = digest(f"{key} {seen[key]}".encode())[:_ID]
        yield Mutant(name, file, number, line, does)


def _place(code: Sequence[str], number: int) -> tuple[str, str, str]:
    """Return the line with this number, and the ones before and after it."""
    above = (line.strip() for line in reversed(code[: number - 1]))
    below = (line.strip() for line in code[number:])
    return (
        next(filter(None, above), ""),
        code[number - 1].strip(),
        next(filter(None, below), ""),
    )


def _changed_lines(code: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    """Yield number, replacement and effect of each way to change a line."""
    words = _words()
    for number, text, (rule, _), _ in _by_universalmutator(code):
        line = text.rstrip("\n")
        # A macro goes on in its next line, and must.
        goes_on = code[number - 1].rstrip().endswith("\\")
        if rule.rstrip() not in words:
            continue
        if goes_on and not line.rstrip().endswith("\\"):
            line = _kept_going(line)
        yield number, line, words[rule.rstrip()]


def _kept_going(line: str) -> str:
    r"""Return a commented line of a macro with its ``\`` after the comment."""
    return re.sub(r"\s*\\\s*\*/$", "*/", line) + " \\"


def _by_universalmutator(
    code: Sequence[str],
) -> Iterable[tuple[int, str, tuple[str, str], object]]:
    try:
        from universalmutator.mutator import mutants_regexp  # noqa: PLC0415
    except ImportError as error:
        raise InfraError(
            "the Python package universalmutator is missing",
            "install Temper with its extra 'mutants'",
        ) from error
    with scratch_folder() as folder, redirect_stdout(StringIO()):
        own = folder / "own.rules"
        rules = (rule for group in _groups() for rule in group.get("own", []))
        own.write_text("".join(f"{rule}\n" for rule in rules), encoding="utf-8")
        found: list[tuple[int, str, tuple[str, str], object]] = mutants_regexp(
            [f"{line}\n" for line in code],
            [*_BUILTIN, str(own)],
            ignorePatterns=[],
            ignoreStringOnly=True,
        )
    return found


@cache
def _groups() -> list[dict[str, list[str]]]:
    groups: list[dict[str, list[str]]] = tomllib.loads(_TABLE.read_text("utf-8"))[
        "rules"
    ]
    return groups


@cache
def _words() -> dict[str, str]:
    """Return rule -> what it does."""
    return {
        rule.rstrip(): str(group["does"])
        for group in _groups()
        for kind in ("builtin", "own")
        for rule in group.get(kind, [])
    }
