"""The proof of kstack on real kernels, sabotaged ones too."""

import pytest
from lab import Answer

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1800)]

EXPECTED = {
    "off": "VULNERABLE",
    "stock": "BLOCKED",
    "none": "BLOCKED",
    "constant": "VULNERABLE",
    "three-bits": "VULNERABLE",
    "alternating": "VULNERABLE",
    "skewed": "VULNERABLE",
}
DISTINCT = {
    "off": 1,
    "stock": 64,
    "none": 64,
    "constant": 1,
    "three-bits": 8,
    "alternating": 2,
    "skewed": 64,
}


def figures(proved: Answer, variant: str) -> dict[str, float]:
    found: dict[str, float] = proved.report["evidence"][variant]["prediction"][
        "figures"
    ]
    return found


def test_kstack_is_proven(proved: Answer) -> None:
    assert proved.status == 0, proved.output
    assert {"feature", "outcomes", "proven", "evidence"} <= set(proved.report)
    assert proved.report["feature"] == "kstack"
    assert proved.report["proven"] is True
    assert proved.report["as_expected"] is True
    assert set(proved.report["outcomes"]) == set(EXPECTED)


@pytest.mark.parametrize("variant", EXPECTED)
def test_outcome(proved: Answer, variant: str) -> None:
    evidence = proved.report["evidence"][variant]["prediction"]
    assert proved.report["outcomes"][variant] == EXPECTED[variant], evidence["reasons"]


@pytest.mark.parametrize("variant", EXPECTED)
def test_the_attack_saw_what_the_kernel_did(proved: Answer, variant: str) -> None:
    found = figures(proved, variant)
    assert found["calls"] == 100_000
    assert found["distinct_positions"] == DISTINCT[variant]


@pytest.mark.parametrize("variant", EXPECTED)
def test_the_claim_is_the_kernels_own(proved: Answer, variant: str) -> None:
    """Ten bits are drawn, gcc aligns the stack to 16 bytes: six have an effect."""
    found = figures(proved, variant)
    assert (found["claimed_positions"], found["claimed_bits"]) == (64, 6)
    assert found["chance_rate"] == 1 / 64


def test_off_is_always_at_the_same_place(proved: Answer) -> None:
    assert figures(proved, "off")["same_as_last_rate"] == 1


@pytest.mark.parametrize("variant", EXPECTED)
def test_it_was_in_force_as_it_had_to_be(proved: Answer, variant: str) -> None:
    summary = proved.report["in_force"][variant]
    assert summary["checks"] == summary["agreed"] >= 2
    assert summary["found"] is (variant not in ("off", "constant"))


@pytest.mark.parametrize("variant", EXPECTED)
def test_the_clock_is_stated_and_has_entropy(proved: Answer, variant: str) -> None:
    clock = proved.report["evidence"][variant]["prediction"]["clock"]
    assert "time-stamp counter" in clock
    assert "no icount" in clock
    (boot,) = (b for b in proved.run.boots if b.facts.variant == variant)
    assert "-icount" not in boot.facts.qemu_command
    assert boot.records[0]["cpus"] == boot.facts.cpus == 2
