"""The tables of real programs in READMEs are what is measured.

``TEMPER_REGENERATE=1 .venv/bin/pytest tests/integration/test_real_readme.py`` measures
all programs, for a quarter of an hour each, and writes the tables anew; ``-k`` picks
one. The check measures a few.
"""

from dataclasses import dataclass
from pathlib import Path

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

CLASSES = ("p50", "whole-loop")
LEFT_OUT = ("net/memcached-slab-rebalance", "build/cc", "build/kernel-objects")
"""Not in the tables: two thirds of a sample of the first are the start of the client;
compilers take as long as all others together."""
REAL = tuple(
    each.name
    for each in workloads(all_workloads(), 100)
    if each.real and each.name not in LEFT_OUT
)
FEW = ("db/sqlite", "lang/python-start", "sched/hackbench-processes")


@dataclass(frozen=True)
class Case:
    """A table: what is priced, and what else a row counts."""

    feature: str
    arch: str
    variants: tuple[str, ...]
    """The baseline, then those in the table; the last one is our series."""
    counted: tuple[str, str, str]
    """A column's title, the class that it counts, and the variant that has it: of
    another than the baseline, how many more."""

    @property
    def readme(self) -> Path:
        return feature_named(self.feature).folder / "README.md"


CASES = [
    # Stock has an rdtsc in each system call.
    Case(
        *("kstack", "x86_64", ("off", "stock", "temper")),
        counted=("calls", "kernel_rdtsc", "stock"),
    ),
    Case(
        *("kstack", "arm64", ("off", "stock", "temper")),
        counted=("calls", "user_svc", "off"),
    ),
    # Each level switch writes the register.
    Case(
        *("kpkeys", "x86_64", ("stock", "off", "temper")),
        counted=("switches", "kernel_wrmsr", "temper"),
    ),
]


@dataclass(frozen=True)
class Priced:
    """A case and the answer to it."""

    case: Case
    answer: Answer


@pytest.fixture(
    scope="module", params=CASES, ids=lambda case: f"{case.feature}-{case.arch}"
)
def priced(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Priced:
    case: Case = request.param
    named = REAL if regenerating() else FEW
    answer = ask(
        tmp_path_factory.mktemp("price"),
        *("price", case.feature, "--variants", ",".join(case.variants)),
        *("--base", "cloud", "--arch", case.arch),
        *("--calls", "1000", "--layouts", "2"),
        *(word for name in named for word in ("--workload", name)),
    )
    return Priced(case, answer)


def prices(case: Case, answer: Answer) -> Table:
    """Return what each program pays, the dearest for our series first."""
    found = {
        (row["workload"], row["class"], row["variant"]): row
        for row in answer.report["rows"]
        if row["class"] in CLASSES
    }
    named = {workload for workload, *_ in found}
    by_cost = sorted(
        named,
        key=lambda each: -found[each, CLASSES[0], case.variants[-1]]["delta_percent"],
    )
    rows = {}
    for workload in by_cost:
        part = f"{100 * answer.kernels_share(workload):.0f} %"
        counted = f"{count(case, answer, workload):,.1f}"
        for name in CLASSES:
            ours = [found[workload, name, variant] for variant in case.variants[1:]]
            baseline = f"{ours[0]['baseline_value']:,.0f}"
            rows[workload, name] = (part, counted, baseline, *map(_difference, ours))
    columns = ("kernel's part", case.counted[0], *case.variants)
    return Table(case.readme, "programs", case.arch, columns, rows)


def count(case: Case, answer: Answer, workload: str) -> float:
    """Return how many instructions of the class an operation has."""
    _title, name, variant = case.counted
    if variant == case.variants[0]:
        return answer.class_of_baseline(workload, name)
    return answer.class_delta(workload, name, variant)


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


def test_the_prices_of_programs_are_what_is_measured(priced: Priced) -> None:
    answer = priced.answer
    assert answer.status == 0, answer.output
    table = prices(priced.case, answer)
    if regenerating():
        table.regenerate()
    written = table.written()
    answer.need_known_kernel()
    assert {workload for workload, _ in written} == set(REAL)
    for row, cells in table.rows.items():
        now, before = _named(table, cells), _named(table, written[row])
        # What ran before in the same boot decides where a program finds its memory.
        near = pytest.approx(_percent(now["kernel's part"]), abs=2)
        assert _percent(before["kernel's part"]) == near, row
        title = priced.case.counted[0]
        near = pytest.approx(_count(now[title]), rel=0.02, abs=0.1)
        assert _count(before[title]) == near, row
        baseline, *others = priced.case.variants
        # A layout of memory moves the baseline as it moves the differences from it.
        spread = max(_numbers(before[variant])[1] for variant in others)
        # Whole loops are of several kinds, up to 2 % apart.
        within, slack = (1, 0.1) if row[1] == "p50" else (3, 2)
        near = pytest.approx(_count(now[baseline]), rel=(within + spread) / 100)
        assert _count(before[baseline]) == near, row
        for variant in others:
            (value, moved), (told, moves) = map(
                _numbers, (now[variant], before[variant])
            )
            assert abs(value - told) <= moved + moves + slack, row


def _named(table: Table, cells: tuple[str, ...]) -> dict[str, str]:
    return dict(zip(table.columns, cells, strict=True))
