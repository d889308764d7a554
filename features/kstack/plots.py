"""Draws the stack positions that an attack saw."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_rgba
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from temper.report.svg import DATA, style, to_svg
from temper.stats.judging import Series

_FEW_PAIRS = 128
"""Up to so many different pairs are drawn one by one."""
_MOST_CELLS = 128
"""Cells on a side of the plot of successive positions, at most."""


def draw(found: Mapping[str, Series], variant: str, name: str) -> str:
    """Draw the stack positions that a proof saw on one variant, as SVG.

    Left how often each occurred; right what followed what. ``found`` has the series of
    all variants: their axes are the same.
    """
    reach = max(series["positions"][-1][0] for series in found.values()) or 1
    rarest = min(min(_shares(series)) for series in found.values())
    with style():
        figure = Figure(figsize=(4.6, 2.3))
        figure.set_layout_engine("constrained")
        often, after = figure.subplots(1, 2)
        _draw_positions(often, found[variant], rarest, reach)
        _draw_pairs(after, found[variant]["successions"], reach)
        return to_svg(figure, name)


def _shares(series: Series) -> list[float]:
    """Return how often each position occurred, in percent."""
    counts = [count for _, count in series["positions"]]
    return [100 * count / sum(counts) for count in counts]


def _draw_positions(axes: Axes, series: Series, rarest: float, reach: int) -> None:
    positions = [position for position, _ in series["positions"]]
    # Logarithmic: one position in all calls and 64 in as many are both to be seen.
    axes.set_yscale("log")
    lowest = rarest / 4
    axes.vlines(positions, lowest, _shares(series), color=DATA, linewidth=1.6)
    axes.set_xlim(-0.03 * reach, 1.03 * reach)
    axes.set_ylim(lowest, 200)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{share:g}"))
    axes.set_title("How often each", loc="left")
    axes.set_xlabel("bytes below the highest")
    axes.set_ylabel("calls, % (log)")


def _draw_pairs(axes: Axes, pairs: list[list[int]], reach: int) -> None:
    now, then, times = np.array(pairs).T
    if len(pairs) <= _FEW_PAIRS:
        # Single cells of the field below would hardly be seen.
        axes.scatter(now, then, s=14, marker="s", color=DATA)
    else:
        step = max(int(np.gcd.reduce([*now, *then])), -(-reach // _MOST_CELLS))
        side = reach // step + 1
        cells = np.zeros((side, side))
        np.add.at(cells, (then // step, now // step), times)
        edge = (side - 0.5) * step
        axes.imshow(
            cells / cells.max(),
            cmap=LinearSegmentedColormap.from_list(
                "fade", [to_rgba(DATA, 0), to_rgba(DATA, 1)]
            ),
            origin="lower",
            extent=(-0.5 * step, edge, -0.5 * step, edge),
            interpolation="none",
        )
    margin = 0.04 * reach
    axes.set(xlim=(-margin, reach + margin), ylim=(-margin, reach + margin))
    axes.set_aspect("equal")
    axes.grid(visible=False)
    axes.set_title("What follows what", loc="left")
    axes.set_xlabel("bytes below, one call")
    axes.set_ylabel("the next call")
