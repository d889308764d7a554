"""Plots of how samples are distributed."""

from collections.abc import Sequence
from itertools import accumulate

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import (
    FuncFormatter,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
)

from temper.analysis.models import Distribution
from temper.report.svg import colour, style, to_svg
from temper.report.words import operation
from temper.stats.exact import merge, result_classes

_BODY = "p99.9"
"""The left plot shows values up to this class, which covers nearly all calls."""
_NARROW = 8
"""A logarithmic axis with a smaller span has the ticks of a linear one."""


def distribution_svg(name: str, distributions: Sequence[Distribution]) -> str:
    """Draw how one workload's samples are distributed under each variant.

    The left plot shows the bulk as the share of samples up to each value; the right
    one shows the tail as the share of at least each value, on logarithmic axes.
    ``name`` makes the ids of the SVG unique in its page.
    """
    first = distributions[0]
    with style():
        figure = Figure(figsize=(8.4, 3.3))
        figure.set_layout_engine("constrained", wspace=0.08)
        body, tail = figure.subplots(1, 2, width_ratios=(4, 5))
        for index, one in enumerate(distributions):
            _draw_body(body, one, colour(index))
            _draw_tail(tail, one, colour(index))
        per = f"{first.unit} per {operation(first.workload)}"
        _label_body(body, distributions, per)
        _label_tail(tail, distributions, per)
        figure.legend(
            *body.get_legend_handles_labels(),
            loc="outside upper left",
            ncols=len(distributions),
            frameon=False,
        )
        return to_svg(figure, name)


def _draw_body(axes: Axes, one: Distribution, ink: str) -> None:
    counts = list(accumulate(count for _, count in one.bins))
    values = [value / one.operations for value, _ in one.bins]
    if counts:
        share = [100 * count / counts[-1] for count in counts]
        # Extend the last step to the right; the axis clips it.
        axes.step(
            [values[0], *values, 2 * values[-1]],
            [0, *share, 100],
            where="post",
            color=ink,
            label=one.variant,
        )


def _draw_tail(axes: Axes, one: Distribution, ink: str) -> None:
    every = merge([dict(one.bins), dict(one.tick_bins)])
    for bins, line in ((sorted(every.items()), ":"), (one.bins, "-")):
        if not bins:
            continue
        values, share = _survival(bins, one.operations)
        axes.step(
            [*values, values[-1]],
            [*share, share[-1] / 1e9],
            where="pre",
            color=ink,
            linestyle=line,
        )


def _survival(
    bins: Sequence[tuple[int, int]], operations: int
) -> tuple[list[float], list[float]]:
    """Return the values per operation, and the share of samples at least as large."""
    counts = [count for _, count in bins]
    total = sum(counts)
    before = [0, *accumulate(counts)][:-1]
    return (
        [value / operations for value, _ in bins],
        [(total - fewer) / total for fewer in before],
    )


def _label_body(axes: Axes, distributions: Sequence[Distribution], per: str) -> None:
    quiet = [one for one in distributions if one.bins]
    if quiet:
        low = min(one.bins[0][0] / one.operations for one in quiet)
        high = max(
            float(result_classes(dict(one.bins), one.operations)[_BODY])
            for one in quiet
        )
        margin = max(0.25 * (high - low), 0.01 * high)
        axes.set_xlim(low - margin, high + margin)
    axes.set_ylim(-3, 103)
    axes.set_title(f"Bulk: without timer ticks, up to {_BODY}", loc="left")
    axes.set_xlabel(per)
    axes.set_ylabel("samples up to this value, %")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.10g}"))


def _label_tail(axes: Axes, distributions: Sequence[Distribution], per: str) -> None:
    most = max(
        sum(count for _, count in (*one.bins, *one.tick_bins)) for one in distributions
    )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(0.5 / most, 2)
    axes.set_title("Tail: dotted with timer ticks, solid without", loc="left")
    axes.set_xlabel(f"{per} (log)")
    axes.set_ylabel("samples of at least this value (log)")
    low, high = axes.get_xlim()
    few = high / low < _NARROW
    axes.xaxis.set_major_locator(MaxNLocator(5) if few else LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.10g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(_one_in))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _one_in(share: float, _: int | None = None) -> str:
    return "all" if share >= 1 else f"1 in {round(1 / share):,}"
