"""What a variant costs over all real programs of a run, in one sentence.

Micro-benchmarks are not in it: a mean over them says which of them somebody chose.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean

from temper.analysis.models import PriceReport, PriceRow
from temper.analysis.whole import whole_loops
from temper.report.numbers import percent
from temper.stats.comparison import Mark

_WORST = 3


@dataclass(frozen=True)
class Ratio:
    """What a workload costs, as a multiple of the baseline."""

    value: float
    spread: float | None
    """How far other layouts of memory move it; None: not measured."""


_Ratios = Mapping[str, Ratio]
"""Workload -> its ratio."""


def overall_lines(report: PriceReport) -> list[str]:
    """Say what each variant costs over several real programs, and the worst of them."""
    return [
        _line(report, variant, ratios)
        for variant, ratios in overall_ratios(report).items()
        if len(ratios) > 1
    ]


def overall_ratios(report: PriceReport) -> Mapping[str, _Ratios]:
    """Return variant -> the ratios of the medians of its real programs.

    If samples are cheaper but the whole loop does not confirm it, its ratio counts.
    """
    loops = whole_loops(report.rows)
    found: dict[str, dict[str, Ratio]] = {}
    for row in report.rows:
        if row.workload not in report.real_programs:
            continue
        if row.result_class != "p50" or not row.without_ticks:
            continue
        moved = row.mark is Mark.MOVED
        counted = loops[row.workload, row.variant] if moved else row
        found.setdefault(row.variant, {})[row.workload] = _ratio(counted)
    return found


def _ratio(row: PriceRow) -> Ratio:
    before = row.baseline_value
    spread = None if row.spread is None else row.spread / before
    return Ratio(row.value / before, spread)


def _line(report: PriceReport, variant: str, ratios: _Ratios) -> str:
    worst = sorted(ratios, key=lambda workload: -ratios[workload].value)[:_WORST]
    named = ", ".join(f"{each} {_percent(ratios[each].value)}" for each in worst)
    mean = geometric_mean(each.value for each in ratios.values())
    return (
        f"Over {len(ratios)} real programs, {variant} costs "
        f"{_percent(mean)}{_by_layout(list(ratios.values()), mean)}: the geometric "
        f"mean of their medians as ratios to {report.baseline}"
        f"{_other_workloads(report, ratios)}. The dearest: {named}."
    )


def _by_layout(ratios: Sequence[Ratio], mean: float) -> str:
    """Say how far layouts move the mean; nothing if that was not measured."""
    spreads = [each.spread for each in ratios if each.spread is not None]
    if len(spreads) < len(ratios):
        return ""
    most = _spread([each.value for each in ratios], spreads, mean)
    within = (
        ", no more than the layout of memory makes" if most >= abs(mean - 1) else ""
    )
    return f" ±{percent(100 * most).lstrip('+')}{within}"


def _spread(values: Sequence[float], spreads: Sequence[float], mean: float) -> float:
    """Return how far layouts move a mean at most: if they move all the same way."""
    both = list(zip(values, spreads, strict=True))
    high = geometric_mean(value + spread for value, spread in both)
    lowest = [value - spread for value, spread in both]
    low = geometric_mean(lowest) if min(lowest) > 0 else 0.0
    return max(high - mean, mean - low)


def _percent(ratio: float) -> str:
    return percent(100 * (ratio - 1))


def _other_workloads(report: PriceReport, programs: _Ratios) -> str:
    others = {row.workload for row in report.rows} - set(programs)
    return ", without micro-benchmarks" if others else ""
