"""The proof of kpkeys on real kernels: writes to page tables of all kinds."""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from lab import Answer, ask

from temper.catalog import feature_named
from temper.record.wire import Samples

pytestmark = [pytest.mark.integration, pytest.mark.timeout(3600)]

KPKEYS = feature_named("kpkeys").for_arch("x86_64")
KINDS = {
    name: int(proof.params["kind"])
    for name, proof in KPKEYS.proofs.items()
    if proof.program in ("writes", "reuse", "records", "freed")
}
# In proof/kinds.h, but no proof: pages that were tables have to be writable everywhere.
UNPROVED = {"freed"}
# The others have kernels of their own: test_all_proofs_find_all_variants_as_expected.
VARIANTS = {
    name: found
    for name, found in KPKEYS.variants.items()
    if found.patches and name != "no-batching"
}
PROTECTED = {name for name, variant in VARIANTS.items() if variant.in_force}

variants = pytest.mark.parametrize("variant", VARIANTS)


def kinds_of_the_program() -> dict[str, int]:
    """Return the names in proof/kinds.h, as proofs spell them, and their numbers."""
    text = (KPKEYS.folder / "proof" / "kinds.h").read_text()
    names = re.findall(r"^\tKIND_(\w+),", text, re.MULTILINE)
    return {name.lower().replace("_", "-"): i for i, name in enumerate(names)}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    folder = tmp_path_factory.mktemp("prove")
    which = ("--variants", ",".join(VARIANTS), "--proofs", ",".join(KINDS))
    return ask(folder, "prove", "kpkeys", *which)


def writes(written: Answer, variant: str) -> dict[int, Counter[int]]:
    """Return kind -> how many of its writes landed (1) and did not (0)."""
    found: dict[int, Counter[int]] = {}
    for boot in written.run.boots:
        if boot.facts.variant != variant:
            continue
        for record in boot.records:
            if record.get("type") != "samples":
                continue
            kind, landed, *_ = Samples.model_validate(record).values
            found.setdefault(kind, Counter())[landed] += 1
    return found


def test_each_proof_is_of_the_kind_that_it_is_called_by() -> None:
    kinds = kinds_of_the_program()
    assert {name: kinds[name] for name in KINDS} == KINDS
    assert kinds.keys() - KINDS.keys() == UNPROVED


def test_it_is_proven(written: Answer) -> None:
    assert written.status == 0, written.output
    assert written.report["proven"] is True
    assert written.report["as_expected"] is True


def test_all_proofs_find_all_variants_as_expected(tmp_path: Path) -> None:
    """Those of the kernel that is built anyway; all others below."""
    check_proven(tmp_path, VARIANTS, "--variants", ",".join(VARIANTS))


@pytest.mark.check_all
def test_the_command_of_the_page_proves_it(tmp_path: Path) -> None:
    assert "\n    ./temper prove kpkeys\n" in (KPKEYS.folder / "README.md").read_text()
    check_proven(tmp_path, KPKEYS.variants)


def check_proven(folder: Path, variants: Iterable[str], *which: str) -> None:
    answer = ask(folder, "prove", "kpkeys", *which)
    assert answer.status == 0, answer.output
    assert answer.report["proven"] is True
    for variant in variants:
        evidence = answer.report["evidence"][variant]
        assert set(evidence) == set(KPKEYS.proofs_on("x86_64", "")), variant
        for proof, found in evidence.items():
            assert found["outcome"] == KPKEYS.expected(variant, proof), proof


def test_all_variants_were_attacked_in_all_ways(written: Answer) -> None:
    for variant in VARIANTS:
        assert set(written.report["evidence"][variant]) == set(KINDS), variant


@variants
def test_every_proof_ends_as_expected(written: Answer, variant: str) -> None:
    wanted = "BLOCKED" if variant in PROTECTED else "VULNERABLE"
    for proof, found in written.report["evidence"][variant].items():
        assert KPKEYS.expected(variant, proof) == wanted
        assert found["outcome"] == wanted, f"{proof}: {found['reasons']}"


@variants
def test_not_one_write_ends_otherwise(written: Answer, variant: str) -> None:
    """Where one kind of table were of two sorts, one of them could hide the other."""
    for proof, found in written.report["evidence"][variant].items():
        tries = found["figures"]["tries"]
        landed = 0 if variant in PROTECTED else tries
        assert found["figures"]["landed"] == landed, proof


@variants
def test_pages_that_are_no_tables_any_more_can_be_written(
    written: Answer, variant: str
) -> None:
    freed = writes(written, variant)[kinds_of_the_program()["freed"]]
    assert freed[1] > 0
    assert freed[0] == 0


@variants
def test_no_page_fault_ends_for_want_of_a_table(written: Answer, variant: str) -> None:
    """Such a fault comes again, for ever, and nobody is killed for its memory."""
    boots = [boot for boot in written.run.boots if boot.facts.variant == variant]
    assert len(boots) == 1
    assert "invoked oom-killer" in boots[0].console
    # An attack has the allocator refuse pages, for which faults have to try again.
    before, _, _ = boots[0].console.partition("kpkeys: page without the key")
    assert "VM_FAULT_OOM leaked" not in before


def test_it_was_in_force_as_it_had_to_be(written: Answer) -> None:
    for variant, summary in written.report["in_force"].items():
        assert summary["checks"] == summary["agreed"] >= 2, variant
        assert summary["found"] is (variant in PROTECTED), variant
