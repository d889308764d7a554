"""Numbers as people read them: integers exactly, and never ``-0.00``."""

from collections.abc import Iterable, Sequence
from math import ceil

_HUGE = 1e10
_FULL_PERCENT = 10_000
_WHOLE = 10
_TOLD = 5


def absolute(value: float) -> str:
    """Write a value: ``224``, ``212.20``, ``<0.01``; at most 13 characters."""
    if abs(value) >= _HUGE:
        return f"{value:.4g}"
    if value == int(value):
        return f"{int(value):,}"
    if abs(value) < 0.005:
        return "<0.01" if value > 0 else "-<0.01"
    return f"{value:,.2f}" if abs(value) < 100_000 else f"{value:,.0f}"


def signed(value: float) -> str:
    """Write a difference with its sign: ``+14``, ``-3.25``, ``0``."""
    if value == 0:
        return "0"
    sign = "+" if value > 0 else "-"
    return sign + absolute(abs(value))


def percent(value: float | None) -> str:
    """Write a relative difference: ``+6.7 %``, ``+<0.01 %``; ``n/a`` for None."""
    if value is None:
        return "n/a"
    if value == 0:
        return "0 %"
    sign, size = ("+" if value > 0 else "-"), abs(value)
    if size >= _FULL_PERCENT:
        return f"{sign}>9999 %"
    if size < 0.005:
        return f"{sign}<0.01 %"
    if size < 0.995:
        return f"{sign}{size:.2f} %"
    return f"{sign}{size:.1f} %" if size < 99.95 else f"{sign}{size:.0f} %"


def spread(value: float | None) -> str:
    """Write how far a value may be off, not too little: ``±59``; empty for None."""
    if value is None:
        return ""
    return f"±{absolute(ceil(value) if value >= _WHOLE else value)}"


def span(texts: Sequence[str]) -> str:
    """Write a range by its two ends, or one text if both are the same."""
    return texts[0] if texts[0] == texts[-1] else f"{texts[0]} to {texts[-1]}"


def few(texts: Iterable[str]) -> str:
    """Write the first five of a list, and how many more there are."""
    told = list(texts)
    more = len(told) - _TOLD
    return ", ".join(told[:_TOLD]) + (f" and {more} more" if more > 0 else "")


def duration(seconds: float) -> str:
    """Write a duration: ``4.2 s``, ``34 s``, ``3 min 20 s``."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
