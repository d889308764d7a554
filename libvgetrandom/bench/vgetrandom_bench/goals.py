# SPDX-License-Identifier: MIT OR Apache-2.0
"""The goals of this library, and whether it reaches them on this machine."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from vgetrandom_bench import paths
from vgetrandom_bench.cells import CELLS, KIB, SIZES, Cell, cell_text
from vgetrandom_bench.estimates import Estimate
from vgetrandom_bench.paths import with_simd
from vgetrandom_bench.results import Results

_LEVEL = 0.95
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
    ceiling: str | None = None
    """The path that bounds what can be reached, if there is one."""


@dataclass(frozen=True)
class Verdict:
    """How a goal stands on this machine."""

    goal: Goal
    met_at: Mapping[Cell, bool]
    """For each cell of the goal; empty: it cannot be judged here."""
    seen: str
    """The figure of the worst cell with its interval, or why there is none."""
    note: str = ""
    """Why this machine cannot reach it."""

    @property
    def met(self) -> bool | None:
        """Whether all cells meet it; None: it cannot be judged here."""
        return all(self.met_at.values()) if self.met_at else None


def _at(*sizes: int) -> tuple[Cell, ...]:
    return tuple(Cell(size, 1) for size in sizes)


_WORD = _at(8)
_BULK = _at(*(size for size in SIZES if size >= 4 * KIB))


def _pass_through() -> list[Goal]:
    def goal(text: str, cells: tuple[Cell, ...], against: str, limit: float) -> Goal:
        return Goal("Pass-through", text, paths.LIBRARY, cells, against, limit)

    nearly_all = goal("4 B: <= 1.05x the vDSO's time", _at(4), paths.VDSO, 1 / 1.05)
    return [
        nearly_all,
        _linked_statically(nearly_all),
        goal("4 B: >= 13x system call", _at(4), paths.SYSTEM_CALL, 13),
        goal("any size: >= 1x system call", CELLS, paths.SYSTEM_CALL, 1),
    ]


def _linked_statically(goal: Goal) -> Goal:
    """Return the same goal for programs that link to the library statically."""
    path = {paths.LIBRARY: paths.STATIC, paths.BATCH: paths.STATIC_BATCH}[goal.path]
    return replace(goal, text=f"{goal.text}, static", path=path)


def _batch() -> list[Goal]:
    def goal(text: str, path: str, against: str | None, limit: float) -> Goal:
        return Goal("Batch, u64", text, path, _WORD, against, limit)

    batch = paths.BATCH
    faster = goal(">= 5.5x vDSO", batch, paths.VDSO, 5.5)
    level = goal("level with Rust's ThreadRng", batch, paths.THREAD_RNG, _LEVEL)
    return [
        goal("AVX-512: <= 4 ns", with_simd(batch, "avx512"), None, 4),
        goal("AVX2: <= 5.5 ns", with_simd(batch, "avx2"), None, 5.5),
        faster,
        _linked_statically(faster),
        goal(">= 45x system call", batch, paths.SYSTEM_CALL, 45),
        goal("faster than Go's ChaCha8", batch, paths.GO_CHACHA8, 1),
        level,
        _linked_statically(level),
    ]


def _bulk(simd: str, title: str, vdso: float, system_call: float) -> list[Goal]:
    path = with_simd(paths.LIBRARY, simd)
    ceiling = with_simd(paths.CEILING, simd)

    def goal(text: str, cells: tuple[Cell, ...], against: str, limit: float) -> Goal:
        words = f"{title}, {text}"
        return Goal("Bulk", words, path, cells, against, limit, ceiling)

    return [
        goal(f">= 4 KiB: >= {vdso:.0f}x vDSO", _BULK, paths.VDSO, vdso),
        goal(
            f">= 4 KiB: >= {system_call:.0f}x system call",
            *(_BULK, paths.SYSTEM_CALL, system_call),
        ),
        goal("64 KiB: >= 0.9x ChaCha20 alone", _at(64 * KIB), ceiling, 0.9),
    ]


GOALS = (
    *_pass_through(),
    *_batch(),
    *_bulk("avx2", "AVX2", 5, 4),
    *_bulk("avx512", "AVX-512", 14, 11),
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
    note = "" if met_at[worst] else _excuse(goal, worst, results)
    return Verdict(goal, met_at, seen, note)


def judge_all(results: Results) -> list[Verdict]:
    """Judge every goal."""
    return [judge(goal, results) for goal in GOALS]


def _figure(goal: Goal, results: Results, cell: Cell) -> Estimate:
    if goal.against is None:
        return results.ns(goal.path, cell)
    return results.ratio(goal.path, goal.against, cell)


def _excuse(goal: Goal, cell: Cell, results: Results) -> str:
    """Say whether even the path's upper bound misses the limit on this CPU."""
    if goal.against is None or goal.ceiling not in results.measured:
        return ""
    bound = results.ratio(goal.ceiling, goal.against, cell).median
    if bound >= goal.limit:
        return ""
    return f"out of reach on this CPU: ChaCha20 alone is {bound:.2f}x"


def _seen(goal: Goal, cell: Cell, found: Estimate) -> str:
    unit = " ns" if goal.against is None else "x"
    where = f", {cell_text(cell)}" if len(goal.cells) > 1 else ""
    return f"{found.median:.2f}{unit} ({found.low:.2f} to {found.high:.2f}){where}"
