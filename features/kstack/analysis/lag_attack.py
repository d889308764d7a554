"""Attack by lags: offsets so many calls apart differ by the same bits.

The lower half of a product in counter mode is an arithmetic progression modulo a
power of two: its bits 4 to 9 are the same every 1024 calls. Between such calls only
the upper half differs, by a constant step, and some multiple of 1024 calls makes the
step small. No structure is assumed: all lags are tried on what leaked.
"""

import numpy as np
from candidates import Ints

OFFSETS = 64
PERIOD = 1024
_LAGS = 64


def hit_rate(seen: Ints, leaks: int) -> float:
    """Return how often the lag attack tells the next offset.

    ``seen``: one instance's offsets; it learns from the first ``leaks`` and is
    judged on the rest.
    """
    known = seen[:leaks]
    lags = [*range(1, 5), *range(PERIOD, leaks // 2 + 1, PERIOD)][: _LAGS + 4]
    counts = [
        np.bincount(known[lag:] ^ known[:-lag], minlength=OFFSETS) for lag in lags
    ]
    # The surest lag, not the luckiest: a long one has fewer pairs to judge by.
    sure = [
        count.max() / count.sum() - 3 * np.sqrt(1 / OFFSETS / count.sum())
        for count in counts
    ]
    best = int(np.argmax(sure))
    lag, difference = lags[best], int(np.argmax(counts[best]))
    guesses = seen[leaks - lag : len(seen) - lag] ^ difference
    return float(np.mean(guesses == seen[leaks:]))
