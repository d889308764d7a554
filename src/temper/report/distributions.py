"""The distributions of samples, where they say more than the prices do."""

from collections.abc import Iterable, Sequence

from temper.analysis.models import Distribution, PriceReport
from temper.report.document import Block, Detail, PageOnly, Plot, Plots, Section
from temper.report.numbers import absolute
from temper.report.summary import leading, summaries
from temper.report.words import operation
from temper.stats.exact import result_classes


def distributions(report: PriceReport) -> Iterable[Block]:
    """Show how the samples of workloads are distributed that are not all the same.

    At first those of expensive workloads where result classes have different prices;
    the others are a detail.
    """
    first, others = leading(summaries(report))
    telling = {each.workload for each in first if each.apart}
    ordered = dict.fromkeys(each.workload for each in [*first, *others])
    workloads = {name: _of(report, name) for name in [*ordered, *_unpriced(report)]}
    varied = {name: of for name, of in workloads.items() if any(map(_varies, of))}
    shown = [_plots(report, of) for name, of in varied.items() if name in telling]
    more = [_plots(report, of) for name, of in varied.items() if name not in telling]
    if shown:
        yield PageOnly([Section("Distributions", shown)])
    if more:
        title = "Distributions of the other workloads" if shown else "Distributions"
        yield PageOnly([Detail(title, more)])


def _of(report: PriceReport, workload: str) -> list[Distribution]:
    return [one for one in report.distributions if one.workload == workload]


def _unpriced(report: PriceReport) -> list[str]:
    """Return the workloads without a price: ticks hit every sample of a variant."""
    return list(dict.fromkeys(one.workload for one in report.distributions))


def _varies(one: Distribution) -> bool:
    return len(one.bins or one.tick_bins) > 1


def _plots(report: PriceReport, of: Sequence[Distribution]) -> Plots:
    first = of[0]
    base = next(one for one in of if one.variant == report.baseline)
    caption = (
        f"{first.workload}: the share of samples that take at least so many "
        f"{first.unit} per {operation(first.workload)}. Dashed: {report.baseline}."
    )
    return Plots(
        caption + _ticked(of), [_plot(one, base, of) for one in of if one is not base]
    )


def _ticked(of: Sequence[Distribution]) -> str:
    """Say which samples are not drawn, and which are though a tick hit them."""
    hits = {one.variant: sum(count for _, count in one.tick_bins) for one in of}
    left_out = [f"{hits[one.variant]:,} ({one.variant})" for one in of if one.bins]
    drawn = [one.variant for one in of if not one.bins]
    text = ""
    if any(hits[one.variant] for one in of if one.bins):
        text += f" Not drawn: samples hit by timer ticks, {', '.join(left_out)}."
    if drawn:
        text += f" Ticks hit every sample of {', '.join(drawn)}; these are drawn."
    return text


def _plot(one: Distribution, base: Distribution, of: Sequence[Distribution]) -> Plot:
    def draw(_: str) -> str:
        # Imported here: only pages need what places its ticks, and that takes a second.
        from temper.report.panels import panel  # noqa: PLC0415

        return panel(one, base, of)

    says = f"{one.workload} with {_said(one)}; with {_said(base)}"
    return Plot(one.variant, says, draw)


def _said(one: Distribution) -> str:
    classes = result_classes(dict(one.bins or one.tick_bins), one.operations)
    values = (f"{name} {absolute(float(value))}" for name, value in classes.items())
    return f"{one.variant}: {', '.join(values)}"
