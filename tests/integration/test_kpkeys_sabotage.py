"""Whether the attacks on page tables notice a kernel that protects them badly."""

import re

import pytest
from lab import Answer, ask

from temper.catalog import feature_named

pytestmark = [
    pytest.mark.integration,
    pytest.mark.check_all,
    pytest.mark.timeout(3600),
]

KPKEYS = feature_named("kpkeys").for_arch("x86_64")
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
        *("fixmap", "early", "image-alias", "boot", "gigabyte"),
    },
    "unkeyed-alias": {"image-alias"},
    "entry-open": {"interrupt", "exception", "warning"},
    "nmi-open": {"breakpoint", "nmi", "debug"},
    "debug-open": {"debug"},
    "fault-open": {"user-pte", "boot", "after", "records"},
    "switch-open": {"preempt", "sleep"},
    "guard-open": {"after", "after-others"},
    "nested-open": {"nested", "vmalloc-inside"},
    "call-open": {"called"},
    "count-open": {"counted"},
    "replug-open": {"replugged"},
    "filemap-open": {"file-fault"},
    "unkeyed-records": {"records", "held-open"},
    "open-pool": {"records", "forged-pool"},
    "unkeyed-loose": {
        *("user-pte", "user-pmd", "user-pud", "user-p4d", "vmalloc-pte"),
        *("split", "kernel-split", "fork", "kthread", "other-cpu"),
    },
}
NOT_SABOTAGED = ("none", "no-blocks")
# Writes do not land, but not because of the key.
READ_ONLY = "read-only-alias"


# Those that sabotages are for; test_kpkeys_proof and test_kpkeys_attacks have all.
PROOFS = [
    name
    for name, proof in KPKEYS.proofs.items()
    if proof.program in ("writes", "level", "records", "count")
]


@pytest.fixture(scope="module")
def proved(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    words = ("--variants", "off", "--proofs", ",".join(PROOFS), "--sabotage")
    return ask(tmp_path_factory.mktemp("sabotage"), "prove", "kpkeys", *words)


def outcomes(proved: Answer, variant: str) -> dict[str, str]:
    found = proved.report["evidence"][variant]
    return {proof: found[proof]["outcome"] for proof in found}


def test_all_ends_as_expected(proved: Answer) -> None:
    assert proved.report["as_expected"] is True, proved.output
    for variant in NOT_SABOTAGED:
        assert outcomes(proved, variant) == dict.fromkeys(PROOFS, "BLOCKED"), variant


@pytest.mark.parametrize("variant", CAUGHT_BY)
def test_a_sabotage_is_caught_by_the_proof_for_it(proved: Answer, variant: str) -> None:
    found = outcomes(proved, variant)
    missed = {p for p in CAUGHT_BY[variant] if found[p] != "VULNERABLE"}
    assert not missed


def test_what_is_merely_read_only_is_not_blocked(proved: Answer) -> None:
    found = outcomes(proved, READ_ONLY)
    others = [proof for proof in PROOFS if proof != "image-alias"]
    assert found == {**dict.fromkeys(others, "BLOCKED"), "image-alias": "UNSUPPORTED"}
    (why,) = proved.report["evidence"][READ_ONLY]["image-alias"]["reasons"]
    told = re.fullmatch(
        r"of (\d+) writes, (\d+) faulted, but not by the key "
        r"\(the page is read-only: error code 0x3\)",
        why,
    )
    assert told, why
    assert told[1] == told[2]


def test_all_sabotages_are_tried() -> None:
    assert set(KPKEYS.sabotages) == {*CAUGHT_BY, *NOT_SABOTAGED, READ_ONLY}
