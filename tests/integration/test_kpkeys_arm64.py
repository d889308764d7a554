"""kpkeys on arm64, on a QEMU of our own: attacks, sabotages and the kernel's tests."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from kunit import kunit_results
from lab import Answer, ask, planner, prepared

from temper.arch import arch_named
from temper.catalog import feature_named
from temper.record.outcome import Outcome
from temper.run.prepare import Prepared

pytestmark = [
    pytest.mark.integration,
    pytest.mark.check_all,
    pytest.mark.timeout(3 * 3600),
]

ARCH = arch_named("arm64")
KPKEYS = feature_named("kpkeys").for_arch("arm64")
PROOFS = KPKEYS.proofs_on("arm64")
VARIANTS = [name for name in KPKEYS.variants if name != "no-batching"]
NEEDS_PGTABLES = {"test_pgtables", "test_pgtables_freed"}
NEEDS_TRACES = {"test_freed"}


def unlike(evidence: Mapping[str, Mapping[str, str]], variant: str) -> dict[str, str]:
    """Return proof -> its outcome, for all that did not end as expected."""
    expected = {proof: KPKEYS.expected(variant, proof) for proof in evidence}
    return {
        proof: found["outcome"]
        for proof, found in evidence.items()
        if expected[proof] and found["outcome"] != expected[proof]
    }


@pytest.fixture(scope="module")
def proved(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    words = ("--arch", "arm64", "--variants", ",".join(VARIANTS))
    return ask(tmp_path_factory.mktemp("prove"), "prove", "kpkeys", *words)


@pytest.fixture(scope="module")
def sabotaged(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    words = ("--arch", "arm64", "--variants", "off", "--sabotage")
    return ask(tmp_path_factory.mktemp("sabotage"), "prove", "kpkeys", *words)


def test_it_is_proven(proved: Answer) -> None:
    assert proved.status == 0, proved.output
    assert proved.report["proven"] is True


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_proof_ends_as_expected(proved: Answer, variant: str) -> None:
    evidence = proved.report["evidence"][variant]
    assert set(evidence) == set(PROOFS)
    assert unlike(evidence, variant) == {}


@pytest.mark.parametrize("variant", KPKEYS.sabotages)
def test_every_sabotage_is_found(sabotaged: Answer, variant: str) -> None:
    evidence = sabotaged.report["evidence"][variant]
    assert unlike(evidence, variant) == {}
    found = {evidence[proof]["outcome"] for proof in evidence.keys() & KPKEYS.deciding}
    whole = KPKEYS.sabotages[variant].expect == Outcome.BLOCKED
    assert (Outcome.VULNERABLE in found) is not whole


def test_nmis_find_no_section_open_unless_they_keep_the_rights(
    tmp_path: Path,
) -> None:
    """The control is beside them, as always."""
    words = ("--setting", "pseudo-nmi", "--proofs", "injected-nmi")
    variants = ("--variants", "temper,nmi-open,none")
    found = ask(tmp_path, "prove", "kpkeys", "--arch", "arm64", *words, *variants)
    outcomes = {
        variant: evidence["injected-nmi"]["outcome"]
        for variant, evidence in found.report["evidence"].items()
    }
    landed = dict.fromkeys(["off", "nmi-open"], "VULNERABLE")
    assert outcomes == {**landed, "temper": "BLOCKED", "none": "BLOCKED"}


@pytest.fixture(scope="module")
def whole() -> Prepared:
    """Prepare boots of the sabotage kernel."""
    return prepared(planner(ARCH).prove(KPKEYS, ["none"], ["user-pte"]))


def results(whole: Prepared, cmdline: str, cpu: str = "") -> dict[str, str]:
    return kunit_results(whole, "kpkeys", cmdline, cpu)


def test_all_tests_of_the_kernel_pass(whole: Prepared) -> None:
    found = results(whole, "init_on_free=1")
    assert len(found) >= 27
    assert set(found.values()) == {"ok"}, found


def test_those_of_page_tables_skip_without_the_option(whole: Prepared) -> None:
    found = results(whole, "kpkeys_pgtables=off")
    skipped = {name for name, how in found.items() if how == "skip"}
    assert skipped == NEEDS_PGTABLES | NEEDS_TRACES
    assert Counter(found.values())["not ok"] == 0


def test_all_skip_without_overlays(whole: Prepared) -> None:
    assert set(results(whole, "", "cortex-a76").values()) == {"skip"}
