"""An exposure: what is planned, what is refused, and what must not be."""

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from kernels import fake_source
from rich.console import Console
from samples import STARTED, price_boot

from made_up import run_plan, variant_plan
from temper.analysis.exposure import ExposureReport, exposure_report
from temper.arch import arch_named
from temper.catalog import feature_named
from temper.errors import InputError
from temper.kernel import Cache
from temper.record.boot import StoredRun
from temper.record.plan import Kind, Register, RunPlan, Slot
from temper.report.exposure_document import exposure_document
from temper.report.terminal import print_documents
from temper.run.exposure import plan_exposure
from temper.run.planner import Planner

REGISTER = Register(title="tables", msr=1, opens=2, closes=3, never=("mmu_*",))
FOUND: dict[str, Any] = {
    "opened": 3,
    "closed": 3,
    "other": 1,
    "untold": 0,
    "closed_again": 0,
    "open_at_marker": 0,
    "stretches": [[7, 2], [90, 1]],
    "functions": {"set_ptes": 100, "map": 4},
}


def report(
    on: bool = True, register: Register = REGISTER, **changes: object
) -> ExposureReport:
    """Return the report of one variant whose regions all have the same record."""
    plan = run_plan(
        {"stock": variant_plan("stock", in_force=on)},
        kind=Kind.EXPOSURE,
        baseline="",
        watched=register,
        slots=(Slot(variant="stock", repeat=0),),
    )
    boot = price_boot("stock", 0)
    records = [*boot.records]
    for n, record in enumerate(records):
        if record["type"] == "in_force":
            records[n] = {**record, "on": on}
        if record["type"] == "classes":
            counts = {**record["counts"], "kernel_wrmsr": 7}
            records[n] = {**record, "counts": counts}
            found: dict[str, Any] = {**FOUND, **changes, "region": record["region"]}
            if found.pop("seen", True):
                records.append({"n": 900 + n, "type": "exposure", **found})
    stored = boot.model_copy(update={"records": records})
    return exposure_report(StoredRun(id=7, plan=plan, started=STARTED, boots=[stored]))


def test_stretches_and_functions_are_summed_up() -> None:
    found = report()
    assert found.clean
    row = found.rows[0]
    assert (row.stretches, row.p50, row.p99_9, row.longest) == (3, 7, 90, 90)
    assert row.instructions == 104
    regions = len(found.rows) - 1
    assert (found.rows[-1].workload, found.rows[-1].stretches) == ("", 3 * regions)
    functions = [(each.function, each.instructions) for each in found.functions]
    assert functions == [("set_ptes", 100 * regions), ("map", 4 * regions)]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"seen": False}, "nothing watched the register"),
        ({"untold": 1, "other": 0}, "nobody knows what 1 writes wrote"),
        ({"closed_again": 2}, "2 writes closed what seemed to be closed already"),
        ({"other": 2}, "8 writes of registers were seen, but 7 were counted"),
    ],
)
def test_nothing_is_guessed(changes: dict[str, Any], why: str) -> None:
    found = report(**changes)
    assert why in found.refused["stock"]
    assert (found.rows, found.functions, found.clean) == ([], [], False)


@pytest.mark.parametrize(
    ("on", "changes", "why"),
    [
        (True, {"open_at_marker": 1}, "it was left open, into user mode"),
        (True, {"functions": {"mmu_x": 104}}, "mmu_x ran while it was open"),
        (False, {}, "3 writes opened it although it is off"),
    ],
)
def test_what_must_not_be_is_told(on: bool, changes: dict[str, Any], why: str) -> None:
    found = report(on, **changes)
    assert why in found.faults["stock"][0]
    assert not found.clean
    text = StringIO()
    print_documents(Console(file=text, width=78), [exposure_document(found)])
    assert "NOT CLEAN" in text.getvalue()


def planned(tmp_path: Path, **names: list[str]) -> RunPlan:
    return planned_of("kpkeys", tmp_path, **names)


def planned_of(feature: str, tmp_path: Path, **names: list[str]) -> RunPlan:
    planner = Planner(
        arch_named("x86_64"), Cache(tmp_path), fake_source(tmp_path / "linux")
    )
    return plan_exposure(planner, feature_named(feature), 1000, **names)


def test_another_instruction_may_write_the_register() -> None:
    """What there is one class of, as on arm64, is held against that class."""
    other = REGISTER.model_copy(update={"msr": None, "counted_as": "kernel_msr_por"})
    assert (
        "7 writes of registers were seen, but 0"
        in report(register=other).refused["stock"]
    )


def test_the_hardened_variants_are_planned(tmp_path: Path) -> None:
    plan = planned(tmp_path)
    assert plan.watched is not None
    assert (plan.watched.msr, plan.slots) == (
        0x6E1,
        (Slot(variant="temper", repeat=0),),
    )
    assert plan.variants["temper"].cmdline == "nokaslr"
    assert "--calls 1000" in plan.command


def test_sabotages_and_some_workloads_are_planned(tmp_path: Path) -> None:
    plan = planned(tmp_path, variants=["guard-open"], workloads=["ctx/pipe"])
    assert plan.variants.keys() == {"guard-open"}
    assert plan.variants["guard-open"].sabotage
    assert [line for line in plan.work.job if "ctx" in line and "pipe" in line]
    assert not [line for line in plan.work.job if "vmalloc" in line]


def test_a_feature_without_such_a_register_has_no_exposure(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="kstack has no register on x86_64"):
        planned_of("kstack", tmp_path)


@pytest.mark.parametrize("names", [{"variants": ["x"]}, {"workloads": ["x"]}])
def test_unknown_names_are_refused(tmp_path: Path, names: dict[str, list[str]]) -> None:
    with pytest.raises(InputError, match=r"unknown .* 'x'"):
        planned(tmp_path, **names)
