"""The picture that the page of a price opens with."""

from itertools import groupby

from temper.analysis.models import PriceReport
from temper.report.document import Bar, BarGroup, Chart
from temper.report.numbers import absolute
from temper.report.summary import Summary, leading, summaries
from temper.report.tables import price_cell
from temper.report.words import layout_line


def price_picture(report: PriceReport) -> Chart | None:
    """Draw what the most expensive workloads cost at the median; None without prices.

    The scale is percent of the baseline, since workloads differ a thousandfold in size.
    """
    first, others = leading(summaries(report))
    if not first:
        return None
    more = len({each.workload for each in others})
    rest = f" The {more} other workloads are in the tables." if more else ""
    return Chart(
        caption=(
            f"Price in {report.unit} per operation at the median, and in percent of "
            f"{report.baseline}. All bars have one scale, that of the percentages; the "
            f"most expensive workloads come first.{rest} {layout_line(report)}"
        ),
        less=f"cheaper than {report.baseline}",
        more=f"more expensive than {report.baseline}",
        groups=[
            _group(report, workload, list(of))
            for workload, of in groupby(first, key=lambda each: each.workload)
        ],
    )


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
