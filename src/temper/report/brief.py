"""A price in short: the sentences around a table of summaries."""

from collections.abc import Iterable, Sequence
from statistics import median

from temper.analysis.models import ClassRow, PriceReport
from temper.report.in_force import in_force_line
from temper.report.numbers import absolute, percent, signed, span
from temper.report.summary import ABOUT, Summary
from temper.report.words import (
    all_hit_line,
    exact_line,
    layout_line,
    legend,
    upper_bound_line,
)

_TOTALS = ("kernel_instructions", "user_instructions")
_RARE = 0.05
"""Fewer instructions of a class per operation matter to no one."""
_MOVED = 0.01
"""From which share of an operation on work outside the samples is told."""


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
    remarks = {each.remark: each.is_uniform for each in shown}
    text = f"{legend(report)}."
    if ABOUT in remarks:
        text += " About: within 1 % of the whole operation."
    if not all(remarks.values()):
        text += (
            " Left out: the largest sample (max), and classes with fewer than 10 "
            "samples beyond them; where a tick fell decides those."
        )
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
        _kernel_line(report),
        _weightier_line(report),
        *_outside_lines(report),
    ]
    return [line for line in lines if line]


def _kernel_line(report: PriceReport) -> str:
    """Say how much of what real programs do is the kernel's; empty without any."""
    if not report.packages:
        return ""
    kernel, user = (
        {
            row.workload: row.baseline_per_operation
            for row in report.classes
            if row.instruction_class == name
        }
        for name in _TOTALS
    )
    shares = [
        f"{workload} {100 * mine / (mine + user.get(workload, 0)):.0f} %"
        for workload, mine in kernel.items()
    ]
    if not shares:
        return ""
    return (
        f"The kernel's part of {report.baseline}'s instructions: {', '.join(shares)}."
    )


def _weightier_line(report: PriceReport) -> str:
    """Name the instructions that a count cannot weigh, and which variants add them."""
    added: dict[str, dict[str, list[float]]] = {}
    for row in report.classes:
        if row.instruction_class not in _TOTALS:
            of_variant = added.setdefault(row.variant, {})
            deltas = of_variant.setdefault(row.instruction_class, [])
            deltas.append(round(row.delta, 2))
    variants = [
        f"{variant} {', '.join(classes)}"
        for variant, found in added.items()
        if (classes := [_class(n, d) for n, d in found.items() if _matters(d)])
    ]
    if not variants:
        return ""
    return (
        "Counted as one instruction each, but slower on hardware, per operation: "
        f"{'; '.join(variants)}."
    )


def _matters(deltas: Sequence[float]) -> bool:
    # Of a few workloads, ticks and interrupts have such instructions, too.
    return abs(median(deltas)) >= _RARE


def _class(name: str, deltas: Sequence[float]) -> str:
    return f"{span([signed(delta) for delta in sorted(deltas)])} {name}"


def _outside_lines(report: PriceReport) -> list[str]:
    """Say where the whole region costs more or less than its samples say."""
    whole: dict[tuple[str, str], list[ClassRow]] = {}
    for row in report.classes:
        if row.instruction_class in _TOTALS:
            whole.setdefault((row.workload, row.variant), []).append(row)
    lines = []
    for mean in report.rows:
        totals = whole.get((mean.workload, mean.variant))
        if mean.without_ticks or mean.result_class != "mean" or not totals:
            continue
        outside = sum(row.delta for row in totals) - mean.delta
        if abs(outside) > _MOVED * mean.baseline_value:
            much = absolute(round(abs(outside), 2))
            much += f" {'more' if outside > 0 else 'fewer'} {report.unit}"
            lines.append(
                f"Outside the samples of {mean.workload}, {mean.variant} takes {much} "
                "per operation."
            )
    return lines
