"""The proofs of scs-switch on kernels that are configured otherwise."""

import pytest
from lab import new_machine, planner, prepared, run_of

from temper.analysis.proof import proof_report
from temper.arch import arch_named
from temper.catalog import Feature, feature_named

pytestmark = [
    pytest.mark.integration,
    pytest.mark.check_all,
    pytest.mark.timeout(3600),
]

LAB = arch_named("arm64")
FEATURE = feature_named("scs-switch")
OTHERS = {
    "tickless": (
        *("CONFIG_HZ_100=n", "CONFIG_HZ_1000=y"),
        *("CONFIG_HZ_PERIODIC=n", "CONFIG_NO_HZ_FULL=y"),
        *("CONFIG_PREEMPT_VOLUNTARY=n", "CONFIG_PREEMPT=y"),
    ),
    "16K pages": ("CONFIG_ARM64_4K_PAGES=n", "CONFIG_ARM64_16K_PAGES=y"),
}


def configured(*config: str) -> Feature:
    """Return the feature's control and our series with more options."""
    variants = {
        name: FEATURE.variants[name].model_copy(
            update={"config": (*FEATURE.variants[name].config, *config)}
        )
        for name in ("reverted", "temper")
    }
    changes = {"variants": variants, "sabotages": {}, "hardened": ("temper",)}
    return FEATURE.model_copy(update=changes)


@pytest.mark.parametrize("name", OTHERS)
def test_it_holds(name: str) -> None:
    plan = planner(LAB).prove(configured(*OTHERS[name]))
    report = proof_report(run_of(prepared(plan), new_machine(arch=LAB)))
    assert report.proven, {v: e["nmi"].reasons for v, e in report.evidence.items()}
