"""The pictures of a price: the one that its page opens with, and one of all of it."""

from collections.abc import Sequence
from itertools import groupby

from temper.analysis.models import PriceReport
from temper.report.document import Bar, BarGroup, Chart
from temper.report.numbers import absolute
from temper.report.summary import Summary, leading, summaries
from temper.report.tables import price_cell
from temper.report.words import layout_line, legend


def price_picture(report: PriceReport) -> Chart | None:
    """Draw what the most expensive workloads cost at the median; None without prices.

    The scale is percent of the baseline, since workloads differ a thousandfold in size.
    """
    first, others = leading(summaries(report))
    more = len({each.workload for each in others})
    rest = f" {more} other workloads are in the picture of all." if more else ""
    return _chart(report, _groups(report, first), rest)


def picture_of_all(report: PriceReport) -> Chart | None:
    """Draw the medians of all workloads, the dearest first; None without prices."""
    groups = _groups(report, summaries(report))
    # As a file it is alone with its marks.
    marks = f" {legend(report)}."
    return _chart(report, sorted(groups, key=_highest, reverse=True), marks)


def _highest(group: BarGroup) -> float:
    return max(bar.value for bar in group.bars)


def _chart(
    report: PriceReport, groups: Sequence[BarGroup], rest: str = ""
) -> Chart | None:
    if not groups:
        return None
    return Chart(
        caption=(
            f"Price in {report.unit} per operation at the median, and in percent of "
            f"{report.baseline}. All bars have one scale, that of the percentages; the "
            f"most expensive workloads come first.{rest} {layout_line(report)}"
        ),
        less=f"cheaper than {report.baseline}",
        more=f"more expensive than {report.baseline}",
        groups=groups,
    )


def _groups(report: PriceReport, found: Sequence[Summary]) -> list[BarGroup]:
    return [
        _group(report, workload, list(of))
        for workload, of in groupby(found, key=lambda each: each.workload)
    ]


def _group(report: PriceReport, workload: str, of: list[Summary]) -> BarGroup:
    before = absolute(of[0].median.baseline_value)
    return BarGroup(
        workload, f"{before} with {report.baseline}", [_bar(report, one) for one in of]
    )


def _bar(report: PriceReport, summary: Summary) -> Bar:
    cell = price_cell(report, summary.median)
    return Bar(
        label=summary.variant,
        value=summary.median.delta_percent or 0.0,
        text=" ".join(part for part in cell.parts if part),
        note=summary.remark if summary.apart else "",
        tone=cell.tone,
    )
