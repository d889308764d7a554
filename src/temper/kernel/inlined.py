"""Which objects have code of a header's functions: the compiler copies marks there.

A mutant in the body of such a function changes no other object, so no other has to be
compiled, of the thousand that may include its header.
"""

import re

from temper.kernel.mutants import code_of

# No statement, which could change what is inlined. The compiler keeps it for each
# function that it can reach, and a kernel is linked without sections of that name.
_VARIABLE = (
    '{ static const char _mark[] __attribute__((used, section(".discard.mutants")))'
    ' = "%s";'
)
_MARK = re.compile(rb"<inlined ([^<>]+)>")
_DIRECTIVE = re.compile(r"^\s*#\s*(?:define|undef|include)\b", re.MULTILINE)


def function_of(file: str, text: str, line: int) -> str:
    """Name the function of a header that has a line in its body; empty: none has.

    A body is what stands between braces in the first column, after a parenthesis. What
    it has the preprocessor define or include counts after it, too: such a one is none.
    """
    for opening, closing in _bodies(text):
        if opening < line < closing:
            return _name(file, opening)
    return ""


def marked(file: str, text: str) -> str:
    """Return a header whose functions leave their names in objects; lines stay."""
    lines = text.split("\n")
    for opening, _ in _bodies(text):
        lines[opening - 1] = _VARIABLE % f"<inlined {_name(file, opening)}>"
    return "\n".join(lines)


def inlined(content: bytes) -> set[str]:
    """Return the names of the functions of marked headers that an object has."""
    return {name.decode() for name in _MARK.findall(content)}


def _bodies(text: str) -> list[tuple[int, int]]:
    """Return the lines of the braces around each body."""
    found = []
    opening = 0
    before = ""
    lines = [line.rstrip() for line in code_of(text).split("\n")]
    for number, line in enumerate(lines, 1):
        if line == "{" and before.endswith(")"):
            opening = number
        elif line == "}" and opening:
            if not _DIRECTIVE.search("\n".join(lines[opening : number - 1])):
                found.append((opening, number))
            opening = 0
        before = line or before
    return found


def _name(file: str, opening: int) -> str:
    return f"{file}:{opening}"
