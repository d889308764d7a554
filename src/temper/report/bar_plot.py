"""A chart as an SVG file of its own, to paste into a text, a mail or slides.

A page draws its charts itself, for any width. This one brings its colours and a white
ground, since nobody knows what it is pasted on.
"""

import io
import textwrap
from collections.abc import Sequence

import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from temper.report.document import Bar, Chart

_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
"""One for each variant: those of Okabe and Ito, which the colour-blind tell apart."""
_STYLE = {
    "svg.hashsalt": "temper",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.axisbelow": True,
}
_WIDTH, _BAR, _AROUND = 9.0, 0.16, 1.9
"""Inches: of the plot, of a bar's height, and above and below all bars."""
_GAP = 0.7
"""Between workloads, in bars."""
_ROOM = 0.4
"""For the figures beside the bars, as a share of the scale."""
_LINE = 140
"""Characters of a line of the caption."""

_Placed = Sequence[tuple[float, Bar]]


def bar_plot(chart: Chart, title: str) -> str:
    """Return a chart as an SVG file; the same chart gives the same bytes."""
    with matplotlib.style.context(["default", _STYLE]):
        return _written(_figure(chart, title))


def _figure(chart: Chart, title: str) -> Figure:
    placed, names = _places(chart)
    height = _BAR * (placed[-1][0] + 1) + _AROUND
    figure = Figure(figsize=(_WIDTH, height), layout="constrained")
    axes = figure.add_subplot()
    variants = dict.fromkeys(bar.label for _, bar in placed)
    for colour, variant in zip(_repeated(len(variants)), variants, strict=True):
        _draw(axes, [each for each in placed if each[1].label == variant], colour)
    for place, bar in placed:
        beside = (max(bar.value, 0.0), place)
        axes.annotate(
            bar.text, beside, (4, 0), textcoords="offset points", va="center", size=7
        )
    _scale(axes, chart, names)
    figure.suptitle(title, x=0.01, ha="left", weight="bold")
    figure.supxlabel(
        "\n".join(textwrap.wrap(chart.caption, _LINE)), x=0.01, ha="left", size=8
    )
    figure.legend(loc="outside upper right", ncols=len(variants), frameon=False)
    return figure


def _repeated(count: int) -> list[str]:
    return [_COLOURS[number % len(_COLOURS)] for number in range(count)]


def _places(chart: Chart) -> tuple[_Placed, dict[float, str]]:
    """Return each bar with its place from the top, and place -> workload."""
    placed: list[tuple[float, Bar]] = []
    names = {}
    top = 0.0
    for group in chart.groups:
        placed += [(top + number, bar) for number, bar in enumerate(group.bars)]
        names[top + (len(group.bars) - 1) / 2] = group.label
        top += len(group.bars) + _GAP
    return placed, names


def _draw(axes: Axes, placed: _Placed, colour: str) -> None:
    places = [place for place, _ in placed]
    values = [bar.value for _, bar in placed]
    axes.barh(places, values, height=0.9, color=colour, label=placed[0][1].label)


def _scale(axes: Axes, chart: Chart, names: dict[float, str]) -> None:
    low, high = chart.ends
    size = (high - low) or 1.0
    axes.set_xlim(low - 0.02 * size, high + _ROOM * size)
    axes.set_ylim(max(names) + 2, min(names) - 2)
    axes.set_yticks(list(names), list(names.values()))
    axes.tick_params(axis="y", length=0)
    axes.axvline(0, color="black", linewidth=0.8)
    axes.grid(axis="x", alpha=0.25)
    axes.xaxis.set_major_formatter(PercentFormatter(symbol=" %"))
    axes.set_xlabel(f"← {chart.less} · {chart.more} →", loc="left")


def _written(figure: Figure) -> str:
    file = io.StringIO()
    metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(file, format="svg", metadata=metadata)
    return file.getvalue()
