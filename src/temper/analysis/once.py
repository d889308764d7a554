"""What a variant takes once, not per operation: its start, and its memory."""

from collections.abc import Mapping, Sequence
from typing import Literal

from temper.analysis.boots import BootResults
from temper.analysis.models import OnceRow

_Unit = Literal["instructions", "bytes"]
_START = "start of the system"


def once_rows(
    baseline: str, boots: Mapping[str, Sequence[BootResults]]
) -> list[OnceRow]:
    """Compare every variant with the baseline, in what is known of both.

    ``boots``: variant -> its boots in one layout of memory.
    """
    before = _taken(boots.get(baseline, ()))
    return [
        OnceRow(
            what=what,
            unit=unit,
            variant=variant,
            value=value,
            baseline_value=before[what, unit],
        )
        for variant, kept in boots.items()
        if variant != baseline
        for (what, unit), value in _taken(kept).items()
        if (what, unit) in before
    ]


def _taken(boots: Sequence[BootResults]) -> dict[tuple[str, _Unit], int]:
    """Return what was measured; a start that did not repeat was not."""
    taken: dict[tuple[str, _Unit], int] = {}
    starts = {boot.startup for boot in boots if boot.startup is not None}
    if len(starts) == 1:
        taken[_START, "instructions"] = starts.pop()
    if boots:
        memory = boots[0].facts.kernel.memory
        taken |= {(use, "bytes"): size for use, size in memory.items()}
    return taken
