"""The proofs of scs-switch on real kernels: events between any two instructions."""

import re

import pytest
from lab import ARM64, Answer, ask, params, planner

from temper.arch import arch_named
from temper.catalog import feature_named
from temper.extension import loaded
from temper.kernel.symbols import Symbols
from temper.progress import Quiet
from temper.run.prepare import Workshop

pytestmark = [pytest.mark.integration, pytest.mark.timeout(3600)]

SCS_SWITCH = feature_named("scs-switch")
# Sabotage -> what the proof by NMIs says is open: function, instructions.
OPEN = {
    "scs-first": [("cpu_switch_to", "mov sp, x9")],
    "current-first": [("cpu_switch_to", "ldr x18, [x1, #0x18]")],
    "stack-first": [("call_on_irq_stack", "ldr x18, [x16, #0x18]")],
    "scratch": [("call_on_irq_stack", "ldr x18, [x18, x17]")],
    "scratch-one-cpu": [("call_on_irq_stack", "ldr x18, [x18, x17]")],
    "base-first": [("call_on_irq_stack", "ldr x18, [x16, #0x18]")],
    "two-steps": [("call_on_irq_stack", "add sp, sp, #4, lsl #12")],
    "pushed-late": [("call_on_irq_stack", "sub x29, sp, #0x10")],
    "freed-early": [("call_on_irq_stack", "ldp x29, x30, [x29]")],
    "switch-open": [("cpu_switch_to", "ldr x18, [x18, #0x18]")],
    "irq-open": [
        ("call_on_irq_stack", "add sp, x16, #4, lsl #12"),
        ("call_on_irq_stack", "ldr x18, [x18, #0x18]"),
    ],
    "entry-open": [("call_on_irq_stack", "add sp, x16, #4, lsl #12")],
    "exit-open": [("call_on_irq_stack", "ldr x18, [x18, #0x18]")],
    "early": [("cpu_switch_to", "ldr x18, [x18, #0x18]")],
    "exit-early": [("call_on_irq_stack", "ldr x18, [x18, #0x18]")],
}
# They end the kernel, and are found all the same.
DIES = ("two-steps", "pushed-late", "freed-early")
AT_EVERY_CHECK = ("scs-first", "two-steps")
"""Of those of our series, one that the proof outlives and one that ends the kernel."""


