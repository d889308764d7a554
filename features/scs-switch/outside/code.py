"""Which instructions of a function may run."""

from collections.abc import Sequence

_RETURN, _RETURN_BITS = 0xD61F_0000, 0xFFBF_FC1F  # ret and br
_JUMP, _JUMP_BITS = 0x1400_0000, 0xFC00_0000  # b
# b.cond; cbz and cbnz; tbz and tbnz: bits, value, and the width of the target.
_BRANCHES = (
    (0xFF00_0010, 0x5400_0000, 19),
    (0x7E00_0000, 0x3400_0000, 19),
    (0x7E00_0000, 0x3600_0000, 14),
)


def reachable(code: Sequence[int]) -> list[int]:
    """Return the positions in ``code`` that the first instruction leads to, in order.

    After a function come replacements for instructions of others, which do not run.
    """
    found: set[int] = set()
    todo = [0]
    while todo:
        at = todo.pop()
        if at in found or not 0 <= at < len(code):
            continue
        found.add(at)
        todo += _next(at, code[at])
    return sorted(found)


def _next(at: int, word: int) -> list[int]:
    if word & _RETURN_BITS == _RETURN:
        return []
    if word & _JUMP_BITS == _JUMP:
        return [at + _signed(word, 26)]
    for bits, value, width in _BRANCHES:
        if word & bits == value:
            return [at + 1, at + _signed(word >> 5, width)]
    return [at + 1]


def _signed(word: int, width: int) -> int:
    """Return the lowest ``width`` bits as a signed number."""
    value = word & ((1 << width) - 1)
    return value - (1 << width) if value >> (width - 1) else value
