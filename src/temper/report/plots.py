"""Plots as inline SVG: the same data gives the same bytes.

Text and axes take the colour of the page's text, so they suit light and dark pages.
"""

import io
import re
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_rgba
from matplotlib.figure import Figure
from matplotlib.ticker import (
    FuncFormatter,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
)

from temper.analysis.models import Distribution, ProofEvidence
from temper.report.words import operation
from temper.stats.exact import merge, result_classes

COLOURS = ("#3b7fc4", "#d9701a", "#2a9d6f", "#b05fb0", "#a8841c", "#7a7f87")
"""One per variant, in order; each is visible on white and on near-black."""

_INK = "#010203"
"""Placeholder for the colour of the page's text until the SVG is written."""
_STYLE: dict[str, Any] = {
    "svg.hashsalt": "temper",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "axes.grid": True,
    "grid.alpha": 0.15,
    **dict.fromkeys(
        (
            "text.color",
            "axes.edgecolor",
            "axes.labelcolor",
            "axes.titlecolor",
            "grid.color",
            "xtick.color",
            "ytick.color",
        ),
        _INK,
    ),
}
_NO_METADATA = dict.fromkeys(("Date", "Creator", "Format", "Type"))
_BODY = "p99.9"
"""The left plot shows values up to this class, which covers nearly all calls."""
_NARROW = 8
"""A logarithmic axis with a smaller span has the ticks of a linear one."""
_FEW_PAIRS = 128
"""Up to this many different pairs are drawn one by one."""
_MOST_CELLS = 128
"""The most cells on each side of the plot of successive positions."""


def distribution_svg(name: str, distributions: Sequence[Distribution]) -> str:
    """Draw how one workload's samples are distributed under each variant.

    The left plot shows the bulk as the share of samples up to each value; the right
    one shows the tail as the share of at least each value, on logarithmic axes.
    ``name`` makes the ids of the SVG unique in its page.
    """
    first = distributions[0]
    with matplotlib.style.context(["default", _STYLE]):
        figure = Figure(figsize=(8.4, 3.3))
        figure.set_layout_engine("constrained", wspace=0.08)
        body, tail = figure.subplots(1, 2, width_ratios=(4, 5))
        for colour, one in zip(
            _colours(len(distributions)), distributions, strict=True
        ):
            _draw_body(body, one, colour)
            _draw_tail(tail, one, colour)
        per = f"{first.unit} per {operation(first.workload)}"
        _label_body(body, distributions, per)
        _label_tail(tail, distributions, per)
        figure.legend(
            *body.get_legend_handles_labels(),
            loc="outside upper left",
            ncols=len(distributions),
            frameon=False,
        )
        return _svg(figure, name)


def positions_svg(name: str, evidence: ProofEvidence, index: int, reach: int) -> str:
    """Draw the stack positions one proof saw on one variant.

    The left plot shows how often each occurred; the right one, if pairs were
    recorded, which position followed which. ``index`` picks the variant's colour; the
    axes reach to ``reach`` bytes.
    """
    colour = _colours(index + 1)[-1]
    with matplotlib.style.context(["default", _STYLE]):
        columns = 2 if evidence.pairs else 1
        figure = Figure(figsize=(4.6 if columns == 2 else 2.6, 2.2))
        figure.set_layout_engine("constrained")
        axes = figure.subplots(1, columns, squeeze=False)[0]
        _draw_positions(axes[0], evidence.bins, colour, reach)
        if evidence.pairs:
            _draw_pairs(axes[1], evidence.pairs, colour, reach)
        return _svg(figure, name)


def _colours(count: int) -> list[str]:
    return [COLOURS[i % len(COLOURS)] for i in range(count)]


def _draw_body(axes: Axes, one: Distribution, colour: str) -> None:
    counts = list(accumulate(count for _, count in one.bins))
    values = [value / one.operations for value, _ in one.bins]
    if counts:
        share = [100 * count / counts[-1] for count in counts]
        # Extend the last step to the right; the axis clips it.
        axes.step(
            [values[0], *values, 2 * values[-1]],
            [0, *share, 100],
            where="post",
            color=colour,
            label=one.variant,
        )


def _draw_tail(axes: Axes, one: Distribution, colour: str) -> None:
    every = merge([dict(one.bins), dict(one.tick_bins)])
    for bins, style in ((sorted(every.items()), ":"), (one.bins, "-")):
        if not bins:
            continue
        values, share = _survival(bins, one.operations)
        axes.step(
            [*values, values[-1]],
            [*share, share[-1] / 1e9],
            where="pre",
            color=colour,
            linestyle=style,
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


def _draw_positions(
    axes: Axes, bins: Sequence[tuple[int, int]], colour: str, reach: int
) -> None:
    total = sum(count for _, count in bins)
    positions = [position for position, _ in bins]
    share = [100 * count / total for _, count in bins]
    axes.vlines(positions, 0, share, color=colour, linewidth=1.6)
    axes.set_xlim(-0.03 * reach, 1.03 * reach)
    axes.set_ylim(0, 1.15 * max(share, default=1))
    axes.set_title("How often each occurs", loc="left")
    axes.set_xlabel("bytes below the highest position")
    axes.set_ylabel("calls, %")


def _draw_pairs(
    axes: Axes, pairs: Sequence[tuple[int, int, int]], colour: str, reach: int
) -> None:
    now, then, times = np.array(pairs).T
    if len(pairs) <= _FEW_PAIRS:
        # Single cells of the image drawn otherwise would be too small to see.
        axes.scatter(now, then, s=14, marker="s", color=colour)
        margin = 0.04 * reach
        axes.set(xlim=(-margin, reach + margin), ylim=(-margin, reach + margin))
    else:
        step = max(int(np.gcd.reduce([*now, *then])), -(-reach // _MOST_CELLS))
        side = reach // step + 1
        cells = np.zeros((side, side))
        np.add.at(cells, (then // step, now // step), times)
        edge = (side - 0.5) * step
        axes.imshow(
            cells / cells.max(),
            cmap=LinearSegmentedColormap.from_list(
                "fade", [to_rgba(colour, 0), to_rgba(colour, 1)]
            ),
            origin="lower",
            extent=(-0.5 * step, edge, -0.5 * step, edge),
            interpolation="none",
        )
    axes.set_aspect("equal")
    axes.grid(visible=False)
    axes.set_title("Successive positions", loc="left")
    axes.set_xlabel("bytes below, one call")
    axes.set_ylabel("the next call")


def _svg(figure: Figure, name: str) -> str:
    """Return the figure as an SVG element for use inside HTML."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata=_NO_METADATA)
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :].replace(_INK, "currentColor")
    svg = re.sub(r' xmlns(:\w+)?="[^"]*"', "", svg)
    svg = re.sub(r"<style.*?</style>", "", svg, flags=re.DOTALL)
    svg = re.sub(r' (?:width|height)="[\d.]+pt"', "", svg, count=2)
    return re.sub(r'( id="|href="#|url\(#)', rf"\g<1>{name}-", svg)
