"""Result classes of exact histograms.

Where the guest's clock counts instructions nothing is estimated: every sample is
known, so the arithmetic is exact too (``Fraction``), and equal means equal.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

import numpy as np

from temper.stats.comparison import Bins, Difference, Mark, Sample

QUANTILES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}
RESULT_CLASSES = ("mean", *QUANTILES, "max")
_FEW = 10
"""Samples: where fewer are beyond a class, chance decides it."""


def by_luck(name: str, samples: int) -> bool:
    """Say whether chance decides a result class of so many samples.

    The largest sample, and a quantile of the tail with hardly any sample beyond it,
    depend on where a tick or an interrupt fell, even in counts that repeat.
    """
    if name == "max":
        return True
    quantile = QUANTILES.get(name, 0)
    return quantile > 0.5 and round(samples * (1 - quantile), 6) < _FEW


_Key = TypeVar("_Key", int, str)


def merge(histograms: Iterable[Mapping[_Key, int]]) -> dict[_Key, int]:
    """Add histograms bin by bin; also counts that have names."""
    total: Counter[_Key] = Counter()
    for bins in histograms:
        total.update(bins)
    return dict(total)


def result_classes(bins: Bins, operations: int) -> dict[str, Fraction]:
    """Return mean, p50, p99, p99.9 and max per operation of a histogram.

    A sample holds ``operations`` operations; the values are in the unit of the
    bins. A quantile is a value that occurred: the nearest-rank one, x[ceil(q n)]
    of the n sorted samples x[1] ... x[n], which inverts the empirical
    distribution function (definition 1 of Hyndman and Fan, "Sample Quantiles in
    Statistical Packages", The American Statistician 50(4), 1996). Of samples
    that hold several operations it is the quantile of the samples, divided.

    Raises ValueError when the histogram holds no sample.
    """
    count = sum(bins.values())
    if not count:
        raise ValueError("a histogram without samples has no result classes")
    total = sum(value * calls for value, calls in bins.items())
    ranked = np.quantile(
        np.fromiter(bins.keys(), dtype=np.int64),
        list(QUANTILES.values()),
        weights=np.fromiter(bins.values(), dtype=np.int64),
        method="inverted_cdf",
    )
    samples = [Fraction(total, count)]
    samples += [Fraction(int(value)) for value in (*ranked, max(bins))]
    return {
        name: sample / operations
        for name, sample in zip(RESULT_CLASSES, samples, strict=True)
    }


@dataclass(frozen=True)
class Exact:
    """Compares samples of which every measurement is known: equal means equal."""

    repeated: bool
    """Whether the same boot gave the same twice; else a difference may be noise."""

    def summary(self, sample: Sample) -> dict[str, Fraction]:
        """See ``Comparison``."""
        bins = merge(sample.boots)
        return result_classes(bins, sample.operations) if bins else {}

    def compare(self, baseline: Sample, sample: Sample) -> dict[str, Difference]:
        """See ``Comparison``."""
        before, after = self.summary(baseline), self.summary(sample)
        samples = min(_count(baseline), _count(sample))
        return {
            name: Difference(
                after[name],
                before[name],
                self._mark(after[name] - before[name], by_luck(name, samples)),
            )
            for name in before
            if name in after
        }

    def _mark(self, delta: Fraction, lucky: bool) -> Mark:
        if not self.repeated or (delta and lucky):
            return Mark.UNKNOWN
        if delta == 0:
            return Mark.EQUAL
        return Mark.REGRESSION if delta > 0 else Mark.IMPROVEMENT


def _count(sample: Sample) -> int:
    return sum(sum(bins.values()) for bins in sample.boots)
