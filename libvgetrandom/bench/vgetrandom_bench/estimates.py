# SPDX-License-Identifier: MIT OR Apache-2.0
"""Medians and ratios of paired samples, with intervals that assume nothing."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """A median, and the interval that contains the true one with CONFIDENCE."""

    median: float
    low: float
    high: float


def median_of(samples: Sequence[float]) -> Estimate:
    """Estimate the median of what the samples were drawn from.

    The interval lies between two order statistics, equally far from either end, so it
    is valid for any distribution; it needs 6 samples.

    Raises ValueError if there are fewer.
    """
    ranked = np.sort(np.asarray(samples, dtype=float))
    rank = int(binom.ppf((1 - CONFIDENCE) / 2, len(ranked), 0.5))
    if rank < 1:
        raise ValueError(f"{len(ranked)} samples are too few for an interval")
    return Estimate(
        median=float(np.median(ranked)),
        low=float(ranked[rank - 1]),
        high=float(ranked[-rank]),
    )


def speed_ratio(path: Sequence[float], baseline: Sequence[float]) -> Estimate:
    """Estimate how many times as fast as the baseline a path is.

    Both are times in the same unit and order of rounds. Anything that slows a whole
    round down, such as another program on the machine, drops out of its ratio.
    """
    return median_of(list(np.asarray(baseline) / np.asarray(path)))
