"""Whether the attacks on page tables notice a kernel that protects them badly."""

from pathlib import Path

import pytest
from lab import Answer, ask

from temper.catalog import feature_named

pytestmark = [pytest.mark.integration, pytest.mark.timeout(3600)]

KPKEYS = feature_named("kpkeys")
# Sabotage -> the proofs that are there for it.
CAUGHT_BY = {
    "unkeyed-pte": {
        *("user-pte", "vmalloc-pte", "split"),
        *("fork", "kthread", "other-cpu"),
    },
    "unkeyed-pmd": {"user-pmd", "fork", "other-cpu"},
    "unkeyed-pud": {"user-pud", "fork", "other-cpu"},
    "unkeyed-p4d": {"user-p4d", "fork", "other-cpu"},
    "unkeyed-pgd": {"user-pgd", "fork"},
    "unkeyed-early": {
        *("kernel-pgd", "kernel-pud", "kernel-pmd", "vmemmap"),
        *("fixmap", "early", "image-alias", "boot"),
    },
    "unkeyed-alias": {"image-alias"},
    "entry-open": {"interrupt", "exception", "warning", "open-register"},
    "nmi-open": {"breakpoint", "nmi"},
    "switch-open": {"preempt", "sleep"},
    "guard-open": {"after", "after-others"},
    "no-notes": {"forged"},
}


# Attacks that only write or interrupt: in a kernel whose rights leak, one that runs out
# of memory as well can end before it was attacked.
PROGRAMS = {True: "writes", False: "level"}
OF_TABLES = {variant: variant.startswith("unkeyed-") for variant in CAUGHT_BY}


@pytest.fixture(scope="module")
def proved(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, Answer]:
    """Attacks on kernels with holes in the tables (True), and in the rights."""
    return {
        kind: attack(tmp_path_factory.mktemp("sabotage"), kind) for kind in PROGRAMS
    }


def attack(folder: Path, of_tables: bool) -> Answer:
    variants = [name for name, kind in OF_TABLES.items() if kind is of_tables]
    proofs = [
        name
        for name, proof in KPKEYS.proofs.items()
        if proof.program == PROGRAMS[of_tables]
    ]
    words = ("--variants", ",".join(["off", "none", *variants]))
    return ask(folder, "prove", "kpkeys", *words, "--proofs", ",".join(proofs))


def outcomes(answer: Answer, variant: str) -> dict[str, str]:
    found = answer.report["evidence"][variant]
    return {proof: found[proof]["outcome"] for proof in found}


@pytest.mark.parametrize("of_tables", [True, False], ids=["tables", "rights"])
def test_all_ends_as_expected(proved: dict[bool, Answer], of_tables: bool) -> None:
    answer = proved[of_tables]
    assert answer.report["as_expected"] is True, answer.output
    assert set(outcomes(answer, "none").values()) == {"BLOCKED"}


@pytest.mark.parametrize("variant", CAUGHT_BY)
def test_a_sabotage_is_caught_by_the_proof_for_it(
    proved: dict[bool, Answer], variant: str
) -> None:
    found = outcomes(proved[OF_TABLES[variant]], variant)
    missed = {p for p in CAUGHT_BY[variant] if found[p] != "VULNERABLE"}
    assert not missed


def test_all_sabotages_are_tried() -> None:
    assert set(KPKEYS.sabotages) == {*CAUGHT_BY, "none"}
