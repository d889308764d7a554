"""Linear algebra over GF(2): sums of bits are exclusive ors."""

import numpy as np
from numpy.typing import NDArray

from temper.stats.judging import Ints

Bits = NDArray[np.uint8]
"""0 or 1."""


def bits_of(numbers: Ints, bits: int) -> Bits:
    """Return the lowest bits of numbers, the lowest first; (...) -> (..., bits)."""
    return (numbers[..., np.newaxis] >> np.arange(bits) & 1).astype(np.uint8)


def with_one(rows: Bits) -> Bits:
    """Add a column of ones, so that sums can be affine."""
    return np.hstack([rows, np.ones((len(rows), 1), dtype=np.uint8)])


def rank(matrix: Bits) -> int:
    """Return how many columns are no sums of others."""
    _, pivots = _eliminated(matrix, matrix.shape[1])
    return len(pivots)


def solve(known: Bits, wanted: Bits) -> Bits:
    """Return masks with known @ masks = wanted over GF(2), where there are any.

    Shapes (equations, unknowns), (equations, n) -> (unknowns, n). Unknowns that the
    equations leave open are 0.
    """
    unknowns = known.shape[1]
    both = np.hstack([known, wanted])
    rows, pivots = _eliminated(both, unknowns)
    masks = np.zeros((unknowns, wanted.shape[1]), dtype=np.uint8)
    for place, column in enumerate(pivots):
        masks[column] = _unpacked(rows[place], both.shape[1])[unknowns:]
    return masks


def _eliminated(matrix: Bits, columns: int) -> tuple[list[int], list[int]]:
    """Return the rows after elimination by the first columns, and those with a pivot.

    Each row is one integer: exclusive or of rows is the whole work, and Python's
    integers are as wide as it takes.
    """
    rows, width = _packed(matrix), matrix.shape[1]
    pivots: list[int] = []
    for column in range(columns):
        bit = 1 << (width - 1 - column)
        place = len(pivots)
        found = next((i for i in range(place, len(rows)) if rows[i] & bit), None)
        if found is None:
            continue
        rows[place], rows[found] = rows[found], rows[place]
        pivot = rows[place]
        rows = [row ^ pivot if row & bit else row for row in rows]
        rows[place] = pivot
        pivots.append(column)
    return rows, pivots


def _packed(rows: Bits) -> list[int]:
    spare = -rows.shape[1] % 8
    return [int.from_bytes(row, "big") >> spare for row in np.packbits(rows, axis=1)]


def _unpacked(row: int, width: int) -> Bits:
    whole = (row << (-width % 8)).to_bytes((width + 7) // 8, "big")
    return np.unpackbits(np.frombuffer(whole, dtype=np.uint8))[:width]
