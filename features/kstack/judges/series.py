"""What the plots of stack positions are drawn from."""

from collections import Counter
from itertools import pairwise

from temper.stats.judging import Ints, Series


def series_of(offsets: Ints) -> Series:
    """Count positions and what follows what, for bytes below the highest position.

    The picture of the successions shows what a predictor could use: independent
    positions fill the square evenly, anything else is a pattern.
    """
    values = offsets.tolist()
    times, pairs = Counter(values), Counter(pairwise(values))
    return {
        "positions": sorted([value, calls] for value, calls in times.items()),
        "successions": sorted([now, then, n] for (now, then), n in pairs.items()),
    }
