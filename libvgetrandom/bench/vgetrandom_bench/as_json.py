# SPDX-License-Identifier: MIT OR Apache-2.0
"""The results as data for other programs."""

from collections.abc import Sequence
from typing import Any

from vgetrandom_bench import paths
from vgetrandom_bench.cells import Cell
from vgetrandom_bench.goals import Verdict
from vgetrandom_bench.machine import Machine
from vgetrandom_bench.published import MANY, Published
from vgetrandom_bench.results import Results


def to_json(
    machine: Machine,
    results: Results,
    verdicts: Sequence[Verdict],
    published: Published,
) -> dict[str, Any]:
    """Return a row for each path and cell, including paths that did not run.

    Ratios say how many times as fast as the baseline a path is. A row that goals
    cover has their texts, and says whether it meets all of them. What could not be
    measured or judged is None.
    """
    rows = [
        {
            **{"path": path, "size": cell.size, "threads": cell.threads},
            **_figures(results, path, cell),
            **_goals(verdicts, path, cell),
        }
        for cell in results.cells()
        for path in results.order
    ]
    rows += [
        {
            **{"path": path, "size": cell.size, "threads": cell.threads, "ns": ns},
            "ratio_to_vdso": _quotient(published, paths.VDSO, ns),
            "ratio_to_syscall": _quotient(published, paths.SYSTEM_CALL, ns),
            **{"goal": None, "met": None},
        }
        for (path, cell), ns in published.ns.items()
        if cell == MANY
    ]
    return {"cpu": machine.cpu, "kernel": machine.kernel, "rows": rows}


def _figures(results: Results, path: str, cell: Cell) -> dict[str, float | None]:
    def ratio(against: str) -> float | None:
        if {path, against} & results.missing.keys():
            return None
        return results.ratio(path, against, cell).median

    return {
        "ns": None if path in results.missing else results.ns(path, cell).median,
        "ratio_to_vdso": ratio(paths.VDSO),
        "ratio_to_syscall": ratio(paths.SYSTEM_CALL),
    }


def _goals(verdicts: Sequence[Verdict], path: str, cell: Cell) -> dict[str, Any]:
    about = [
        verdict
        for verdict in verdicts
        if verdict.goal.path == path and cell in verdict.goal.cells
    ]
    met = [one.met_at.get(cell) for one in about]
    return {
        "goal": "; ".join(one.goal.text for one in about) or None,
        "met": False if False in met else None if None in met or not met else True,
    }


def _quotient(published: Published, path: str, ns: float) -> float | None:
    baseline = published.ns.get((path, MANY))
    return None if baseline is None else baseline / ns
