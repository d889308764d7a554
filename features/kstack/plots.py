"""Draws the stack positions that an attack saw."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_rgba
from matplotlib.figure import Figure

from temper.report.svg import colour, style, to_svg
from temper.stats.judging import Series

_FEW_PAIRS = 128
"""Up to so many different pairs are drawn one by one."""
_MOST_CELLS = 128
"""Cells on a side of the plot of successive positions, at most."""


def draw(found: Mapping[str, Series], variant: str, name: str) -> str:
    """Draw the stack positions that a proof saw on one variant, as SVG.

    Left how often each occurred; right what followed what. ``found`` has the series of
    all variants: their axes have the same length.
    """
    reach = max(series["positions"][-1][0] for series in found.values()) or 1
    ink = colour(list(found).index(variant))
    with style():
        figure = Figure(figsize=(4.6, 2.2))
        figure.set_layout_engine("constrained")
        often, after = figure.subplots(1, 2)
        _draw_positions(often, found[variant]["positions"], ink, reach)
        _draw_pairs(after, found[variant]["successions"], ink, reach)
        return to_svg(figure, name)


def _draw_positions(axes: Axes, bins: list[list[int]], ink: str, reach: int) -> None:
    total = sum(count for _, count in bins)
    positions = [position for position, _ in bins]
    share = [100 * count / total for _, count in bins]
    axes.vlines(positions, 0, share, color=ink, linewidth=1.6)
    axes.set_xlim(-0.03 * reach, 1.03 * reach)
    axes.set_ylim(0, 1.15 * max(share, default=1))
    axes.set_title("How often each position", loc="left")
    axes.set_xlabel("bytes below the highest position")
    axes.set_ylabel("calls, %")


def _draw_pairs(axes: Axes, pairs: list[list[int]], ink: str, reach: int) -> None:
    now, then, times = np.array(pairs).T
    if len(pairs) <= _FEW_PAIRS:
        # Single cells of the field below would hardly be seen.
        axes.scatter(now, then, s=14, marker="s", color=ink)
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
                "fade", [to_rgba(ink, 0), to_rgba(ink, 1)]
            ),
            origin="lower",
            extent=(-0.5 * step, edge, -0.5 * step, edge),
            interpolation="none",
        )
    axes.set_aspect("equal")
    axes.grid(visible=False)
    axes.set_title("What follows what", loc="left")
    axes.set_xlabel("bytes below, one call")
    axes.set_ylabel("the next call")
