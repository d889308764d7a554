"""How two samples are compared: what every way of comparing them has to answer.

Samples whose clock counts instructions are compared by ``temper.stats.exact``.
Samples of time will be by another implementation of the same interface.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Protocol

Bins = Mapping[int, int]
"""A histogram: value of a measurement -> how many had it."""


class Mark(StrEnum):
    """What a difference means, in one glance."""

    EQUAL = "="
    """Exactly as much as the baseline."""
    REGRESSION = "(R)"
    IMPROVEMENT = "(I)"
    MOVED = "(M)"
    """Cheaper, but not in the whole loop: the work moved elsewhere, for all we know."""
    UNKNOWN = "(?)"
    """The difference may be noise."""


@dataclass(frozen=True)
class Sample:
    """What the boots of one variant measured with one workload."""

    boots: Sequence[Bins]
    """One histogram a boot."""
    operations: int
    """How many operations one measurement holds; results are per operation."""
    layouts: Sequence[Bins] = ()
    """One histogram for each further layout of memory."""


@dataclass(frozen=True)
class Difference:
    """One result class of a sample and of the baseline's."""

    value: Fraction
    baseline: Fraction
    mark: Mark
    spread: Fraction | None = None
    """How far other layouts of memory move the difference; None: not measured."""

    @property
    def delta(self) -> Fraction:
        """How much more than the baseline."""
        return self.value - self.baseline

    @property
    def percent(self) -> float | None:
        """The same in percent of the baseline; None where that is 0."""
        return float(100 * self.delta / self.baseline) if self.baseline else None


class Comparison(Protocol):
    """A way to compare samples."""

    def summary(self, sample: Sample) -> dict[str, Fraction]:
        """Return result class -> value per operation; none of an empty sample."""

    def compare(self, baseline: Sample, sample: Sample) -> dict[str, Difference]:
        """Return result class -> difference, for the classes that both have."""
