"""Storms on CPUs that run at once, so that calls of two tasks overlap.

The lab has QEMU run CPUs in turn, in one thread: in threads of their own, one may run
into a breakpoint that another, which patches the kernel's code, has already taken away.
Such a kernel dies, and is booted again here.
"""

import pytest
from lab import new_machine, planner, prepared, run_of

from temper.analysis.models import ProofReport
from temper.analysis.proof import proof_report
from temper.catalog import feature_named
from temper.machine.qemu import launch

pytestmark = [
    pytest.mark.integration,
    pytest.mark.check_all,
    pytest.mark.timeout(3600),
]

ATTEMPTS = 5
ATTACKED = ("off", "temper", "seed-constant")
FEATURE = feature_named("kstack")


def proved() -> ProofReport:
    plan = planner().prove(FEATURE, ATTACKED, ["storm"])
    for _ in range(ATTEMPTS):
        run = run_of(prepared(plan), new_machine())
        if all(boot.facts.status == "ok" for boot in run.boots):
            assert all(
                "thread=multi" in boot.facts.machine.details["command"]
                for boot in run.boots
            )
            return proof_report(run)
    raise AssertionError([boot.facts.error for boot in run.boots])


def test_storms_of_calls_that_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "_EMULATED", ("-accel", "tcg,thread=multi"))
    report = proved()
    found = {name: report.evidence[name]["storm"].outcome for name in ATTACKED}
    assert found == {name: FEATURE.expected(name, "storm") for name in ATTACKED}
