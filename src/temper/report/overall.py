"""What a variant costs over all real programs of a run, in one sentence.

Micro-benchmarks are not in it: a mean over them says which of them somebody chose.
"""

from collections.abc import Mapping
from statistics import geometric_mean

from temper.analysis.models import PriceReport, PriceRow
from temper.analysis.whole import whole_loops
from temper.report.numbers import percent
from temper.stats.comparison import Mark

_WORST = 3

_Ratios = Mapping[str, float]
"""Workload -> what it costs, as a multiple of the baseline."""


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
    found: dict[str, dict[str, float]] = {}
    for row in report.rows:
        if row.workload not in report.real_programs:
            continue
        if row.result_class != "p50" or not row.without_ticks:
            continue
        moved = row.mark is Mark.MOVED
        counted = loops[row.workload, row.variant] if moved else row
        found.setdefault(row.variant, {})[row.workload] = _ratio(counted)
    return found


def _ratio(row: PriceRow) -> float:
    return row.value / row.baseline_value


def _line(report: PriceReport, variant: str, ratios: _Ratios) -> str:
    worst = sorted(ratios, key=lambda workload: -ratios[workload])[:_WORST]
    named = ", ".join(f"{each} {_percent(ratios[each])}" for each in worst)
    return (
        f"Over {len(ratios)} real programs, {variant} costs "
        f"{_percent(geometric_mean(ratios.values()))}: the geometric mean of their "
        f"medians as ratios to {report.baseline}{_other_workloads(report, ratios)}. "
        f"The dearest: {named}."
    )


def _percent(ratio: float) -> str:
    return percent(100 * (ratio - 1))


def _other_workloads(report: PriceReport, programs: _Ratios) -> str:
    others = {row.workload for row in report.rows} - set(programs)
    return ", without micro-benchmarks" if others else ""
