"""NMIs that rain on tasks which switch stacks, on kernels of scs-switch."""

import pytest
from kernel_list import as_hardened
from lab import ARM64, ask, planner, prepared, run_of

from temper.analysis.trial import trial_report
from temper.arch import arch_named
from temper.catalog import feature_named
from temper.kernel import Cache
from temper.machine import Limits
from temper.machine.tcg import Tcg
from temper.progress import Quiet
from temper.run.stress import plan_stress

pytestmark = [
    pytest.mark.integration,
    pytest.mark.check_all,
    pytest.mark.timeout(1800),
]

LAB = arch_named("arm64")
SECONDS = 10


def test_our_series_survives_it(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("storm")
    answer = ask(folder, "stress", "scs-switch", "--seconds", str(SECONDS), *ARM64)
    assert answer.report["clean"] is True, answer.output


def test_a_kernel_without_any_fix_does_not() -> None:
    feature = as_hardened(feature_named("scs-switch"), "reverted")
    plan = plan_stress(planner(LAB), feature, SECONDS)
    # A kernel that hangs says nothing, as one under the storm.
    machine = Tcg(LAB, Cache(), Quiet(), Limits(silence=60))
    report = trial_report(run_of(prepared(plan), machine))
    for boot in report.boots:
        assert boot.wrong, boot.counters
