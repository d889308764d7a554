"""The series on kernels that check themselves: lockdep, PREEMPT_RT, KCSAN.

What such a kernel complains about fails a proof. ``seeds`` cannot put memory back on
the first two. Rules are also broken on purpose, and complained about: those of locks,
RCU, preemption and concurrent access, not those of entry code.
"""

import re

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
LOCKS = (
    *("CONFIG_DEBUG_KERNEL=y", "CONFIG_PROVE_LOCKING=y", "CONFIG_PROVE_RCU=y"),
    *("CONFIG_DEBUG_ATOMIC_SLEEP=y", "CONFIG_DEBUG_PREEMPT=y", "CONFIG_DEBUG_ENTRY=y"),
)
PREEMPTIBLE = "CONFIG_PREEMPT_VOLUNTARY=n"
KERNELS = {
    "lockdep": (PREEMPTIBLE, "CONFIG_PREEMPT=y", *LOCKS),
    "rt": (
        *(PREEMPTIBLE, "CONFIG_EXPERT=y", "CONFIG_PREEMPT_RT=y"),
        *("CONFIG_TRANSPARENT_HUGEPAGE=n", *LOCKS),
    ),
    "kcsan": ("CONFIG_DEBUG_KERNEL=y", "CONFIG_KCSAN=y"),
}
UNSPOILT = {
    "lockdep": ("none", "nohz-full"),
    # RCU complains of its own there with nohz_full.
    "rt": ("none",),
    "kcsan": ("none", "nohz-full"),
}
"""Boots of the kernel with KUnit and a tick that stops, with nothing sabotaged."""
OTHERS_RACES = (r"^BUG: KCSAN: data-race in (?!.*kstack)",)
"""Of the kernel without our series, in its clock for one."""
SHORT = ("leak", "early")
"""On the slower kernels, others take longer than a boot may say nothing."""
PROOFS = {"lockdep": (*SHORT, "storm", "ways"), "rt": SHORT, "kcsan": SHORT}
BROKEN = {
    "unsafe-lock": ("lockdep", r"inconsistent lock state"),
    "bare-rcu": ("lockdep", r"suspicious RCU usage"),
    "preemptible": ("lockdep", r"using __this_cpu_read\(\) in preemptible"),
    "idle-lock": ("rt", r"sleeping function called from invalid context"),
    "race": ("kcsan", r"KCSAN: data-race in .*kstack"),
}
"""Sabotage -> the kernel that complains of it, and how."""


def on(kernel: str) -> Feature:
    """Return the feature on one of the kernels."""

    def checked(variant: Variant) -> Variant:
        return variant.model_copy(
            update={
                "config": (*variant.config, *KERNELS[kernel]),
                "expected_complaints": OTHERS_RACES,
            }
        )

    boots = UNSPOILT[kernel]
    sabotages = {name: checked(FEATURE.sabotages[name]) for name in boots}
    return FEATURE.model_copy(update={"sabotages": sabotages})


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_proofs_hold_and_nothing_is_complained_about(kernel: str) -> None:
    plan = planner().prove(on(kernel), UNSPOILT[kernel], PROOFS[kernel])
    report = proof_report(run_of(prepared(plan), new_machine()))
    for name in UNSPOILT[kernel]:
        found = report.evidence[name]
        outcomes = {proof: str(found[proof].outcome) for proof in found}
        why = [found[proof].reasons for proof in found]
        assert outcomes == dict.fromkeys(PROOFS[kernel], "BLOCKED"), why


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_kunit_tests_pass(kernel: str) -> None:
    whole = prepared(planner().prove(on(kernel), ["none"], ["early"]))
    boot = kunit_boot(whole, "randomize_kstack", "randomize_kstack_offset=on")
    assert set(results_of(boot).values()) == {"ok"}
    assert not boot_complaints(whole.plan, boot)


@pytest.mark.parametrize("sabotage", BROKEN)
def test_a_broken_rule_is_complained_about(sabotage: str) -> None:
    kernel, said = BROKEN[sabotage]
    whole = prepared(planner().prove(on(kernel), ["none"], ["early"]))
    options = f"randomize_kstack_offset=on kstack_sabotage={sabotage}"
    found = boot_complaints(whole.plan, kunit_boot(whole, "randomize_kstack", options))
    assert any(re.search(said, line) for line in found), found
