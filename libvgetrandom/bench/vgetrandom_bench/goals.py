# SPDX-License-Identifier: MIT OR Apache-2.0
"""The goals of this library, and whether it reaches them on this machine."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from vgetrandom_bench import paths
from vgetrandom_bench.cells import CELLS, KIB, Cell, cell_text
from vgetrandom_bench.estimates import Estimate
from vgetrandom_bench.paths import with_simd
from vgetrandom_bench.results import Results

_LEVEL = 1 / 1.05
"""A path that is at least this many times as fast as another is level with it."""


@dataclass(frozen=True)
class Goal:
    """A minimum speed relative to another path, or a limit in nanoseconds."""

    group: str
    text: str
    path: str
    cells: tuple[Cell, ...]
    against: str | None
    """The other path; None: the limit is nanoseconds per call."""
    limit: float
    ceilings: tuple[str, ...] = ()
    """The paths that bound what can be reached, if there are any."""


@dataclass(frozen=True)
class Verdict:
    """How a goal stands on this machine."""

    goal: Goal
    met_at: Mapping[Cell, bool]
    """For each cell of the goal; empty: it cannot be judged here."""
    seen: str
    """The figure of the worst cell with its interval, or why there is none."""
    notes: tuple[str, ...] = ()
    """What bounds it on this machine, if that is known."""

    @property
    def met(self) -> bool | None:
        """Whether all cells meet it; None: it cannot be judged here."""
        return all(self.met_at.values()) if self.met_at else None


def _at(*sizes: int) -> tuple[Cell, ...]:
    return tuple(Cell(size, 1) for size in sizes)


_WORD = _at(8)
_LTO = {
    paths.LIBRARY: (paths.LTO, paths.FLOOR_LTO, paths.MARKED_LTO),
    paths.BATCH: (paths.LTO_BATCH, paths.FLOOR_LTO_BATCH, paths.MARKED_LTO_BATCH),
}
"""Path -> the same with LTO, and its ceilings."""


def _pass_through() -> list[Goal]:
    def goal(text: str, cells: tuple[Cell, ...], against: str, limit: float) -> Goal:
        return Goal("Pass-through", text, paths.LIBRARY, cells, against, limit)

    shared = goal("4 B: <= 1.06x the vDSO's time", _at(4), paths.VDSO, 1 / 1.06)
    inlined = goal("4 B: <= 1.03x the vDSO's time", _at(4), paths.VDSO, 1 / 1.03)
    return [
        replace(shared, ceilings=(paths.FLOOR, paths.MARKED)),
        _with_lto(inlined),
        goal("4 B: >= 13x system call", _at(4), paths.SYSTEM_CALL, 13),
        goal("any size: >= 1x system call", CELLS, paths.SYSTEM_CALL, 1),
    ]


def _with_lto(goal: Goal) -> Goal:
    """Return the same goal for programs into which the linker inlines the library."""
    path, *floors = _LTO[goal.path]
    text = f"{goal.text}, static with LTO"
    return replace(goal, text=text, path=path, ceilings=tuple(floors))


def _batch() -> list[Goal]:
    def goal(text: str, path: str, against: str | None, limit: float) -> Goal:
        floors = [path.replace(paths.BATCH, paths.FLOOR_BATCH)]
        if path == paths.BATCH:
            floors.append(paths.MARKED_BATCH)
        return Goal("Batch, u64", text, path, _WORD, against, limit, tuple(floors))

    batch = paths.BATCH
    faster = goal(">= 5.5x vDSO", batch, paths.VDSO, 5.5)
    level = goal("<= 1.05x ThreadRng's time", batch, paths.THREAD_RNG, _LEVEL)
    return [
        goal("AVX-512: <= 4 ns", with_simd(batch, "avx512"), None, 4),
        goal("AVX2: <= 5.5 ns", with_simd(batch, "avx2"), None, 5.5),
        faster,
        _with_lto(faster),
        goal(">= 45x system call", batch, paths.SYSTEM_CALL, 45),
        goal("faster than Go's ChaCha8", batch, paths.GO_CHACHA8, 1),
        _with_lto(level),
    ]


def _bulk(simd: str, title: str) -> Goal:
    """Return the goal to reach what this CPU can do, whatever that is."""
    ceiling = with_simd(paths.CEILING, simd)
    return Goal(
        "Bulk",
        f"{title}, 64 KiB: >= 0.9x ChaCha20",
        with_simd(paths.LIBRARY, simd),
        _at(64 * KIB),
        ceiling,
        0.9,
        (ceiling,),
    )


GOALS = (
    *_pass_through(),
    *_batch(),
    _bulk("avx2", "AVX2"),
    _bulk("avx512", "AVX-512"),
)
ROBUSTNESS = {
    "no system call after prewarm": ("sandbox_strict",),
    "a signal at every instruction": ("step_signal",),
    "siglongjmp recovers": ("step_longjmp",),
    "page drops": ("step_drop", "memory_drop"),
    "10,000 threads without a leak": ("threads_churn",),
    "fork, vfork, clone": ("step_fork", "processes_duplicates"),
    "VM snapshot": ("test_vgetrandom_vm_clone",),
}
"""Goals that tests judge -> the names of these tests."""


def judge(goal: Goal, results: Results) -> Verdict:
    """Judge a goal by the medians of its cells."""
    for path in (goal.path, goal.against):
        if path is not None and path not in results.measured:
            why = results.missing.get(path, "not for this kind of CPU")
            return Verdict(goal, {}, f"'{path}': {why}")
    found = {cell: _figure(goal, results, cell) for cell in goal.cells}
    if goal.against is None:
        worst = max(found, key=lambda cell: found[cell].median)
        met_at = {cell: found[cell].median <= goal.limit for cell in found}
    else:
        worst = min(found, key=lambda cell: found[cell].median)
        met_at = {cell: found[cell].median >= goal.limit for cell in found}
    seen = _seen(goal, worst, found[worst])
    return Verdict(goal, met_at, seen, tuple(_bounds(goal, worst, results)))


def judge_all(results: Results) -> list[Verdict]:
    """Judge every goal."""
    return [judge(goal, results) for goal in GOALS]


def _figure(goal: Goal, results: Results, cell: Cell) -> Estimate:
    if goal.against is None:
        return results.ns(goal.path, cell)
    return results.ratio(goal.path, goal.against, cell)


def _bounds(goal: Goal, cell: Cell, results: Results) -> Iterator[str]:
    """Say what the path's upper bounds are on this CPU."""
    for ceiling in goal.ceilings:
        if {ceiling, paths.VDSO} <= results.measured:
            ns = results.ns(ceiling, cell).median
            faster = results.ratio(ceiling, paths.VDSO, cell).median
            yield _bound(ceiling, cell, ns, faster)


def _bound(ceiling: str, cell: Cell, ns: float, faster: float) -> str:
    if ceiling.startswith(paths.CEILING):
        each = f"{ns / cell.size:.3f} ns per byte"
        return f"ChaCha20 alone on this CPU: {each}, {faster:.1f}x vDSO"
    marked = ceiling.startswith((paths.MARKED, paths.MARKED_BATCH))
    marks = ", with marks" if marked else ""
    return f"the least for such a call{marks}: {ns:.2f} ns, {faster:.2f}x vDSO"


def _seen(goal: Goal, cell: Cell, found: Estimate) -> str:
    unit = " ns" if goal.against is None else "x"
    where = f", {cell_text(cell)}" if len(goal.cells) > 1 else ""
    return f"{found.median:.2f}{unit} ({found.low:.2f} to {found.high:.2f}){where}"
