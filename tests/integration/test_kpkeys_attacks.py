"""What kernels say while leaks of the right to write and bugs are tried on them.

A write can be stopped for reasons that have nothing to do with keys; the console
tells which it was.
"""

import re

import pytest
from lab import Answer, ask

from temper.catalog import feature_named

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1800)]

KPKEYS = feature_named("kpkeys").for_arch("x86_64")
LEAKS = {name for name, proof in KPKEYS.proofs.items() if proof.program == "level"}
LIMITS = {name for name, proof in KPKEYS.proofs.items() if proof.limit}
BUGS = {
    name
    for name, proof in KPKEYS.proofs.items()
    if proof.program == "privilege" and name not in LIMITS
}


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    which = (
        "--variants",
        "temper",
        "--proofs",
        ",".join(sorted(LEAKS | BUGS | LIMITS)),
    )
    return ask(tmp_path_factory.mktemp("attack"), "prove", "kpkeys", *which)


def console(attacked: Answer, variant: str) -> str:
    boots = [boot for boot in attacked.run.boots if boot.facts.variant == variant]
    assert len(boots) == 1
    return boots[0].console


def samples(proofs: set[str]) -> int:
    return sum(KPKEYS.proofs[name].samples for name in proofs)


def test_all_of_them_are_blocked(attacked: Answer) -> None:
    assert attacked.status == 0, attacked.output
    assert attacked.report["proven"] is True


@pytest.mark.parametrize("variant", ["off", "temper"])
@pytest.mark.parametrize("proof", sorted(LEAKS | BUGS))
def test_each_was_tried_as_often_as_asked(
    attacked: Answer, variant: str, proof: str
) -> None:
    figures = attacked.report["evidence"][variant][proof]["figures"]
    assert figures["tries"] == KPKEYS.proofs[proof].params["least"]
    assert figures["landed"] == (figures["tries"] if variant == "off" else 0)


@pytest.mark.parametrize("variant", ["off", "temper"])
def test_a_limit_lands_on_all(attacked: Answer, variant: str) -> None:
    assert {"file-vma"} == LIMITS
    figures = attacked.report["evidence"][variant]["file-vma"]["figures"]
    assert figures["landed"] == KPKEYS.proofs["file-vma"].samples


def test_who_uses_the_bug_dies_of_the_key(attacked: Answer) -> None:
    said = console(attacked, "temper")
    died = re.findall(r"BUG: .*\n.*\n.*error_code\((\w+)\)", said)
    assert died == ["0x0023"] * samples(BUGS)
    assert said.count("protection keys violation") == len(died)
    assert len(re.findall(r"RIP: 0010:kpkeys_write_ioctl", said)) >= len(died)


def test_nobody_dies_without_keys(attacked: Answer) -> None:
    said = console(attacked, "off")
    assert "BUG: " not in said
    assert "Oops" not in said


def test_what_was_left_open_is_found(attacked: Answer) -> None:
    said = console(attacked, "temper")
    assert "kpkeys: register was open (0x0," in said
    assert "kpkeys: register still open on return to user mode" in said
    assert "kpkeys: 1 sections left open" in said


def test_nothing_else_is_complained_of(attacked: Answer) -> None:
    where = re.findall(r"WARNING: .* at \S+ (\w+)\+", console(attacked, "temper"))
    on_purpose = [name for name in where if name == "by_warning"]
    found = set(where) - {"by_warning"}
    assert len(on_purpose) >= KPKEYS.proofs["warning"].samples
    assert found == {"kpkeys_put_away", "kpkeys_user_exit", "kpkeys_take_back"}
