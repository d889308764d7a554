"""What the kernel's own definition claims of stack positions."""

from dataclasses import dataclass
from math import ceil
from typing import Self

import numpy as np
from numpy.typing import NDArray

from temper.stats.judging import Ints

_LEAST_CALLS = 100
"""Enough for every predictor to have something to look back at."""


@dataclass(frozen=True)
class Claim:
    """How offsets are distributed by the kernel's own definition."""

    displacements: Ints
    """The displacements there are, ascending; shape (bins,)."""
    shares: NDArray[np.float64]
    """How often each one comes, if every drawn value is as likely."""

    @classmethod
    def of(cls, displacements: Ints) -> Self:
        """Read where the kernel's macros move the stack for each drawn value."""
        values, times = np.unique(
            displacements - displacements.min(), return_counts=True
        )
        return cls(values, times / times.sum())

    @property
    def bins(self) -> int:
        """How many positions there are."""
        return len(self.displacements)

    @property
    def bits(self) -> int:
        """Bits that a position's number has."""
        return max(1, (self.bins - 1).bit_length())

    @property
    def min_entropy(self) -> float:
        """Bits, by the likeliest displacement."""
        return float(-np.log2(self.shares.max()))

    @property
    def chance(self) -> float:
        """Hit rate of who always says the likeliest; none can do better."""
        return float(self.shares.max())

    @property
    def least_calls(self) -> int:
        """Calls that chi-square needs: 5 expected in the rarest bin (Cochran)."""
        return max(_LEAST_CALLS, ceil(5 / float(self.shares.min())))

    def numbers(self, positions: Ints) -> tuple[Ints, int]:
        """Number positions from 0, upwards; and count those that cannot be.

        The lowest one seen is taken for the lowest there is, so it does not matter
        how deep the call chain is, as long as it is the same in all calls.
        """
        offsets = positions - positions.min()
        numbers = np.searchsorted(self.displacements, offsets)
        numbers = np.minimum(numbers, self.bins - 1)
        foreign = np.count_nonzero(self.displacements[numbers] != offsets)
        return numbers, int(foreign)
