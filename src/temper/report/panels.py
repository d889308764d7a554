"""Small plots of how samples are distributed, drawn for narrow and wide pages alike.

They are plain SVG: all colours are the page's own, and text is no smaller than the
page's as long as a plot is at least as wide as its view box.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.ticker import LogLocator, MaxNLocator

from temper.analysis.models import Distribution

_WIDTH, _HEIGHT = 280, 180
_LEFT, _RIGHT, _TOP, _BOTTOM = 74, 14, 10, 26
_SPREAD = 4
"""From this ratio of the largest to the smallest value on, the scale is logarithmic."""
_STEP = 0.5
"""Points closer than this are drawn as one."""

Bins = Sequence[tuple[int, int]]


def bins_of(one: Distribution) -> Bins:
    """Return the samples that no tick hit or, if it hit all, those that it hit."""
    return one.bins or one.tick_bins


def panel(
    one: Distribution, baseline: Distribution, alike: Sequence[Distribution]
) -> str:
    """Draw the share of samples that cost at least each value, beside the baseline's.

    All plots of ``alike`` have the same axes.
    """
    values = [value / each.operations for each in alike for value, _ in bins_of(each)]
    across = _across(min(values), max(values))
    most = max(sum(count for _, count in bins_of(each)) for each in alike)
    down = _Scale(_TOP, _HEIGHT - _BOTTOM, 1, 1 / (2 * most), log=True)
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}">'
        + "".join(_vertical(across, tick) for tick in _ticks(across))
        + "".join(_horizontal(down, power) for power in _powers(most))
        + f'<path class="baseline" d="{_steps(baseline, across, down)}"/>'
        + f'<path class="variant" d="{_steps(one, across, down)}"/>'
        + "</svg>"
    )


@dataclass(frozen=True)
class _Scale:
    """Maps values to places in the plot."""

    start: float
    end: float
    low: float
    high: float
    log: bool

    def __call__(self, value: float) -> float:
        low, high = self._place(self.low), self._place(self.high)
        share = (self._place(value) - low) / (high - low)
        return self.start + share * (self.end - self.start)

    def _place(self, value: float) -> float:
        return math.log(value) if self.log else value


def _across(low: float, high: float) -> _Scale:
    margin = 0.05 * (high - low) or 0.05 * high or 1
    log = low > 0 and high / low >= _SPREAD
    ends = (low / 1.1, high * 1.1) if log else (low - margin, high + margin)
    return _Scale(_LEFT, _WIDTH - _RIGHT, *ends, log=log)


def _ticks(scale: _Scale) -> list[float]:
    """Return at most four round values on the scale."""
    if not scale.log:
        found = MaxNLocator(3, steps=[1, 2, 5, 10]).tick_values(scale.low, scale.high)
    else:
        found = LogLocator(subs=(1, 2, 5)).tick_values(scale.low, scale.high)
    inside = [float(tick) for tick in found if scale.low <= tick <= scale.high]
    return inside[:: -(-len(inside) // 4)]


def _powers(most: int) -> list[int]:
    """Return the powers of ten to label, of 1 in 10 to that."""
    highest = max(1, math.floor(math.log10(most)))
    return list(range(0, highest + 1, -(-highest // 4)))


def _vertical(scale: _Scale, value: float) -> str:
    x, bottom = f"{scale(value):.1f}", _HEIGHT - _BOTTOM
    return (
        f'<line class="grid" x1="{x}" x2="{x}" y1="{_TOP}" y2="{bottom}"/>'
        f'<text x="{x}" y="{bottom + 18}" text-anchor="middle">{value:,.10g}</text>'
    )


def _horizontal(scale: _Scale, power: int) -> str:
    y, right = f"{scale(10**-power):.1f}", _WIDTH - _RIGHT
    label = f"1 in {10**power:,}" if power else "all"
    return (
        f'<line class="grid" x1="{_LEFT}" x2="{right}" y1="{y}" y2="{y}"/>'
        f'<text x="{_LEFT - 6}" y="{y}" dy="4" text-anchor="end">{label}</text>'
    )


def _steps(one: Distribution, across: _Scale, down: _Scale) -> str:
    """Return a path: the share stays until a value is reached that samples have."""
    left = sum(count for _, count in bins_of(one))
    total, y, drawn = left, down(1), float(_LEFT)
    path = f"M{_LEFT} {y:.1f}"
    for value, count in bins_of(one):
        x = across(value / one.operations)
        if x - drawn >= _STEP:
            path, drawn = f"{path}V{y:.1f}H{x:.1f}", x
        left -= count
        y = down(left / total) if left else float(_HEIGHT - _BOTTOM)
    return f"{path}V{y:.1f}"
