"""The whole loop of a workload: what a price must not hide.

A sample is one operation, and work may move out of it: a kernel that clears memory when
it is freed makes a fork cheaper and the child's end dearer. The whole loop has all
instructions from the first marker to the last, and a while after the last sample.
"""

from collections.abc import Mapping, Sequence

from temper.analysis.models import PriceRow
from temper.stats.comparison import Mark

WHOLE_LOOP = "whole-loop"
"""Its name among the result classes."""
_CLEAR = 0.01
"""The share from which on a loop is cheaper if nobody knows its spread."""


def confirmed(rows: Sequence[PriceRow], wholes: Sequence[PriceRow]) -> list[PriceRow]:
    """Return ``rows`` with no improvement marked that the whole loop denies.

    Where no whole loop was counted, as in older runs, marks stay as they are.
    """
    loops = {(row.workload, row.variant): row for row in wholes}
    return [_confirmed(row, loops.get((row.workload, row.variant))) for row in rows]


def _confirmed(row: PriceRow, whole: PriceRow | None) -> PriceRow:
    if row.mark is not Mark.IMPROVEMENT or whole is None or is_cheaper(whole):
        return row
    return row.model_copy(update={"mark": Mark.MOVED})


def is_cheaper(whole: PriceRow) -> bool:
    """Say whether a whole loop is clearly cheaper than the baseline's."""
    return whole.delta < -tolerance(whole)


def tolerance(whole: PriceRow) -> float:
    """Return what a loop may differ by for no reason: its spread, or a hundredth."""
    if whole.spread is not None:
        return whole.spread
    return _CLEAR * whole.baseline_value


def whole_loops(rows: Sequence[PriceRow]) -> Mapping[tuple[str, str], PriceRow]:
    """Return workload, variant -> its whole loop, of those that were counted."""
    return {
        (row.workload, row.variant): row
        for row in rows
        if row.result_class == WHOLE_LOOP
    }
