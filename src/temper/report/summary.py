"""The price of a workload in one line: the median, and what differs from it.

Classes that a few samples decide say nothing here: where a tick fell decides them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from temper.analysis.models import PriceReport, PriceRow
from temper.report.numbers import signed
from temper.report.whole_loop import disagreeing
from temper.report.words import operation
from temper.stats.exact import by_luck

MEDIAN = "p50"
_LEADING = 5
_ALIKE = 0.01
"""Two prices are about the same if they differ by no more than this share of what the
operation costs on the baseline."""

SAME, ABOUT, FEW = "the same", "about the same", "too few samples"


@dataclass(frozen=True)
class Summary:
    """The price of one workload under one variant, without ticks."""

    workload: str
    variant: str
    rows: Mapping[str, PriceRow]
    """Result class -> its row."""
    samples: int
    """Of the variant or the baseline, whichever has fewer."""
    whole: PriceRow | None = None
    """The whole loop, if its price is another than that of the samples."""

    @property
    def median(self) -> PriceRow:
        """The row that stands for the others."""
        return self.rows[MEDIAN]

    @property
    def is_uniform(self) -> bool:
        """Whether all result classes have the same price."""
        return len({row.delta for row in self.rows.values()}) == 1

    @property
    def highest(self) -> float:
        """The highest price of a class in percent; infinite where the baseline is 0."""
        whole = [self.whole] if self.whole else []
        return max(map(_share, [self.median, *self._told, *whole]))

    @property
    def remark(self) -> str:
        """Say how the other classes compare with the median."""
        if self.is_uniform:
            return f"every {operation(self.workload)}"
        if apart := self.apart:
            names: dict[str, list[str]] = {}
            for row in apart:
                names.setdefault(signed(row.delta), []).append(row.result_class)
            return "; ".join(f"{', '.join(of)} {price}" for price, of in names.items())
        if len(self._told) == 1:
            return FEW
        same = all(row.delta == self.median.delta for row in self._told)
        return SAME if same else ABOUT

    @property
    def apart(self) -> list[PriceRow]:
        """The classes whose price is not about that of the median."""
        near = _ALIKE * self.median.baseline_value
        return [r for r in self._told if abs(r.delta - self.median.delta) > near]

    @property
    def _told(self) -> list[PriceRow]:
        # One expensive sample among a few changes the mean as well.
        lucky = {name: by_luck(name, self.samples) for name in self.rows}
        lucky["mean"] = by_luck("p99", self.samples)
        return [row for name, row in self.rows.items() if not lucky[name]]


def _share(row: PriceRow) -> float:
    if row.delta_percent is not None:
        return row.delta_percent
    return float("inf") if row.delta > 0 else 0.0


def summaries(report: PriceReport) -> list[Summary]:
    """Return the price of each workload under each variant, the most expensive first.

    Workloads are in the order of their highest price, and variants in that of theirs.
    """
    rows: dict[tuple[str, str], dict[str, PriceRow]] = {}
    for row in report.rows:
        if row.without_ticks:
            found = rows.setdefault((row.workload, row.variant), {})
            found[row.result_class] = row
    wholes = disagreeing(report)
    taken = {(count.workload, count.variant): count.samples for count in report.ticks}
    each = [
        Summary(
            workload,
            variant,
            found,
            min(taken[workload, variant], taken[workload, report.baseline]),
            wholes.get((workload, variant)),
        )
        for (workload, variant), found in rows.items()
    ]
    workloads = _highest((one.workload, one.highest) for one in each)
    variants = _highest((one.variant, one.highest) for one in each)
    places = {workload: place for place, workload in enumerate(workloads)}

    def order(one: Summary) -> tuple[float, int, float]:
        workload, variant = one.workload, one.variant
        return -workloads[workload], places[workload], -variants[variant]

    return sorted(each, key=order)


def _highest(prices: Iterable[tuple[str, float]]) -> dict[str, float]:
    highest: dict[str, float] = {}
    for name, price in prices:
        highest[name] = max(price, highest.get(name, price))
    return highest


def leading(found: Sequence[Summary]) -> tuple[list[Summary], list[Summary]]:
    """Split summaries into those of the most expensive workloads, and the others.

    A single other workload joins them: its lines say no more than a remark on it.
    """
    workloads = list(dict.fromkeys(each.workload for each in found))
    most = _LEADING if len(workloads) > _LEADING + 1 else len(workloads)
    first = workloads[:most]
    return (
        [each for each in found if each.workload in first],
        [each for each in found if each.workload not in first],
    )