@pytest.fixture(scope="module")
def proved(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    which = ("--variants", "temper")
    return ask(tmp_path_factory.mktemp("scs"), "prove", "scs-switch", *ARM64, *which)


@pytest.fixture(scope="module")
def by_nmis(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    """Return what the proof by NMIs alone finds, which is enough for most sabotages."""
    names = ("temper", *AT_EVERY_CHECK)
    which = ("--variants", ",".join(names), "--proofs", "nmi")
    return ask(tmp_path_factory.mktemp("nmi"), "prove", "scs-switch", *ARM64, *which)


@pytest.fixture(scope="module")
def proved_all(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    folder = tmp_path_factory.mktemp("all")
    return ask(folder, "prove", "scs-switch", *ARM64, "--sabotage")


def reasons(proved: Answer, variant: str, proof: str = "nmi") -> list[str]:
    found: list[str] = proved.report["evidence"][variant][proof]["reasons"]
    return found


def test_it_is_proven(proved: Answer) -> None:
    assert proved.report["proven"] is True, proved.output
    assert proved.report["as_expected"] is True, proved.output


def test_the_control_is_open_where_linux_was(proved: Answer) -> None:
    open_at = [
        re.fullmatch(r"(.+) for .*: open at (\d+) of (\d+) instructions, .*", reason)
        for reason in reasons(proved, "reverted")
    ]
    assert [found.groups() if found else None for found in open_at] == [
        ("cpu_switch_to", "9", "31"),
        ("call_on_irq_stack", "3", "20"),
        ("call_on_irq_stack", "3", "20"),
        ("call_on_irq_stack", "14", "20"),
    ]


def test_interrupts_come_in_where_nothing_is_masked(proved: Answer) -> None:
    figures = proved.report["evidence"]["temper"]["nmi"]["figures"]
    assert figures == {"interrupts": 93, "at once": 61, "wrong": 0}


@pytest.mark.parametrize(
    ("proof", "events"), [("debug", "breakpoints"), ("serror", "interrupts")]
)
def test_other_exceptions_come_in_everywhere(
    proved: Answer, proof: str, events: str
) -> None:
    figures = proved.report["evidence"]["temper"][proof]["figures"]
    assert figures == {events: 93, "at once": 93, "wrong": 0}


@pytest.mark.parametrize("proof", ["debug", "serror"])
def test_the_control_is_open_to_other_exceptions_where_x18_is_scratch(
    proved: Answer, proof: str
) -> None:
    """The first rule is nothing to their handlers, the second one is."""
    switch, *calls = reasons(proved, "reverted", proof)
    assert "open at 1 of 31 instructions, +0x74 (ldr x18, [x18, #0x18])" in switch
    assert len(calls) == 3
    for call in calls:
        assert "open at 4 of 20 instructions, +0x10 (add x18, x18, #0x58)" in call


@pytest.mark.check_all
def test_without_pseudo_nmis_other_exceptions_come_in_too(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    which = ("--variants", "temper", "--proofs", "debug,serror")
    folder = tmp_path_factory.mktemp("others")
    found = ask(folder, "prove", "scs-switch", *ARM64, *which)
    assert found.report["proven"] is True, found.output
    assert "pseudo_nmi" not in found.run.plan.variants["temper"].cmdline


@pytest.fixture(params=params(OPEN, AT_EVERY_CHECK))
def sabotage(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def found(sabotage: str, request: pytest.FixtureRequest) -> Answer:
    """A proof in which the sabotage is attacked."""
    which = "by_nmis" if sabotage in AT_EVERY_CHECK else "proved_all"
    answer: Answer = request.getfixturevalue(which)
    return answer


@pytest.mark.check_all
@pytest.mark.parametrize("proof", ["nmi", "debug", "serror"])
def test_x18_as_scratch_is_found_by_each_proof(proved_all: Answer, proof: str) -> None:
    assert "(ldr x18, [x18, x17])" in reasons(proved_all, "scratch", proof)[-1]


def test_a_sabotage_is_found_where_it_is(found: Answer, sabotage: str) -> None:
    assert found.report["as_expected"] is True, found.output
    said = reasons(found, sabotage)
    for function, instruction in OPEN[sabotage]:
        assert any(
            reason.startswith(f"{function} for ") and f"({instruction})" in reason
            for reason in said
        ), said
    assert sabotage not in DIES or "the kernel died" in said[-1]


@pytest.mark.check_all
def test_all_variants_end_as_expected(proved_all: Answer) -> None:
    assert proved_all.report["as_expected"] is True, proved_all.output
    assert proved_all.report["proven"] is True, proved_all.output
    assert proved_all.report["outcomes"]["one-cpu"] == "BLOCKED"


def test_all_code_that_switches_stacks_is_known() -> None:
    """In the kernels that boot here; the command of the page has more."""
    scan = loaded(SCS_SWITCH.folder / "analysis" / "scan.py")
    lab = planner(arch_named("arm64"))
    plan = lab.prove(SCS_SWITCH, ["temper"])
    workshop = Workshop(lab.arch, lab.cache, Quiet())
    for variant in plan.variants.values():
        kernel = workshop.kernel(variant.kernel)
        found = scan.writes(kernel.image, Symbols.of(kernel.folder / "System.map"))
        assert {"cpu_switch_to", "call_on_irq_stack", "ret_to_user"} <= found.keys()
        assert [name for name in found if not scan.explained(name)] == []


@pytest.mark.check_all
@pytest.mark.parametrize(
    ("variant", "proof"),
    [
        ("irqs-only", "debug"),
        ("irqs-only", "serror"),
        ("all-but-debug", "debug"),
        ("all-but-errors", "serror"),
    ],
)
def test_what_masks_less_than_all_is_found(
    proved_all: Answer, variant: str, proof: str
) -> None:
    switch, *calls = reasons(proved_all, variant, proof)
    assert "open at 1 of 34 instructions, +0x7c (ldr x18, [x18, #0x18])" in switch
    assert len(calls) == 3


def test_all_sabotages_are_tried() -> None:
    unmasked = {"irqs-only", "all-but-debug", "all-but-errors"}
    assert set(SCS_SWITCH.sabotages) == {"none", "one-cpu", *unmasked, *OPEN}
