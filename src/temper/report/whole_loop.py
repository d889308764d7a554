"""What is said of whole loops: where they tell another price than the samples."""

from collections.abc import Mapping

from temper.analysis.models import PriceReport, PriceRow
from temper.analysis.whole import whole_loops
from temper.report.numbers import few, percent, signed
from temper.stats.comparison import Mark

WHOLE = (
    "Whole loop: all instructions from the first sample to a while after the last, "
    "with ticks and with what lies between samples, such as the end of a child."
)
_APART = 0.01
"""From which share of an operation on another price of the whole loop is told."""


def disagreeing(report: PriceReport) -> Mapping[tuple[str, str], PriceRow]:
    """Return workload, variant -> a whole loop that tells another price.

    It is compared with the mean of all samples, which has all that they have.
    """
    loops = whole_loops(report.rows)
    return {
        (mean.workload, mean.variant): whole
        for mean in report.rows
        if mean.result_class == "mean" and not mean.without_ticks
        if (whole := loops.get((mean.workload, mean.variant)))
        and _is_apart(whole, mean)
    }


def _is_apart(whole: PriceRow, mean: PriceRow) -> bool:
    apart = abs(whole.delta - mean.delta)
    return apart > max(_APART * mean.baseline_value, whole.spread or 0.0)


def moved_lines(report: PriceReport) -> list[str]:
    """Say why workloads with cheaper samples are not cheaper, a line per reason."""
    loops = whole_loops(report.rows)
    moved = dict.fromkeys(
        (row.workload, row.variant) for row in report.rows if row.mark is Mark.MOVED
    )
    found: dict[str, list[str]] = {}
    for workload, variant in moved:
        whole = loops[workload, variant]
        price = f"{signed(whole.delta)} ({percent(whole.delta_percent)})"
        found.setdefault(_why(whole), []).append(f"{workload} {variant} {price}")
    return [
        f"No improvement (M), since the whole loop {why}: {few(texts)}."
        for why, texts in found.items()
    ]


def whole_loop_notes(report: PriceReport) -> list[str]:
    """Say what the rows of whole loops hold, if there are any."""
    return [WHOLE] if whole_loops(report.rows) else []


def _why(whole: PriceRow) -> str:
    if whole.delta >= 0:
        return "is not cheaper"
    if whole.spread is None:
        return (
            "is cheaper by less than 1 %, and how far another layout of memory would "
            "move it was not measured"
        )
    return "is cheaper by no more than the layout of memory makes"
