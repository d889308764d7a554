"""Which objects have code of a header's functions: the compiler copies marks there.

A mutant in the body of such a function changes no other object, so no other has to be
compiled, of the thousand that may include its header.
"""

import re

from temper.kernel.mutants import code_of

# What sections of this name hold is in objects only: kernels are linked without it. And
# __inline: it makes no function too long to be inlined.
_ASM = (
    '{ __asm__ __inline volatile (".pushsection .discard.mutants,\\"\\"\\n"'
    ' ".ascii \\"%s\\"\\n" ".popsection");'
)
_MARK = re.compile(rb"<inlined ([^<>]+)>")


def function_of(file: str, text: str, line: int) -> str:
    """Name the function of a header that has a line in its body; empty: none has.

    A body is what stands between braces in the first column. What it defines for the
    preprocessor holds after it, too, so one that does is none.
    """
    for opening, closing in _bodies(text):
        if opening < line < closing:
            return _name(file, opening)
    return ""


def marked(file: str, text: str) -> str:
    """Return a header whose functions leave their names in objects; lines stay."""
    lines = text.split("\n")
    for opening, _ in _bodies(text):
        lines[opening - 1] = _ASM % f"<inlined {_name(file, opening)}>"
    return "\n".join(lines)


def inlined(content: bytes) -> set[str]:
    """Return the names of the functions of marked headers that an object has."""
    return {name.decode() for name in _MARK.findall(content)}


def _bodies(text: str) -> list[tuple[int, int]]:
    """Return the lines of the braces around each body."""
    lines = code_of(text).split("\n")
    found = []
    opening = 0
    for number, line in enumerate(lines, 1):
        if line.rstrip() == "{":
            opening = number
        elif line.rstrip() == "}" and opening:
            body = "\n".join(lines[opening : number - 1])
            if not re.search(r"^\s*#\s*(?:define|undef)", body, re.MULTILINE):
                found.append((opening, number))
            opening = 0
    return found


def _name(file: str, opening: int) -> str:
    return f"{file}:{opening}"
