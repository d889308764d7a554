"""Whether the attacks on page tables notice a kernel that protects them badly."""

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


@pytest.fixture(scope="module")
def proved(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    folder = tmp_path_factory.mktemp("sabotage")
    return ask(folder, "prove", "kpkeys", "--variants", "off", "--sabotage")


def outcomes(proved: Answer, variant: str) -> dict[str, str]:
    found = proved.report["evidence"][variant]
    return {proof: found[proof]["outcome"] for proof in found}


def test_all_of_them_were_tried(proved: Answer) -> None:
    assert proved.report["as_expected"] is True, proved.output
    assert set(proved.report["sabotages"]) == {*CAUGHT_BY, "none"}


@pytest.mark.parametrize("variant", CAUGHT_BY)
def test_a_sabotage_is_caught_by_the_proof_for_it(proved: Answer, variant: str) -> None:
    found = outcomes(proved, variant)
    missed = {p for p in CAUGHT_BY[variant] if found[p] != "VULNERABLE"}
    assert not missed


def test_the_sabotage_kernel_holds_without_a_sabotage(proved: Answer) -> None:
    assert set(outcomes(proved, "none").values()) <= {"BLOCKED", "UNSUPPORTED"}


# Not unkeyed-early: the table that the attacks on the level write to is of early boot.
@pytest.mark.parametrize("variant", sorted(CAUGHT_BY.keys() - {"unkeyed-early"}))
def test_a_sabotage_is_of_one_thing(proved: Answer, variant: str) -> None:
    """A hole in the tables is none in the rights, and the other way round."""
    of_tables = variant.startswith("unkeyed-")
    others = "level" if of_tables else "writes"
    found = outcomes(proved, variant)
    landed = {p for p, outcome in found.items() if outcome == "VULNERABLE"}
    assert not [p for p in landed if KPKEYS.proofs[p].program == others]
