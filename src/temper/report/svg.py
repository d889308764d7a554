"""Figures as inline SVG: the same data gives the same bytes.

Text and axes take the colour of the page's text, so they suit light and dark pages.
"""

import io
import re
from contextlib import AbstractContextManager
from typing import Any

import matplotlib.style
from matplotlib.figure import Figure

DATA = "#6f8296"
"""The colour of data: visible on white and on near-black, and it means nothing.

On a page, colours say which outcomes and prices are good or bad.
"""

_INK = "#010203"
"""Placeholder for the colour of the page's text until the SVG is written."""
_STYLE: dict[str, Any] = {
    "svg.hashsalt": "temper",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.titlesize": 10,
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


def style() -> AbstractContextManager[None]:
    """Return the context in which to make a figure and turn it into SVG."""
    return matplotlib.style.context(["default", _STYLE])


def to_svg(figure: Figure, name: str) -> str:
    """Return the figure as an SVG element for HTML; ``name`` makes its ids unique."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata=_NO_METADATA)
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :].replace(_INK, "currentColor")
    svg = re.sub(r' xmlns(:\w+)?="[^"]*"', "", svg)
    svg = re.sub(r"<style.*?</style>", "", svg, flags=re.DOTALL)
    svg = re.sub(r' (?:width|height)="[\d.]+pt"', "", svg, count=2)
    return re.sub(r'( id="|href="#|url\(#)', rf"\g<1>{name}-", svg)
