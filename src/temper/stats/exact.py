"""Result classes of exact histograms.

Where the guest's clock counts instructions nothing is estimated: every sample is
known, so the arithmetic is exact too (``Fraction``), and equal means equal.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
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
        spreads = _spreads(self._layouts(baseline), self._layouts(sample))
        return {
            name: Difference(
                after[name],
                before[name],
                self._mark(
                    after[name] - before[name],
                    by_luck(name, samples),
                    spreads.get(name),
                ),
                spreads.get(name),
            )
            for name in before
            if name in after
        }

    def _layouts(self, sample: Sample) -> list[dict[str, Fraction]]:
        """Return the result classes in each layout of memory, the usual one first."""
        others = (Sample([bins], sample.operations) for bins in sample.layouts)
        return [self.summary(each) for each in (sample, *others)]

    def _mark(self, delta: Fraction, lucky: bool, spread: Fraction | None) -> Mark:
        if not self.repeated or (delta and lucky):
            return Mark.UNKNOWN
        if spread and abs(delta) <= spread:
            return Mark.UNKNOWN
        if delta == 0:
            return Mark.EQUAL
        return Mark.REGRESSION if delta > 0 else Mark.IMPROVEMENT


def _spreads(
    before: Sequence[Mapping[str, Fraction]], after: Sequence[Mapping[str, Fraction]]
) -> dict[str, Fraction]:
    """Return result class -> the farthest that a difference is from the usual one.

    That is, the difference between any layout of the baseline and any of the variant:
    their kernels differ, so that nothing pairs a layout of one with one of the other.
    Nothing is said of a class that some layout is without, nor of a single layout.
    """
    if len(before) != len(after) or len(before) == 1:
        return {}
    found = {}
    for name in set.intersection(*(set(classes) for classes in (*before, *after))):
        ours = [classes[name] for classes in before]
        theirs = [classes[name] for classes in after]
        usual = theirs[0] - ours[0]
        found[name] = max(
            max(theirs) - min(ours) - usual, usual - (min(theirs) - max(ours))
        )
    return found


def _count(sample: Sample) -> int:
    return sum(sum(bins.values()) for bins in sample.boots)
