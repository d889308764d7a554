# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs the paths in turn, so that disturbances affect all of them equally."""

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Protocol

from vgetrandom_bench.cells import Cell, cell_text
from vgetrandom_bench.host import Progress

Samples = Mapping[tuple[str, Cell], Sequence[float]]
"""Nanoseconds per call for a path and cell, one per round, in the order of rounds."""

_MOST_GROWTH = 16
"""Short runs say little, so they may lengthen the next one only by this factor."""


_TRIES = 3
"""Disturbances last milliseconds, so they hardly hit this many runs in a row."""


class Timer(Protocol):
    """Times calls, as a worker does."""

    def time(self, cell: Cell, count: int) -> float:
        """Return nanoseconds per call."""


def calibrated(time: Callable[[int], float], target: float) -> int:
    """Return the number of calls that take about ``target`` nanoseconds.

    ``time`` returns nanoseconds per call for a number of calls.
    """
    count = 1
    while True:
        each = min(time(count) for _ in range(_TRIES))
        took = each * count
        enough = max(1, round(target / each)) if each else count * _MOST_GROWTH
        if took >= target / 4:
            return enough
        count = min(max(enough, count + 1), count * _MOST_GROWTH)


def turns(
    paths: Collection[str], cells: Collection[Cell], chance: random.Random
) -> list[tuple[str, Cell]]:
    """Return one round: each path in each cell once.

    The cells come in random order, and so do the paths in each cell; paths that are
    compared are thus measured close in time.
    """
    shuffled = chance.sample(sorted(cells), len(cells))
    return [
        (path, cell)
        for cell in shuffled
        for path in chance.sample(list(paths), len(paths))
    ]


def measure(
    timers: Mapping[str, Timer],
    cells: Collection[Cell],
    rounds: int,
    sample_ns: float,
    progress: Progress,
) -> Samples:
    """Sample each path in each cell once per round, for about ``sample_ns``."""
    chance = random.Random()
    with progress.task("finding how many calls make a sample") as task:
        counts: dict[tuple[str, int], int] = {}
        # Calibrate with one thread, which suffers least; more threads use its count.
        singles = {Cell(cell.size, 1) for cell in cells}
        for done, (path, cell) in enumerate(turns(list(timers), singles, chance)):
            task.update(done, len(timers) * len(singles), cell_text(cell))
            time = partial(timers[path].time, cell)
            counts[path, cell.size] = calibrated(time, sample_ns)
    samples: dict[tuple[str, Cell], list[float]] = {
        (path, cell): [] for path in timers for cell in cells
    }
    with progress.task(f"measuring {len(samples)} cells") as task:
        for number in range(rounds):
            task.update(number, rounds, f"round {number + 1} of {rounds}")
            for path, cell in turns(list(timers), cells, chance):
                count = counts[path, cell.size]
                samples[path, cell].append(timers[path].time(cell, count))
    return samples
