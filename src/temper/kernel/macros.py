"""Where macros of a kernel's headers get to: whatever uses one has its name.

A mutant of a macro changes no other object, so no other has to be compiled, of the
thousand that may include its header.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

CONFIGURED = "include/generated/autoconf.h"
"""The header that says which options a kernel has."""

_DEFINED = re.compile(r"^\s*#\s*define\s+(\w+)")
_CONDITION = re.compile(r"^\s*#\s*(if|ifdef|ifndef|elif|else|endif)\b\s*(.*)$")
_SET = re.compile(r"^[ \t]*#[ \t]*(?:define|undef)[ \t]+(CONFIG_\w+)", re.MULTILINE)
_WORD = re.compile(r"\w+")


def macro_of(text: str, line: int) -> str:
    """Name the macro that a line of C defines, or goes on to define; empty: none."""
    lines = text.split("\n")
    first = line - 1
    while first and lines[first - 1].endswith("\\"):
        first -= 1
    found = _DEFINED.match(lines[first])
    return found[1] if found else ""


@dataclass(frozen=True)
class Sources:
    """What a kernel is compiled from."""

    code: Mapping[str, str]
    """File -> its text without comments, CONFIGURED among them."""
    _omitted: dict[str, Mapping[int, Sequence[str]]] = field(default_factory=dict)

    def expanding(self, macro: str) -> Iterator[tuple[str, int]]:
        """Yield the lines outside macros that may expand one, as file and number.

        They have its name or that of a macro that may expand it, or half of a name that
        ``##`` may make of two words. Number 0: all that includes the file may.
        """
        names = [macro]
        for name in names:
            for word in (name, *self._halves(name)):
                for file, line in self._having(word):
                    user = macro_of(self.code[file], line) if line else ""
                    if not user:
                        yield file, line
                    elif user not in names:
                        names.append(user)

    def omitted(self, file: str) -> Mapping[int, Sequence[str]]:
        """Return the lines of a file that the kernel's options leave out.

        For each, tells the files that set such an option for themselves: only what
        includes one of them may have the line. Conditions count that are an option's
        name and nothing else.
        """
        if file not in self._omitted:
            lines = self.code[file].split("\n")
            self._omitted[file] = dict(self._find_omitted(lines))
        return self._omitted[file]

    def _having(self, word: str) -> Iterator[tuple[str, int]]:
        """Yield the lines that have a word, as ``expanding`` does."""
        pattern = re.compile(rf"\b{word}\b")
        for file in [file for file, code in self.code.items() if word in code]:
            omitted = self.omitted(file)
            for number, line in enumerate(self.code[file].split("\n"), 1):
                if not pattern.search(line):
                    continue
                if number in omitted:
                    yield from ((setting, 0) for setting in omitted[number])
                else:
                    yield file, number

    def _halves(self, name: str) -> Iterator[str]:
        """Yield a half of each pair of words that make up a name.

        Whatever puts them together reads both, so the one in fewer files is enough.
        """
        for at in range(1, len(name)):
            pair = (name[:at], name[at:])
            if all(word in self._words for word in pair):
                yield min(pair, key=self._words.__getitem__)

    @cached_property
    def _words(self) -> Counter[str]:
        """Word -> how many files have it."""
        found: Counter[str] = Counter()
        for code in self.code.values():
            found.update(set(_WORD.findall(code)))
        return found

    def _find_omitted(self, lines: list[str]) -> Iterator[tuple[int, Sequence[str]]]:
        # The conditions around a line: the option, whether its branch holds, and
        # whether this branch does not.
        around: list[tuple[str, bool | None, bool]] = []
        for number, line in enumerate(lines, 1):
            if not (found := _CONDITION.match(line)):
                options = [option for option, _, omitted in around if omitted]
                if options:
                    yield number, self._settings.get(options[0], ())
                continue
            word, condition = found[1], found[2].strip()
            if word.startswith("if"):
                holds = self._holds(word, condition)
                around.append((condition, holds, holds is False))
                continue
            option, holds, _ = around.pop()
            if word != "endif":
                around.append((option, holds, holds is True))

    def _holds(self, word: str, condition: str) -> bool | None:
        """Return whether ``#ifdef`` or ``#ifndef`` holds; None: nobody knows."""
        if word == "if" or not condition.startswith("CONFIG_"):
            return None
        return (condition in self._options) == (word == "ifdef")

    @cached_property
    def _options(self) -> set[str]:
        return set(_SET.findall(self.code[CONFIGURED]))

    @cached_property
    def _settings(self) -> Mapping[str, Sequence[str]]:
        """Option -> files that define it, or no longer have it, for themselves."""
        found: dict[str, list[str]] = {}
        for file in [file for file in self.code if file != CONFIGURED]:
            for option in set(_SET.findall(self.code[file])):
                found.setdefault(option, []).append(file)
        return found
