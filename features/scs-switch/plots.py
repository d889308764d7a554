"""Draws both functions, and what an interrupt does at each instruction."""

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from temper.assembly import arm64_assembly
from temper.report.svg import DATA, style, to_svg
from temper.stats.judging import Series

_BAD = "#d55e00"
_STATES = (
    ({"color": DATA, "alpha": 0.15}, "masked"),
    ({"color": DATA}, "taken, and all as it must be"),
    ({"color": _BAD}, "taken, and the stacks do not match"),
)
_KINDS = {
    "cpu_switch_to": ("switch",),
    "call_on_irq_stack": ("user", "kernel", "softirq"),
}
"""Function -> the kinds of its calls, as the columns of its table."""
_ROW = 0.125
"""Inches."""


def draw(found: Mapping[str, Series], variant: str, name: str) -> str:
    """Draw the functions of one variant, an instruction a line, as SVG.

    All variants have as many lines, so that they can be compared.
    """
    series = found[variant]
    most = max(sum(map(len, each.values())) for each in found.values()) + 6
    with style():
        figure = Figure(figsize=(4.6, most * _ROW))
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set_axis_off()
        axes.set_xlim(0, 100)
        axes.set_ylim(most, 0)
        line = 1.0
        for function, kinds in _KINDS.items():
            if function in series:
                _draw_function(axes, function, kinds, series[function], line)
                line += len(series[function]) + 2
        handles = [Patch(**looks, label=label, linewidth=0) for looks, label in _STATES]
        axes.legend(
            handles=handles, loc="lower left", fontsize=5.5, ncols=3, frameon=False
        )
        return to_svg(figure, name)


def _draw_function(
    axes: Axes, name: str, kinds: tuple[str, ...], rows: list[list[int]], line: float
) -> None:
    axes.text(1, line, name, fontsize=6.5, weight="bold", va="center")
    for column, kind in enumerate(kinds):
        axes.text(_left(column) + 5, line, kind, fontsize=5.5, ha="center", va="center")
    for number, (offset, word, *states) in enumerate(rows, 1):
        at = line + number
        code = arm64_assembly(word)
        axes.text(1, at, f"+{offset:#x}", fontsize=5.5, va="center", family="monospace")
        axes.text(12, at, code, fontsize=5.5, va="center", family="monospace")
        for column, state in enumerate(states):
            looks, _ = _STATES[state]
            ends = (_left(column), _left(column) + 10)
            axes.fill_between(ends, at - 0.42, at + 0.42, linewidth=0, **looks)


def _left(column: int) -> float:
    return 62 + 12 * column
