"""Attackers by the counter who learn tables: no hypotheses about the exact delay."""

import numpy as np
from numpy.typing import NDArray

from .predictors import Hits

Ints = NDArray[np.int64]

_LOW_BITS = 6
"""Low bits of the counter that the generic table looks at."""


def table_hits(offsets: Ints, after: Ints, bins: int) -> Hits:
    """Guess what most often followed this offset and these bits of the counter.

    Of which bits, is tried: those where the first half of the calls does best on
    its own other half. Returns the hits in the second half.
    """
    half = len(offsets) // 2
    quarter = half // 2
    shifts = range(0, 11)

    def hits(shift: int, train: slice, test: slice) -> Hits:
        context = (after >> shift & (1 << _LOW_BITS) - 1) * bins + offsets
        table = np.zeros((bins << _LOW_BITS, bins), dtype=np.int64)
        np.add.at(table, (context[train][:-1], offsets[train][1:]), 1)
        said = table.argmax(axis=1)[context[test][:-1]]
        return np.asarray(said == offsets[test][1:])

    first, second = slice(0, quarter), slice(quarter, half)
    best = max(shifts, key=lambda shift: hits(shift, first, second).mean())
    return hits(best, slice(0, half), slice(half, None))


def carry_hits(offsets: Ints, after: Ints) -> Hits:
    """Guess single bits of the offset that survive a counter read inexactly.

    With state = ror32(state, 5) ^ counter two bits of the next offset hang on
    earlier offsets and on bits of the counter that are known whatever the delay,
    but for one: bit 0 on bit 4 of the last counter, and bit 2 on bit 6 of it. Tables
    over the low bits of the counter learn how these two come out.
    """
    half = len(offsets) // 2
    start = 6
    places = np.arange(start, len(offsets))
    known = {
        0: offsets[places - 1] >> 5 & 1,
        2: (offsets[places - 6] & 1)
        ^ _bit(after[places - 2], 11)
        ^ _bit(after[places - 3], 16)
        ^ _bit(after[places - 4], 21)
        ^ _bit(after[places - 5], 26)
        ^ _bit(after[places - 6], 31),
    }
    said = np.zeros(len(places), dtype=np.int64)
    for bit, parity in known.items():
        # The table needs the bit of the counter that matters, and those below.
        low = after[places - 1] & (1 << bit + 5) - 1
        wanted = offsets[places] >> bit & 1
        train = slice(0, half - start)
        votes = np.zeros(1 << bit + 5)
        np.add.at(votes, low[train], 1 - 2 * (wanted ^ parity)[train])
        said |= ((votes[low] < 0) ^ parity) << bit
    # Of the other bits nothing is known: those that came most often.
    said |= int(np.bincount(offsets[:half] & ~0b101).argmax())
    return np.asarray(said[half - start :] == offsets[half:])


def _bit(values: Ints, bit: int) -> Ints:
    return np.asarray(values >> bit & 1)
