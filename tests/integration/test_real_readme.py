"""The table of real programs in kstack's README is what is measured.

``TEMPER_REGENERATE=1 .venv/bin/pytest tests/integration/test_real_readme.py`` measures
all programs, for half an hour, and writes the table anew. The check measures a few.
"""

import pytest
from lab import Answer, ask
from readme_tables import Table, regenerating

from temper.catalog import feature_named
from temper.workloads import all_workloads, workloads

pytestmark = [
    pytest.mark.integration,
    pytest.mark.check_all,
    pytest.mark.timeout(7200),
]

README = feature_named("kstack").folder / "README.md"
VARIANTS = ("off", "stock", "temper")
CLASSES = ("p50", "whole-loop")
LEFT_OUT = ("net/memcached-slab-rebalance", "build/cc", "build/kernel-objects")
"""Not in the table: two thirds of a sample of the first are the start of the client;
compilers take as long as all others together."""
REAL = tuple(
    each.name
    for each in workloads(all_workloads(), 100)
    if each.real and each.name not in LEFT_OUT
)
FEW = ("db/sqlite", "lang/python-start", "sched/hackbench-processes")


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    named = REAL if regenerating() else FEW
    return ask(
        tmp_path_factory.mktemp("price"),
        *("price", "kstack", "--variants", ",".join(VARIANTS), "--base", "cloud"),
        *("--calls", "1000", "--layouts", "2"),
        *(word for name in named for word in ("--workload", name)),
    )


def calls(answer: Answer, workload: str) -> float:
    """Return how many system calls an operation is: stock has an rdtsc in each."""
    return answer.class_delta(workload, "kernel_rdtsc", "stock")


def prices(answer: Answer) -> Table:
    """Return what each program pays, the dearest for our series first."""
    found = {
        (row["workload"], row["class"], row["variant"]): row
        for row in answer.report["rows"]
        if row["class"] in CLASSES
    }
    named = {workload for workload, *_ in found}
    by_cost = sorted(
        named, key=lambda each: -found[each, CLASSES[0], VARIANTS[-1]]["delta_percent"]
    )
    rows = {}
    for workload in by_cost:
        for name in CLASSES:
            ours = [found[workload, name, variant] for variant in VARIANTS[1:]]
            rows[workload, name] = (
                f"{100 * answer.kernels_share(workload):.0f} %",
                f"{calls(answer, workload):,.1f}",
                f"{ours[0]['baseline_value']:,.0f}",
                *(_difference(row) for row in ours),
            )
    columns = ("kernel's part", "calls", *VARIANTS)
    return Table(README, "programs", answer.report["arch"], columns, rows)


def _difference(row: dict[str, float]) -> str:
    """Return a difference and its spread over layouts, in percent of the baseline."""
    spread = 100 * row["spread"] / row["baseline_value"]
    return f"{row['delta_percent']:+.2f} ±{spread:.2f} %"


def _count(cell: str) -> float:
    return float(cell.replace(",", ""))


def _percent(cell: str) -> float:
    return float(cell.removesuffix(" %"))


def _numbers(cell: str) -> tuple[float, float]:
    value, spread = cell.split(" ±")
    return float(value), _percent(spread)


def test_the_prices_of_programs_are_what_is_measured(answer: Answer) -> None:
    assert answer.status == 0, answer.output
    table = prices(answer)
    if regenerating():
        table.regenerate()
    written = table.written()
    answer.need_known_kernel()
    assert {workload for workload, _ in written} == set(REAL)
    for row, (part, made, baseline, *measured) in table.rows.items():
        their_part, their_made, their_baseline, *told = written[row]
        # What ran before in the same boot decides where a program finds its memory.
        assert _percent(their_part) == pytest.approx(_percent(part), abs=2), row
        assert _count(their_made) == pytest.approx(_count(made), rel=0.02, abs=0.1), row
        near = pytest.approx(_count(baseline), rel=0.01 if row[1] == "p50" else 0.03)
        assert _count(their_baseline) == near, row
        for ours, theirs in zip(measured, told, strict=True):
            (now, moved), (before, moves) = _numbers(ours), _numbers(theirs)
            assert abs(now - before) <= moved + moves + 0.1, row
