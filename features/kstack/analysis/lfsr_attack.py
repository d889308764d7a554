"""Attack on the LFSR: offsets reveal its state by linear algebra over GF(2).

A row is an integer: bit i says whether bit i of the seed's 128 is in the sum; bit
128 is the value of the sum.
"""

from dataclasses import dataclass, field

import numpy as np
from candidates import TAUSWORTHE, Ints, Lfsr, leak, random_words

_SEED_BITS = 128
_VALUE = 1 << _SEED_BITS
_OFFSET_BITS = range(4, 10)
_WORD = 32


@dataclass
class _Symbolic:
    """The four registers, with each bit as a sum of seed bits."""

    words: list[list[int]] = field(
        default_factory=lambda: [
            [1 << _WORD * word + bit for bit in range(_WORD)] for word in range(4)
        ]
    )

    def draw(self) -> list[int]:
        """Step; return the offset's six bits as sums of seed bits."""
        self.words = [
            _step(word, *constants)
            for word, constants in zip(self.words, TAUSWORTHE, strict=True)
        ]
        a, b, c, d = self.words
        return [a[bit] ^ b[bit] ^ c[bit] ^ d[bit] for bit in _OFFSET_BITS]


def _step(word: list[int], mask: int, left: int, right: int, shift: int) -> list[int]:
    masked = [sums if mask >> bit & 1 else 0 for bit, sums in enumerate(word)]
    shifted = [0] * shift + word[: _WORD - shift]
    mixed = [x ^ y for x, y in zip(shifted, word, strict=True)]
    upper = [0] * left + masked[: _WORD - left]
    lower = mixed[right:] + [0] * right
    return [x ^ y for x, y in zip(upper, lower, strict=True)]


@dataclass
class Predictor:
    """Predicts later offsets from those that it has learned."""

    pivots: dict[int, int] = field(default_factory=dict)

    def learn(self, sums: int, value: int) -> None:
        """Learn a leaked bit."""
        row = self._reduced(sums | (_VALUE if value else 0))
        if row & (_VALUE - 1):
            self.pivots[(row & (_VALUE - 1)).bit_length() - 1] = row

    def tell(self, sums: int) -> int | None:
        """Return a later bit, or None if what was learned does not determine it."""
        row = self._reduced(sums)
        return None if row & (_VALUE - 1) else row >> _SEED_BITS

    def _reduced(self, row: int) -> int:
        for bit in range(_SEED_BITS - 1, -1, -1):
            if row >> bit & 1 and bit in self.pivots:
                row ^= self.pivots[bit]
        return row


def predicted_share(seen: Ints, leaks: int) -> float:
    """Return the share of offsets predicted after ``leaks`` of one instance."""
    registers, predictor = _Symbolic(), Predictor()
    right = 0
    for call, offset in enumerate(seen.tolist()):
        sums = registers.draw()
        bits = [offset >> bit & 1 for bit in range(len(sums))]
        if call < leaks:
            for row, bit in zip(sums, bits, strict=True):
                predictor.learn(row, bit)
        elif [predictor.tell(row) for row in sums] == bits:
            right += 1
    return right / (len(seen) - leaks)


def leaks_needed(seen: Ints) -> int:
    """Return how many leaks predict all later offsets."""
    return next(n for n in range(1, len(seen)) if predicted_share(seen, n) == 1)


def one_run(random: np.random.Generator, calls: int) -> Ints:
    """Return the offsets of one LFSR with a random seed."""
    lfsr = Lfsr(random_words(random, (4, 1), _WORD))
    return np.asarray(leak(lfsr.draw, calls)[0])
