"""Which instructions of a function may run."""

from collections.abc import Sequence

from temper.assembly import arm64_branch

_RETURN, _RETURN_BITS = 0xD61F_0000, 0xFFBF_FC1F  # ret and br
_JUMP, _JUMP_BITS = 0x1400_0000, 0xFC00_0000  # b


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
    far = arm64_branch(word)
    if far is None:
        return [at + 1]
    if word & _JUMP_BITS == _JUMP:
        return [at + far]
    return [at + 1, at + far]
