# SPDX-License-Identifier: MIT OR Apache-2.0
"""The form in which the kernel's developers published the cost of the vDSO.

25,000,000 calls of 4 bytes, by one thread and by each of 256 (tools of the kernel's
tree: vdso_test_getrandom bench-single, bench-multi).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import median

from vgetrandom_bench import paths
from vgetrandom_bench.cells import Cell
from vgetrandom_bench.host import Progress
from vgetrandom_bench.measure import Timer

CALLS = 25_000_000
SINGLE = Cell(4, 1)
MANY = Cell(4, 256)
PATHS = (paths.VDSO, paths.GLIBC, paths.HOST_LIBC, paths.SYSTEM_CALL, paths.LIBRARY)


@dataclass(frozen=True)
class Published:
    """Medians of a few runs, taken in turn."""

    calls: Mapping[Cell, int]
    """Calls that each thread made."""
    ns: Mapping[tuple[str, Cell], float]
    """Nanoseconds per call of a thread while all threads run."""

    def seconds(self, path: str, cell: Cell) -> float:
        """Return the time that all calls together took."""
        return self.ns[path, cell] * self.calls[cell] / 1e9


def measure_published(
    timers: Mapping[str, Timer], share: int, runs: int, progress: Progress
) -> Published:
    """Time the published form, with one in ``share`` of its calls by one thread.

    256 threads together make as many calls as one thread; if each of them did, it
    would take a quarter of an hour on two CPUs.
    """
    calls = {SINGLE: CALLS // share, MANY: CALLS // share // MANY.threads}
    found: dict[tuple[str, Cell], list[float]] = {}
    steps = list(_steps(timers, runs))
    with progress.task("measuring the published form") as task:
        for done, (path, cell) in enumerate(steps):
            task.update(done, len(steps), f"{path}, threads: {cell.threads}")
            ns = timers[path].time(cell, calls[cell])
            found.setdefault((path, cell), []).append(ns)
    return Published(calls, {key: median(each) for key, each in found.items()})


def _steps(timers: Mapping[str, Timer], runs: int) -> Iterator[tuple[str, Cell]]:
    for _ in range(runs):
        for cell in (SINGLE, MANY):
            yield from ((path, cell) for path in PATHS if path in timers)
