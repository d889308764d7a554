"""The selftest of exactness: what is planned, and what counts as different."""

from collections.abc import Mapping
from copy import deepcopy
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from kernels import fake_source
from rich.console import Console
from samples import STARTED, changed, price_boot

from made_up import run_plan
from temper.analysis.selftest import ExactnessReport, exactness_report
from temper.arch import arch_named
from temper.catalog import feature_named
from temper.errors import InputError
from temper.kernel import Cache
from temper.record.boot import StoredBoot, StoredRun
from temper.record.plan import Kind, RunPlan, Slot
from temper.report.selftest_document import exactness_document
from temper.report.terminal import print_documents
from temper.run.planner import Planner
from temper.run.selftest import LOAD, plan_exact

PAIRS = 4


def run_of(changes: Mapping[int, StoredBoot | None]) -> StoredRun:
    """Return a run of four pairs of boots; ``changes``: those unlike the others."""
    plan = run_plan(
        ("off",),
        kind=Kind.SELFTEST,
        load=LOAD,
        slots=tuple(Slot(variant="off", repeat=n) for n in range(2 * PAIRS)),
    )
    boots = {n: price_boot("off", n) for n in range(2 * PAIRS)}
    kept = {**boots, **changes}
    return StoredRun(
        id=7,
        plan=plan,
        started=STARTED,
        boots=[boot for boot in kept.values() if boot is not None],
    )


def odd(number: int, kind: str, **wanted: object) -> StoredBoot:
    """Return a boot of which the first record of this kind says a little more."""
    boot = price_boot("off", number)
    records: list[dict[str, Any]] = deepcopy(list(boot.records))
    record = next(
        record
        for record in records
        if record["type"] == kind and wanted.items() <= record.items()
    )
    match kind:
        case "histogram":
            level, count = record["bins"][-1]
            record["bins"][-1] = [level + 5, count]
        case "classes":
            record["counts"]["rdtsc"] = record["counts"].get("rdtsc", 0) + 1
        case "workload":
            record["sequence"] = "0" * 16
    return boot.model_copy(update={"records": records})


def printed(report: ExactnessReport) -> str:
    text = StringIO()
    print_documents(Console(file=text, width=78), [exactness_document(report)])
    return text.getvalue()


def test_boots_that_all_agree_are_exact() -> None:
    report = exactness_report(run_of({}))
    assert (report.exact, report.pairs, report.planned) == (True, PAIRS, PAIRS)
    assert "EXACT: 0 of 4 pairs of boots differ" in printed(report)


@pytest.mark.parametrize(
    ("boot", "what"),
    [
        (odd(5, "workload"), "the order of samples differs"),
        (odd(5, "classes"), "the class counts differ"),
        (odd(5, "histogram", tick=False), "the histograms differ"),
        (odd(5, "histogram", tick=True), "the histograms differ"),
    ],
)
def test_one_boot_that_differs_is_named(boot: StoredBoot, what: str) -> None:
    report = exactness_report(run_of({5: boot}))
    assert not report.exact
    (pair,) = report.unequal
    assert pair.pair == 3
    assert what in pair.what
    assert pair.outliers == report.outliers == [6]
    shown = " ".join(printed(report).split())
    assert "NOT EXACT: 1 of 4 pairs of boots differ" in shown
    assert "unlike most: boot 6" in shown


def test_a_pair_that_agrees_only_with_itself_is_noticed() -> None:
    """Two boots side by side may be disturbed by the same thing."""
    report = exactness_report(run_of({n: odd(n, "workload") for n in (2, 3)}))
    assert report.unequal == []
    assert report.outliers == [3, 4]
    assert not report.exact


def test_the_first_boots_may_be_the_outliers() -> None:
    report = exactness_report(run_of({n: odd(n, "workload") for n in (0, 1)}))
    assert report.outliers == [1, 2]


def test_a_missing_boot_is_no_proof_of_exactness() -> None:
    report = exactness_report(run_of({7: None}))
    assert (report.exact, report.complete, report.pairs) == (False, False, 3)
    assert "NOT FINISHED: 3 pairs of boots of 4 have counts" in printed(report)


def test_a_boot_that_failed_is_named() -> None:
    failed = changed(price_boot("off", 1), status="boot_error", error="it hung")
    report = exactness_report(run_of({1: failed}))
    assert not report.exact
    assert "boot 2 failed: it hung" in printed(report)


@pytest.fixture
def planner(tmp_path: Path) -> Planner:
    fake_source(tmp_path / "linux")
    return Planner(arch_named("x86_64"), Cache(tmp_path), tmp_path / "linux")


def planned(planner: Planner, pairs: int) -> RunPlan:
    return plan_exact(planner, feature_named("kpkeys"), pairs, 1000)


def test_the_plan_boots_the_baseline_with_the_job_of_a_price(planner: Planner) -> None:
    plan = planned(planner, 3)
    price = planner.price(feature_named("kpkeys"), 1000)
    assert plan.work == price.work
    assert list(plan.variants) == [price.baseline]
    assert [slot.repeat for slot in plan.slots] == list(range(6))
    assert plan.load == LOAD
    assert "selftest exact kpkeys --pairs 3 --calls 1000" in plan.command


def test_a_control_differs_in_one_thing_only(planner: Planner) -> None:
    plan = planned(planner, 3)
    control = plan_exact(planner, feature_named("kpkeys"), 3, 1000, control=True)
    assert plan.work.in_turn and not control.work.in_turn
    assert "--control" in control.command
    same = {"work": plan.work, "command": plan.command}
    assert control.model_copy(update=same) == plan


def test_no_pairs_are_refused(planner: Planner) -> None:
    with pytest.raises(InputError, match="0 pairs are too few"):
        planned(planner, 0)
