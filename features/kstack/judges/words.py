"""Whether words that the kernel draws are as random as they look."""

from dataclasses import dataclass

import numpy as np

from temper.stats.judging import Ints

from .measures import luck, p_text, repeated

WORD = 64


@dataclass(frozen=True)
class Found:
    """What a test found."""

    figures: dict[str, float]
    complaints: list[str]
    """What landed."""


def judge_words(what: str, said: str, words: Ints, level: float) -> Found:
    """Judge words: does one come twice, and is each bit as often 1 as 0?

    ``what`` is the beginning of the figures' names; ``said`` is what they are called.
    """
    again, p = repeated(words), _bit_p(words)
    figures = {
        what: float(len(words)),
        f"{what}_repeated": float(again),
        f"{what}_bit_p": p,
        f"{what}_bits": bits_noticed(len(words), level),
    }
    complaints = [f"{again} of {len(words)} {said} came before"] if again else []
    if p < level:
        complaints.append(f"a bit of the {said} is not even: {p_text(p)}")
    return Found(figures, complaints)


def bits_noticed(words: int, level: float) -> float:
    """Return how many random bits so many words must have if none comes twice.

    Of words of b bits, n are all different with probability exp(-n^2 / 2^(b+1)).
    """
    return max(0.0, float(np.log2(max(words, 1) ** 2 / -np.log(level))) - 1)


def _bit_p(words: Ints) -> float:
    """Return the p-value of the bit that is least even, for all bits together."""
    if not len(words):
        return 1.0
    bits = (words.astype(np.uint64)[:, None] >> np.arange(WORD, dtype=np.uint64)) & 1
    ones = bits.sum(axis=0, dtype=np.int64)
    rarer = np.minimum(ones, len(words) - ones)
    most = len(words) - int(rarer.min())
    return min(1.0, 2 * WORD * luck(most, len(words), 0.5))
