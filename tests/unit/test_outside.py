"""What is said of attacks from outside, before they are made."""

import shutil
from pathlib import Path

import pytest
from kernels import X86_64, fake_source
from pydantic import ValidationError

from made_up import run_plan
from temper.catalog import Feature, feature_named, load_feature
from temper.digest import code_digest
from temper.errors import InputError
from temper.extension import attack_named, outside_of
from temper.kernel import Cache
from temper.record.plan import Kind, Outside, ProofPlan, RunPlan
from temper.run.planner import Planner

CODE = """\
from .landing import HITS

__all__ = ["nmi", "number"]
number = 3


def nmi(target):
    yield "hits", HITS
"""
PROOF = """\
[proofs.interrupted]
title = "interrupt it everywhere"
program = "attack"
samples = 3
judge = "landed"
"""
WHOLE = f"""\
name = "shadow"
title = "Shadow stack"
summary = "Return addresses are kept twice."
architectures = ["x86_64"]
series = "6.12"
config = ["CONFIG_SHADOW=y"]
baseline = "off"
control = "off"
hardened = ["on"]
workloads = ["syscall/getpid"]

[in_force]
program = "attack"

[variants.off]
title = "off"
cmdline = "shadow=off"
in_force = false
expect = "VULNERABLE"

[variants.on]
title = "on"
cmdline = "shadow=on"
in_force = true
expect = "BLOCKED"

{PROOF}"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of a feature that is attacked from outside."""
    folder = tmp_path / "features" / "shadow"
    for name, content in {
        "proof/attack.c": "",
        "judges/__init__.py": '__all__ = ["landed"]\ndef landed(*_): pass\n',
        "outside/__init__.py": CODE,
        "outside/landing.py": "HITS = [7]\n",
        "feature.toml": f'{WHOLE}outside = "nmi"\n',
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder


def complaint(folder: Path) -> tuple[str, str]:
    with pytest.raises(InputError) as caught:
        load_feature(folder)
    return caught.value.message, caught.value.hint


def test_an_attack_is_loaded_from_the_features_folder(folder: Path) -> None:
    assert outside_of(folder) == folder / "outside"
    assert list(attack_named(folder / "outside", "nmi")(None)) == [("hits", [7])]


def test_a_proof_may_attack_from_outside(folder: Path) -> None:
    assert load_feature(folder).proofs["interrupted"].outside == "nmi"
    (folder / "feature.toml").write_text(WHOLE)
    shutil.rmtree(folder / "outside")
    assert load_feature(folder).proofs["interrupted"].outside == ""


def test_an_unknown_attack_is_refused_with_those_there_are(folder: Path) -> None:
    (folder / "feature.toml").write_text(f'{WHOLE}outside = "irq"\n')
    assert complaint(folder) == (
        f"{folder}/feature.toml: proofs.interrupted: unknown attack 'irq'",
        f"known in {folder}/outside: nmi, number",
    )


def test_an_attack_that_is_no_function_is_refused(folder: Path) -> None:
    (folder / "feature.toml").write_text(f'{WHOLE}outside = "number"\n')
    said, _ = complaint(folder)
    assert said == (
        f"{folder}/feature.toml: proofs.interrupted: attack 'number' in "
        f"{folder}/outside is no function"
    )


def test_a_feature_without_attacks_from_outside_is_told(folder: Path) -> None:
    shutil.rmtree(folder / "outside")
    said, hint = complaint(folder)
    assert said == (
        f"{folder}/feature.toml: proofs.interrupted: unknown attack 'nmi': "
        f"{folder}/outside/__init__.py is missing"
    )
    assert hint.startswith("docs/adding-a-feature.md")


def test_twins_are_not_attacked_from_outside(folder: Path) -> None:
    (folder / "feature.toml").write_text(f'{WHOLE}outside = "nmi"\ntwins = true\n')
    said, _ = complaint(folder)
    assert said == (
        f"{folder}/feature.toml: proofs.interrupted: twins have no debugger"
    )


def test_an_attack_from_outside_has_a_run_of_its_program_to_itself(
    folder: Path,
) -> None:
    """Its program also learns what attacks it."""
    assert load_feature(folder).proofs["interrupted"].line == "attack 3 nmi"


def planned(tmp_path: Path, feature: Feature) -> RunPlan:
    source = fake_source(tmp_path / "linux")
    return Planner(X86_64, Cache(tmp_path / "cache"), source).prove(feature)


def test_a_plan_says_what_attacks_from_outside(tmp_path: Path) -> None:
    feature = feature_named("kstack")
    code = tmp_path / "outside"
    code.mkdir()
    (code / "__init__.py").write_text(CODE)
    (code / "landing.py").write_text("HITS = [7]\n")
    attacked = feature.proofs["prediction"].model_copy(update={"outside": "nmi"})
    proofs = {**feature.proofs, "prediction": attacked}
    changes = {"proofs": proofs, "folder": tmp_path}
    shutil.copytree(feature.folder, tmp_path, dirs_exist_ok=True)
    plan = planned(tmp_path, feature.model_copy(update=changes))
    assert plan.outside == Outside(folder=str(code), digest=code_digest(code))
    outsides = {name: proof.outside for name, proof in plan.proofs.items()}
    assert outsides.pop("prediction") == "nmi"
    assert set(outsides.values()) == {""}


def test_a_plan_in_which_nothing_attacks_from_outside_says_nothing(
    tmp_path: Path,
) -> None:
    plan = planned(tmp_path, feature_named("kstack"))
    assert plan.outside is None
    assert {proof.outside for proof in plan.proofs.values()} == {""}


def prove(outside: str, code: Outside | None) -> RunPlan:
    proof = ProofPlan(title="", line="x 1", judge="", params={}, outside=outside)
    return run_plan(kind=Kind.PROVE, control="off", proofs={"one": proof}, outside=code)


def test_a_plan_without_the_code_of_its_attacks_is_refused() -> None:
    code = Outside(folder="features/shadow/outside", digest="0")
    assert prove("nmi", code).outside == code
    assert prove("", None).outside is None
    with pytest.raises(ValidationError, match="a proof attacks from outside, but noth"):
        prove("nmi", None)


def test_old_plans_had_no_attacks_from_outside() -> None:
    old = prove("", None).model_dump(mode="json")
    del old["outside"]
    del old["proofs"]["one"]["outside"]
    assert RunPlan.model_validate(old) == prove("", None)
