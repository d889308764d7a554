"""Attack by lags: offsets a certain number of calls apart differ by the same bits.

The lower half of a product in counter mode is an arithmetic progression modulo a
power of two: its bits 4 to 9 are the same every 1024 calls. Between such calls only
the upper half differs, by a constant step, and for some multiple of 1024 calls that
step is small. The attack assumes no structure: it tries all lags on the leaks.
"""

import numpy as np
from candidates import Ints

OFFSETS = 64
PERIOD = 1024
_LAGS = 64


def hit_rate(seen: Ints, leaks: int) -> float:
    """Return how often the lag attack predicts the next offset.

    ``seen``: one instance's offsets; it learns from the first ``leaks`` and is
    judged on the rest.
    """
    known = seen[:leaks]
    lags = [*range(1, 5), *range(PERIOD, leaks // 2 + 1, PERIOD)][: _LAGS + 4]
    counts = [
        np.bincount(known[lag:] ^ known[:-lag], minlength=OFFSETS) for lag in lags
    ]
    # Pick the most certain lag, not the luckiest: long lags have fewer pairs.
    sure = [
        count.max() / count.sum() - 3 * np.sqrt(1 / OFFSETS / count.sum())
        for count in counts
    ]
    best = int(np.argmax(sure))
    lag, difference = lags[best], int(np.argmax(counts[best]))
    guesses = seen[leaks - lag : len(seen) - lag] ^ difference
    return float(np.mean(guesses == seen[leaks:]))
