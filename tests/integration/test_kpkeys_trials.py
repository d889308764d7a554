"""kpkeys on debug kernels under stress, and through machine events.

Seven kernels that nothing else needs, and boots that take long.
"""

from pathlib import Path

import pytest
from kernel_list import as_hardened
from lab import ARCH, Answer, ask, new_machine, planner, prepared, run_of

from temper.analysis.trial import trial_report
from temper.arch import Arch, arch_named
from temper.catalog import Feature, feature_named
from temper.machine import Machine
from temper.machine.overlays import Overlays
from temper.run.events import plan_events

pytestmark = [
    pytest.mark.integration,
    pytest.mark.check_all,
    pytest.mark.timeout(14400),
]


def check_clean(answer: Answer) -> None:
    assert answer.report["missing"] == []
    for boot in answer.report["boots"]:
        assert boot["wrong"] == [], boot["variant"]
        assert boot["never_done"] == [], boot["variant"]
    assert answer.status == 0


@pytest.mark.parametrize("arch", ["x86_64", "arm64"])
def test_page_tables_are_protected_after_every_event(arch: str, tmp_path: Path) -> None:
    check_clean(ask(tmp_path, "events", "kpkeys", "--arch", arch))


@pytest.mark.parametrize("kernel", ["lockdep", "kasan"])
@pytest.mark.parametrize("arch", ["x86_64", "arm64"])
def test_under_stress_no_bug_is_found(arch: str, kernel: str, tmp_path: Path) -> None:
    words = ("--arch", arch, "--kernels", kernel)
    check_clean(ask(tmp_path, "stress", "kpkeys", *words))


KPKEYS = feature_named("kpkeys")
SABOTAGED = as_hardened(KPKEYS.for_arch(ARCH.name), "none")
SABOTAGED_ARM64 = as_hardened(KPKEYS.for_arch("arm64"), "none")
OFF, UNKEYED_VMEMMAP = "kpkeys_pgtables=off", "kpkeys_sabotage=unkeyed-vmemmap"
NOT_PROTECTED, LANDS = "not protected", "panic in a section: a write lands"


@pytest.mark.parametrize(
    ("event", "option", "finding"),
    [
        ("hotplug_cpu", OFF, NOT_PROTECTED),
        ("hotplug_memory", OFF, NOT_PROTECTED),
        # Tables that only added memory has.
        ("hotplug_memory", UNKEYED_VMEMMAP, NOT_PROTECTED),
        ("hotplug_memory", "kpkeys_sabotage=none", None),
        ("machine_check", OFF, NOT_PROTECTED),
        ("panic", OFF, LANDS),
        # The handler of the double fault runs with the rights of what it interrupts.
        ("stack_overflow", "kpkeys_sabotage=nmi-open", LANDS),
        ("panic", "kpkeys_sabotage=none", None),
    ],
)
def test_an_event_shows_what_is_not_protected(
    event: str, option: str, finding: str | None
) -> None:
    look_after(event, option, finding, SABOTAGED, new_machine())


@pytest.mark.parametrize(
    ("event", "option", "finding", "feature"),
    [
        ("hotplug_cpu", OFF, NOT_PROTECTED, KPKEYS),
        ("stack_overflow", OFF, LANDS, KPKEYS),
        ("resize_memory", OFF, NOT_PROTECTED, KPKEYS),
        ("resize_memory", UNKEYED_VMEMMAP, NOT_PROTECTED, SABOTAGED_ARM64),
        ("resize_memory", "kpkeys_sabotage=none", None, SABOTAGED_ARM64),
    ],
)
def test_an_event_shows_it_on_arm64(
    event: str, option: str, finding: str | None, feature: Feature
) -> None:
    arch = arch_named("arm64")
    look_after(event, option, finding, feature, new_machine(Overlays, arch), arch)


def look_after(
    event: str,
    option: str,
    finding: str | None,
    feature: Feature,
    machine: Machine,
    arch: Arch = ARCH,
) -> None:
    """Lead kernels with an option through an event; assert what is found, if any."""
    plan = plan_events(planner(arch), feature, (event,))
    variants = {
        name: variant.model_copy(update={"cmdline": f"{variant.cmdline} {option}"})
        for name, variant in plan.variants.items()
    }
    whole = prepared(plan.model_copy(update={"variants": variants}))
    for boot in trial_report(run_of(whole, machine)).boots:
        assert any(finding in line for line in boot.wrong) if finding else boot.clean, (
            boot.wrong
        )
