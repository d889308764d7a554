"""A price in short: the sentences around a table of summaries."""

from collections.abc import Iterable, Sequence

from temper.analysis.models import PriceReport
from temper.report.in_force import in_force_line
from temper.report.instructions import instruction_lines
from temper.report.numbers import percent, signed, span
from temper.report.summary import ABOUT, Summary
from temper.report.whole_loop import WHOLE, moved_lines
from temper.report.words import (
    all_hit_line,
    exact_line,
    layout_line,
    legend,
    upper_bound_line,
)


def brief_title(report: PriceReport) -> str:
    """Say what the table of summaries holds: unit, direction, baseline."""
    doubt = "" if report.exact else "NOT EXACT. "
    return (
        f"{doubt}{report.unit.capitalize()} per operation at the median (p50), the "
        f"most expensive workloads first. {report.baseline}: absolute values; beside "
        f"it: difference from {report.baseline}, + is more expensive. "
        f"{layout_line(report)}"
    )


def brief_legend(report: PriceReport, shown: Iterable[Summary]) -> str:
    """Explain the marks, and the remarks on other classes that occur."""
    shown = list(shown)
    remarks = {each.remark: each.is_uniform for each in shown}
    text = f"{legend(report)}."
    if ABOUT in remarks:
        text += " About: within 1 % of the whole operation."
    if not all(remarks.values()):
        text += (
            " Left out: the largest sample (max), and classes with fewer than 10 "
            "samples beyond them; where a tick fell decides those."
        )
    if any(each.whole for each in shown):
        text += f" {WHOLE}"
    return " ".join(filter(None, (text, upper_bound_line(report))))


def other_lines(others: Sequence[Summary]) -> list[str]:
    """Say what the workloads cost that the table leaves out, a line per variant."""
    by_variant: dict[str, list[Summary]] = {}
    for each in others:
        by_variant.setdefault(each.variant, []).append(each)
    return [_other_line(variant, found) for variant, found in by_variant.items()]


def _other_line(variant: str, found: Sequence[Summary]) -> str:
    deltas = sorted(each.median.delta for each in found)
    line = f"{variant}, {len(found)} other workloads: "
    line += span([signed(delta) for delta in deltas])
    shares = sorted(
        each.median.delta_percent
        for each in found
        if each.median.delta_percent is not None
    )
    if shares:
        line += f" ({span([percent(share) for share in shares])})"
    apart = [row for each in found for row in each.apart if row.delta_percent]
    worst = max(apart, key=lambda row: row.delta_percent or 0.0, default=None)
    if worst and shares and (worst.delta_percent or 0.0) > shares[-1]:
        line += f", {worst.result_class} up to {percent(worst.delta_percent)}"
        line += f" ({worst.workload})"
    return f"{line}."


def trust_lines(report: PriceReport) -> list[str]:
    """Say in short what makes the price trustworthy, and what it cannot see."""
    lines = [
        exact_line(report) if report.rows else "",
        in_force_line(report),
        all_hit_line(report),
        *instruction_lines(report),
        *moved_lines(report),
    ]
    return [line for line in lines if line]
