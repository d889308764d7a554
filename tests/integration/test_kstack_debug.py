"""The series on kernels that check themselves: what they complain about fails a proof.

Kernels with lockdep, with PREEMPT_RT and with KCSAN; each stops its tick in idle, or on
a busy CPU too. ``seeds`` cannot put memory back there.
"""

import pytest
from kunit import kunit_boot, results_of
from lab import new_machine, planner, prepared, run_of

from temper.analysis.console import boot_complaints
from temper.analysis.proof import proof_report
from temper.catalog import Feature, Variant, feature_named

pytestmark = [
    pytest.mark.integration,
    pytest.mark.check_all,
    pytest.mark.timeout(7200),
]

FEATURE = feature_named("kstack")
TICKLESS = ("CONFIG_HZ_PERIODIC=n", "CONFIG_NO_HZ_FULL=y")
LOCKS = (
    *("CONFIG_DEBUG_KERNEL=y", "CONFIG_PROVE_LOCKING=y", "CONFIG_PROVE_RCU=y"),
    *("CONFIG_DEBUG_ATOMIC_SLEEP=y", "CONFIG_DEBUG_PREEMPT=y", "CONFIG_DEBUG_ENTRY=y"),
)
KERNELS = {
    "lockdep": ("CONFIG_PREEMPT_VOLUNTARY=n", "CONFIG_PREEMPT=y", *LOCKS),
    "rt": ("CONFIG_EXPERT=y", "CONFIG_PREEMPT_RT=y", *LOCKS),
    "kcsan": ("CONFIG_DEBUG_KERNEL=y", "CONFIG_KCSAN=y"),
}
STOPS = {"idle": "nohz=on", "full": "nohz_full=1"}


def with_config(variant: Variant, *config: str) -> Variant:
    return variant.model_copy(update={"config": (*variant.config, *config)})


def on(kernel: str) -> Feature:
    """Return the feature on one of the kernels."""
    config = (*TICKLESS, *KERNELS[kernel])
    off, temper = (
        with_config(FEATURE.variants[name], *config)
        for name in ("temper-off", "temper")
    )
    tried = {
        name: temper.model_copy(update={"cmdline": f"{temper.cmdline} {option}"})
        for name, option in STOPS.items()
    }
    changes = {
        "variants": {"temper-off": off, **tried},
        "sabotages": {},
        "baseline": "temper-off",
        "control": "temper-off",
        "hardened": tuple(tried),
    }
    return FEATURE.model_copy(update=changes)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_proofs_hold_and_nothing_is_complained_about(kernel: str) -> None:
    proofs = ["leak", "storm", "ways", "early"]
    plan = planner().prove(on(kernel), (), proofs)
    report = proof_report(run_of(prepared(plan), new_machine()))
    said = {v: [f.reasons for f in e.values()] for v, e in report.evidence.items()}
    assert report.proven, said


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_kunit_tests_pass(kernel: str) -> None:
    none = with_config(FEATURE.sabotages["none"], *KERNELS[kernel])
    sabotages = {**FEATURE.sabotages, "none": none}
    feature = FEATURE.model_copy(update={"sabotages": sabotages})
    whole = prepared(planner().prove(feature, ["none"], ["early"]))
    boot = kunit_boot(whole, "randomize_kstack", "randomize_kstack_offset=on")
    assert set(results_of(boot).values()) == {"ok"}
    assert not boot_complaints(whole.plan, boot)
