"""Whether words that the kernel draws are as random as they look."""

from dataclasses import dataclass

import numpy as np

from temper.stats.judging import Ints

from .gf2 import bits_of, rank, with_one
from .measures import luck, p_text, repeated

WORD = 64
_LEAST_TIED = 120
"""Words among which a relation is no luck: 2^-55."""
_TESTS = 12
"""Of bits: two for each of six lists."""


@dataclass(frozen=True)
class Found:
    """What a test found."""

    figures: dict[str, float]
    complaints: list[str]
    """What landed."""


def judge_words(what: str, said: str, words: Ints, level: float) -> Found:
    """Judge words: does one come twice, is a bit uneven, or are bits sums of others?

    ``what`` is the beginning of the figures' names; ``said`` is what they are called.
    ``level`` is the chance of a false alarm over all lists that a judge has.
    """
    again, p, all_p = repeated(words), _bit_p(words), _bits_p(words)
    tied = _tied_to_each_other(words)
    figures = {
        what: float(len(words)),
        f"{what}_repeated": float(again),
        f"{what}_bit_p": p,
        f"{what}_all_p": all_p,
        f"{what}_tied_bits": float(tied),
        f"{what}_bits": bits_noticed(len(words), level),
    }
    complaints = [f"{again} of {len(words)} {said} came before"] if again else []
    if p < level / _TESTS:
        complaints.append(f"a bit of the {said} is not even: {p_text(p)}")
    if all_p < level / _TESTS:
        complaints.append(f"the bits of the {said} are not even: {p_text(all_p)}")
    if tied:
        complaints.append(f"{tied} bits of the {said} follow from the others")
    return Found(figures, complaints)


def tied_bits(words: Ints, others: Ints) -> int:
    """Return how many bits of words are sums, over GF(2), of bits of the others.

    0 if there are too few: of n random words each is one by luck with 2^(65 - n).
    """
    if len(words) < _LEAST_TIED:
        return 0
    known = with_one(bits_of(others, WORD))
    both = np.hstack([known, bits_of(words, WORD)])
    return WORD + rank(known) - rank(both)


def _tied_to_each_other(words: Ints) -> int:
    """Return how many bits are sums, over GF(2), of others of the same word."""
    if len(words) < _LEAST_TIED:
        return 0
    return WORD + 1 - rank(with_one(bits_of(words, WORD)))


def bits_noticed(words: int, level: float) -> float:
    """Return how many random bits so many words must have if none comes twice.

    Of words of b bits, n are all different with probability exp(-n^2 / 2^(b+1)).
    """
    return max(0.0, float(np.log2(max(words, 1) ** 2 / -np.log(level))) - 1)


def _bit_p(words: Ints) -> float:
    """Return the p-value of the bit that is least even, for all bits together."""
    ones = _ones(words)
    most = int(np.maximum(ones, len(words) - ones).max())
    return min(1.0, 2 * WORD * luck(most, len(words), 0.5))


def _bits_p(words: Ints) -> float:
    """Return the p-value of how many of all bits are 1: a little in each is a lot."""
    ones, bits = int(_ones(words).sum()), WORD * len(words)
    return min(1.0, 2 * luck(max(ones, bits - ones), bits, 0.5))


def _ones(words: Ints) -> Ints:
    """Return how often each bit is 1, shape (64,)."""
    return np.asarray(bits_of(words, WORD).sum(axis=0, dtype=np.int64))
