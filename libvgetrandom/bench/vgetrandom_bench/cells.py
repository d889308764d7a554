# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is measured for each path: sizes of requests and numbers of threads."""

from typing import NamedTuple

KIB = 1024
SIZES = (
    *(4, 8, 16, 32, 64, 128, 256),
    *(KIB, 4 * KIB, 16 * KIB, 64 * KIB, KIB * KIB),
)
THREADS = (1, 2)


class Cell(NamedTuple):
    """One kind of call: bytes per call, and threads that call at once."""

    size: int
    threads: int


CELLS = tuple(Cell(size, threads) for threads in THREADS for size in SIZES)


def size_text(size: int) -> str:
    """Write a size: ``4 B``, ``16 KiB``, ``1 MiB``."""
    for unit, factor in (("MiB", KIB * KIB), ("KiB", KIB)):
        if size >= factor and size % factor == 0:
            return f"{size // factor} {unit}"
    return f"{size} B"


def cell_text(cell: Cell) -> str:
    """Write a cell: ``4 KiB, 2 threads``."""
    threads = "1 thread" if cell.threads == 1 else f"{cell.threads} threads"
    return f"{size_text(cell.size)}, {threads}"
