"""The catalogue: what a feature.toml must hold, and how it is told what it lacks."""

import io
import re
import shutil
import tomllib
from functools import partial
from pathlib import Path

import pytest
from pydantic import BaseModel
from rich.console import Console
from typer.testing import CliRunner
from unprivileged import run_python

from temper.catalog import (
    Feature,
    InForceCheck,
    Proof,
    Sabotaged,
    Variant,
    all_features,
    feature_named,
    feature_names,
    load_feature,
)
from temper.cli import app
from temper.errors import InputError
from temper.paths import FEATURES, REPOSITORY
from temper.record.outcome import Outcome
from temper.report.listings import print_feature

WHOLE = """\
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
program = "in_force"
module = "probe"

[variants.off]
title = "off"
cmdline = "shadow=off"
in_force = false
expect = "VULNERABLE"

[variants.on]
title = "on"
cmdline = "shadow=on"
patches = ["patches/6.12", "patches/extra"]
in_force = true
expect = "BLOCKED"

[proofs.overwrite]
title = "overwrite a return address"
program = "attack"
samples = 10
judge = "landed"

[proofs.replay]
title = "return to where it returned before"
program = "attack"
samples = 20
judge = "repeated"

[sabotages.hollow]
title = "on, doing nothing"
cmdline = "shadow=hollow"
in_force = true
expect = "VULNERABLE"
"""

JUDGES = """\
__all__ = ["landed", "repeated"]


def landed(samples, definitions, *, least: float = 1, most: float = 9):
    pass


def repeated(samples, definitions):
    pass
"""

FILES = (
    "proof/in_force.c",
    "proof/probe.c",
    "proof/attack.c",
    "patches/6.12/0002-second.patch",
    "patches/6.12/0001-first.patch",
    "patches/6.12/README",
    "patches/extra/0001-third.patch",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of a feature that lacks nothing."""
    folder = tmp_path / "features" / "shadow"
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    (folder / "feature.toml").write_text(WHOLE)
    (folder / "judges").mkdir()
    (folder / "judges" / "__init__.py").write_text(JUDGES)
    return folder


def complaint(folder: Path) -> InputError:
    with pytest.raises(InputError) as caught:
        load_feature(folder)
    return caught.value


def test_a_whole_feature_is_read(folder: Path) -> None:
    feature = load_feature(folder)
    assert feature.variants["on"].expect is Outcome.BLOCKED
    assert feature.variants["on"].config == ()
    assert feature.proofs["overwrite"].module == ""
    assert list(feature.all_variants) == ["off", "on", "hollow"]


def test_what_a_proof_must_find_is_one_outcome_or_one_of_each(folder: Path) -> None:
    split = 'expect = { overwrite = "VULNERABLE", replay = "UNSUPPORTED" }'
    (folder / "feature.toml").write_text(
        WHOLE.replace('expect = "VULNERABLE"', split, 1)
    )
    feature = load_feature(folder)
    assert feature.expected("off", "overwrite") is Outcome.VULNERABLE
    assert feature.expected("off", "replay") is Outcome.UNSUPPORTED
    assert feature.expected("on", "replay") is Outcome.BLOCKED


def test_a_star_stands_for_all_proofs_that_are_not_named(folder: Path) -> None:
    split = 'expect = { "*" = "VULNERABLE", replay = "UNSUPPORTED" }'
    (folder / "feature.toml").write_text(
        WHOLE.replace('expect = "VULNERABLE"', split, 1)
    )
    feature = load_feature(folder)
    assert feature.expected("off", "overwrite") is Outcome.VULNERABLE
    assert feature.expected("off", "replay") is Outcome.UNSUPPORTED


def test_a_proof_may_be_excepted_from_what_all_must_find(folder: Path) -> None:
    whole = 'expect = { "*" = "BLOCKED", replay = "any" }'
    (folder / "feature.toml").write_text(
        WHOLE.replace(
            'in_force = true\nexpect = "VULNERABLE"', f"in_force = true\n{whole}"
        )
    )
    feature = load_feature(folder)
    assert feature.expected("hollow", "overwrite") is Outcome.BLOCKED
    assert feature.expected("hollow", "replay") is None


def test_a_proof_that_nothing_must_fall_to_is_refused(folder: Path) -> None:
    split = 'expect = { overwrite = "VULNERABLE", replay = "UNSUPPORTED" }'
    (folder / "feature.toml").write_text(WHOLE.replace('expect = "VULNERABLE"', split))
    assert "no variant expects 'replay' to end VULNERABLE" in complaint(folder).message


def test_a_proof_may_be_for_some_architectures(folder: Path) -> None:
    (folder / "feature.toml").write_text(
        WHOLE.replace('["x86_64"]', '["x86_64", "arm64"]').replace(
            'judge = "repeated"', 'judge = "repeated"\narchitectures = ["x86_64"]'
        )
    )
    feature = load_feature(folder)
    assert list(feature.proofs_on("x86_64")) == ["overwrite", "replay"]
    assert list(feature.proofs_on("arm64")) == ["overwrite"]


def test_a_proof_may_need_a_setting(folder: Path) -> None:
    needy = 'judge = "repeated"\nsetting = "pseudo-nmi"'
    on_two = WHOLE.replace('["x86_64"]', '["x86_64", "arm64"]')
    text = on_two.replace('judge = "repeated"', needy)
    (folder / "feature.toml").write_text(text)
    feature = load_feature(folder)
    assert list(feature.proofs_on("arm64")) == ["overwrite"]
    assert list(feature.proofs_on("arm64", "pseudo-nmi")) == ["overwrite", "replay"]
    (folder / "feature.toml").write_text(text.replace("pseudo-nmi", "pseudo"))
    assert complaint(folder).message.endswith(
        "proof 'replay' needs the setting 'pseudo'; known: pseudo-nmi"
    )


ON_TWO = (
    WHOLE.replace('["x86_64"]', '["x86_64", "arm64"]').replace(
        "[in_force]",
        '[on.arm64]\nconfig = ["CONFIG_ARM=y"]\nmachine = "overlays"\n\n[in_force]',
    )
    + """
[variants.other]
title = "another CPU"
cmdline = ""
in_force = true
architectures = ["arm64"]
config = ["CONFIG_OTHER=y"]

[variants.on.on.x86_64]
config = ["CONFIG_X86=y"]
patches = ["patches/6.12"]
cpu = "max,+shadow"

[sabotage.on.arm64]
config = ["CONFIG_BROKEN=y"]
patches = ["patches/6.12"]

[sabotages.hollow.on.arm64]
config = ["CONFIG_HOLLOW=y"]
expect = { overwrite = "VULNERABLE" }
"""
)


def test_an_architecture_has_what_it_has_in_addition(folder: Path) -> None:
    (folder / "feature.toml").write_text(ON_TWO)
    feature = load_feature(folder)
    x86, arm = feature.for_arch("x86_64"), feature.for_arch("arm64")
    assert (x86.config, arm.config) == (
        ("CONFIG_SHADOW=y",),
        ("CONFIG_SHADOW=y", "CONFIG_ARM=y"),
    )
    assert (x86.machine_on("x86_64"), arm.machine_on("arm64")) == ("", "overlays")
    assert list(x86.variants) == ["off", "on"]
    assert list(arm.variants) == ["off", "on", "other"]
    assert x86.variants["on"].config == ("CONFIG_X86=y",)
    assert x86.variants["on"].cpu == "max,+shadow"
    assert x86.variants["on"].patches == ("patches/6.12",)
    assert arm.variants["on"].patches == ("patches/6.12", "patches/extra")
    assert (arm.variants["on"].config, arm.variants["on"].cpu) == ((), "")
    hollow = arm.sabotages["hollow"]
    assert hollow.config == ("CONFIG_BROKEN=y", "CONFIG_HOLLOW=y")
    assert hollow.patches == ("patches/6.12",)
    assert arm.expected("hollow", "overwrite") is Outcome.VULNERABLE
    assert arm.expected("hollow", "replay") is None
    assert x86.sabotages["hollow"].config == ()
    assert x86.expected("hollow", "replay") is Outcome.VULNERABLE


def test_what_an_architecture_has_is_added_once(folder: Path) -> None:
    (folder / "feature.toml").write_text(ON_TWO)
    once = load_feature(folder).for_arch("arm64")
    assert once.for_arch("arm64") == once


UNPROVEN = """\
name = "shadow"
title = "Shadow stack"
summary = "Return addresses are kept twice."
architectures = ["x86_64"]
series = "6.12"
config = ["CONFIG_SHADOW=y"]
baseline = "off"
workloads = ["syscall/getpid"]

[in_force]
program = "in_force"

[variants.off]
title = "off"
cmdline = "shadow=off"
in_force = false

[variants.on]
title = "on"
cmdline = "shadow=on"
in_force = true
"""


def test_a_feature_may_have_a_price_and_no_proof(folder: Path) -> None:
    (folder / "feature.toml").write_text(UNPROVEN)
    feature = load_feature(folder)
    assert feature.proofs == {}
    assert feature.target_programs == (feature.in_force,)
    assert feature.only(["off", "on"], ()).variants == feature.variants


@pytest.mark.parametrize(
    ("added", "message"),
    [
        ('control = "off"', "there is 'control', but no proof"),
        ('hardened = ["on"]', "there is 'hardened', but no proof"),
    ],
)
def test_roles_without_a_proof_are_refused(
    folder: Path, added: str, message: str
) -> None:
    (folder / "feature.toml").write_text(f"{added}\n{UNPROVEN}")
    assert message in complaint(folder).message


def test_an_outcome_without_a_proof_is_refused(folder: Path) -> None:
    (folder / "feature.toml").write_text(f'{UNPROVEN}expect = "BLOCKED"\n')
    assert "'on' expects an outcome, but there is no proof" in complaint(folder).message


def test_a_sabotage_without_a_proof_is_refused(folder: Path) -> None:
    hollow = '[sabotages.hollow]\ntitle = ""\ncmdline = ""\nin_force = true\n'
    (folder / "feature.toml").write_text(f"{UNPROVEN}\n{hollow}")
    assert "there is 'sabotages', but no proof" in complaint(folder).message


@pytest.mark.parametrize("role", ['control = "off"', 'hardened = ["on"]'])
def test_proofs_need_a_control_and_what_must_hold(folder: Path, role: str) -> None:
    (folder / "feature.toml").write_text(WHOLE.replace(f"{role}\n", ""))
    name = role.partition(" ")[0]
    assert f"there are proofs, but '{name}' is missing" in complaint(folder).message


SWITCH = """
[switches.x86_64]
title = "level switches"
counted_as = "kernel_wrmsr"
cycles = [20, 200.5]
source = "A Manual, chapter 3"
"""
READ = """
[[switches.x86_64.others]]
counted_as = "kernel_rdmsr"
cycles = [1, 100]
"""


def test_a_switch_is_read_for_its_architecture(folder: Path) -> None:
    assert load_feature(folder).switches == {}
    (folder / "feature.toml").write_text(WHOLE + SWITCH)
    [(arch, switch)] = load_feature(folder).switches.items()
    assert (arch, switch.title) == ("x86_64", "level switches")
    assert switch.counted_as == "kernel_wrmsr"
    assert switch.cycles == (20, 200.5)
    assert switch.source == "A Manual, chapter 3"
    assert (switch.borrowed, switch.others) == ("", ())
    (folder / "feature.toml").write_text(WHOLE + SWITCH + READ)
    [(other,)] = (each.others for each in load_feature(folder).switches.values())
    assert (other.counted_as, other.cycles) == ("kernel_rdmsr", (1, 100))


@pytest.mark.parametrize(
    ("stated", "wrong", "message"),
    [
        ("x86_64]", "arm64]", "switches are for ['arm64']"),
        ("[20, 200.5]", "[200.5, 20]", "cycles must be the least and the most"),
        ("[20, 200.5]", "[0, 20]", "cycles must be the least and the most"),
        ("[20, 200.5]", "[20, inf]", "cycles must be the least and the most"),
        ("[20, 200.5]", "[nan, nan]", "cycles must be the least and the most"),
        ("[20, 200.5]", "[20]", "switches.x86_64.cycles"),
        ('source = "A Manual, chapter 3"', "", "switches.x86_64.source"),
        ("level switches", "l" * 31, "switches.x86_64.title"),
    ],
)
def test_a_switch_that_makes_no_sense_is_refused(
    folder: Path, stated: str, wrong: str, message: str
) -> None:
    (folder / "feature.toml").write_text(WHOLE + SWITCH.replace(stated, wrong))
    assert message in complaint(folder).message


def test_a_part_keeps_the_order_and_what_must_hold_of_it(folder: Path) -> None:
    feature = load_feature(folder)
    part = feature.only({"hollow", "on", "off"}, ["replay"])
    assert list(part.all_variants) == ["off", "on", "hollow"]
    assert list(part.sabotages) == ["hollow"]
    assert list(part.proofs) == ["replay"]
    assert part.hardened == ("on",)
    assert part.target_programs == (feature.in_force, feature.proofs["replay"])
    assert feature.only(feature.all_variants, feature.proofs) == feature


OTHERS = """
[variants.old]
title = "old"
cmdline = "shadow=old"
in_force = true
expect = { replay = "BLOCKED" }

[variants.older]
title = "older"
cmdline = "shadow=older"
in_force = true
expect = { overwrite = "BLOCKED", replay = "VULNERABLE" }

[sabotages.none]
title = "not sabotaged"
cmdline = "shadow=none"
in_force = true
expect = "BLOCKED"
"""


@pytest.mark.parametrize(
    ("variants", "proofs", "hardened"),
    [
        (("off", "old", "older"), ("replay",), ("old",)),
        (("off", "old", "older"), ("overwrite",), ("older",)),
        # By one of the proofs nothing is expected, or the contrary.
        (("off", "old", "older"), ("overwrite", "replay"), ()),
        # The feature's own come before.
        (("off", "old", "on"), ("replay",), ("on",)),
        # The sabotage kernel is there for the attack only.
        (("off", "none", "hollow"), ("replay",), ()),
        (("off",), ("replay",), ()),
        (("off", "old"), (), ()),
    ],
)
def test_without_the_hardened_that_must_hold_which_is_expected_to(
    folder: Path,
    variants: tuple[str, ...],
    proofs: tuple[str, ...],
    hardened: tuple[str, ...],
) -> None:
    (folder / "feature.toml").write_text(WHOLE + OTHERS)
    assert load_feature(folder).only(variants, proofs).hardened == hardened


def test_a_part_of_what_is_not_there_is_refused(folder: Path) -> None:
    feature = load_feature(folder)
    for variants, proofs, message, hint in (
        (["off", "of"], [], "unknown variant 'of'", "known: off, on, hollow"),
        (["off"], ["raid"], "unknown proof 'raid'", "known: overwrite, replay"),
    ):
        with pytest.raises(InputError) as caught:
            feature.only(variants, proofs)
        assert (caught.value.message, caught.value.hint) == (message, hint)


def test_patches_come_in_the_order_of_folders_and_names(folder: Path) -> None:
    feature = load_feature(folder)
    assert feature.patches(feature.variants["off"]) == ()
    names = [
        str(path.relative_to(folder))
        for path in feature.patches(feature.variants["on"])
    ]
    assert names == [
        "patches/6.12/0001-first.patch",
        "patches/6.12/0002-second.patch",
        "patches/extra/0001-third.patch",
    ]


def test_a_variant_may_have_single_patches(folder: Path) -> None:
    toml = folder / "feature.toml"
    toml.write_text(
        toml.read_text().replace(
            '"patches/6.12", "patches/extra"',
            '"patches/6.12/0002-second.patch", "patches/extra"',
        )
    )
    feature = load_feature(folder)
    names = [path.name for path in feature.patches(feature.variants["on"])]
    assert names == ["0002-second.patch", "0001-third.patch"]


SABOTAGES = {
    "broken TOML": ('title = "off"', 'title = "off', "not TOML: Illegal character"),
    "unknown field": (
        'control = "off"',
        'control = "off"\ncolour = "red"',
        "colour: Extra inputs are not permitted",
    ),
    "unknown field of a variant": (
        'title = "off"',
        'title = "off"\ncolour = "red"',
        "variants.off.colour: Extra inputs are not permitted",
    ),
    "missing field": ('series = "6.12"\n', "", "series: Field required"),
    "missing field of a proof": (
        'judge = "landed"\n',
        "",
        "proofs.overwrite.judge: Field required",
    ),
    "wrong type": ("in_force = false", "in_force = 'maybe'", "variants.off.in_force"),
    "unknown outcome": (
        'expect = "BLOCKED"',
        'expect = "SAFE"',
        "Input should be 'VULNERABLE', 'DETECTED', 'BLOCKED' or 'UNSUPPORTED'",
    ),
    "no samples": (
        "samples = 10\n",
        "samples = 0\n",
        "proofs.overwrite.samples: Input should be greater than 0",
    ),
    "no architecture": ('["x86_64"]', "[]", "architectures: Tuple should have"),
    "no workload": ('["syscall/getpid"]', "[]", "workloads: Tuple should have"),
    "unknown baseline": (
        'baseline = "off"',
        'baseline = "of"',
        "baseline 'of' is not among the variants",
    ),
    "unknown control": (
        'control = "off"',
        'control = "hollow"',
        "control 'hollow' is not among the variants",
    ),
    "control that should hold": (
        'control = "off"',
        'control = "on"',
        "control 'on' must expect VULNERABLE",
    ),
    "unknown hardened": (
        'hardened = ["on"]',
        'hardened = ["hollow"]',
        "hardened 'hollow' is not among the variants",
    ),
    "none hardened": ('hardened = ["on"]', "hardened = []", "'hardened' is missing"),
    "hardened that should fall": (
        'hardened = ["on"]',
        'hardened = ["off"]',
        "hardened 'off' must expect BLOCKED",
    ),
    "hardened that falls to one proof": (
        'expect = "BLOCKED"',
        'expect = { overwrite = "BLOCKED", replay = "VULNERABLE" }',
        "hardened 'on' must expect BLOCKED",
    ),
    "control that one proof should not harm": (
        'in_force = false\nexpect = "VULNERABLE"',
        'in_force = false\nexpect = { overwrite = "VULNERABLE", replay = "BLOCKED" }',
        "control 'off' must expect VULNERABLE",
    ),
    "hardened without an expectation": (
        'expect = "BLOCKED"',
        'expect = { overwrite = "BLOCKED" }',
        "hardened 'on' must expect BLOCKED",
    ),
    "expectation of no proof": (
        'expect = "BLOCKED"',
        'expect = { overwrite = "BLOCKED", replay = "BLOCKED", raid = "BLOCKED" }',
        "expect of 'on': unknown proof 'raid'",
    ),
    "unknown outcome of a proof": (
        'expect = "BLOCKED"',
        'expect = { overwrite = "BLOCKED", replay = "SAFE" }',
        "Input should be 'VULNERABLE', 'DETECTED', 'BLOCKED' or 'UNSUPPORTED'",
    ),
    "sabotage that no proof notices": (
        'in_force = true\nexpect = "VULNERABLE"',
        'in_force = true\nexpect = { overwrite = "BLOCKED" }',
        "sabotage 'hollow' expects no proof to notice it",
    ),
    "sabotage that no proof applies to": (
        'in_force = true\nexpect = "VULNERABLE"',
        'in_force = true\nexpect = "UNSUPPORTED"',
        "sabotage 'hollow' expects no proof to notice it",
    ),
    "proof of another architecture": (
        'judge = "repeated"',
        'judge = "repeated"\narchitectures = ["x86_64", "arm64"]',
        "proof 'replay' is for ['arm64']",
    ),
    "variant of another architecture": (
        '[sabotages.hollow]\ntitle = "on, doing nothing"',
        '[sabotages.hollow]\ntitle = "on"\narchitectures = ["arm64"]',
        "'hollow' is for ['arm64']",
    ),
    "unknown proof on an architecture": (
        "[sabotages.hollow]",
        '[variants.on.on.x86_64]\nexpect = { replya = "BLOCKED" }\n[sabotages.hollow]',
        "expect of 'on': unknown proof 'replya'",
    ),
    "addition for another architecture": (
        "[in_force]",
        '[on.arm64]\nmachine = "overlays"\n\n[in_force]',
        "the table 'on' is for ['arm64']",
    ),
    "hardened variant of one architecture": (
        'title = "on"\n',
        'title = "on"\narchitectures = ["x86_64"]\n',
        "'on' has a role, so it is for all architectures",
    ),
    "sabotage named as a variant": (
        "[sabotages.hollow]",
        "[sabotages.on]",
        "both a variant and a sabotage: ['on']",
    ),
    "name of another folder": (
        'name = "shadow"',
        'name = "shade"',
        "name 'shade' differs from its folder's",
    ),
    "folder without patches": (
        '"patches/extra"',
        '"patches/6.18"',
        "variants.on.patches: patches/6.18 is no patch, and has none",
    ),
    "missing program of a proof": (
        'program = "attack"\nsamples = 20',
        'program = "raid"\nsamples = 20',
        "proofs.replay.program: proof/raid.c is missing",
    ),
    "missing module of a proof": (
        'program = "attack"\nsamples = 20',
        'program = "attack"\nmodule = "crowbar"\nsamples = 20',
        "proofs.replay.module: proof/crowbar.c is missing",
    ),
    "missing program of the in-force check": (
        'program = "in_force"',
        'program = "in_office"',
        "in_force.program: proof/in_office.c is missing",
    ),
    "missing module of the in-force check": (
        'module = "probe"',
        'module = "prod"',
        "in_force.module: proof/prod.c is missing",
    ),
    "missing patches of a sabotage": (
        "[sabotages.hollow]",
        '[sabotages.hollow]\npatches = ["proof/none"]',
        "sabotages.hollow.patches: proof/none is no patch, and has none",
    ),
    "missing program of the definition": (
        "[in_force]",
        '[definition]\nprogram = "claim"\n\n[in_force]',
        "definition.program: proof/claim.c is missing",
    ),
    "unknown judge": (
        'judge = "repeated"',
        'judge = "repeating"',
        "proofs.replay: unknown judge 'repeating'",
    ),
    "parameter that no judge takes": (
        'judge = "repeated"',
        'judge = "repeated"\nparams = { least = 1 }',
        "proofs.replay: judge 'repeated' takes no parameter 'least'",
    ),
    "text as a parameter": (
        'judge = "landed"',
        'judge = "landed"\nparams = { least = "1" }',
        "proofs.overwrite.params.least: Input should be a valid number",
    ),
    "truth as a parameter": (
        'judge = "landed"',
        'judge = "landed"\nparams = { least = true }',
        "proofs.overwrite.params.least: Input should be a valid number",
    ),
    "parameter that is no number": (
        'judge = "landed"',
        'judge = "landed"\nparams = { least = nan }',
        "proofs.overwrite.params.least: Input should be a finite number",
    ),
    "unknown workload": (
        '["syscall/getpid"]',
        '["syscall/getpid", "syscall/getpidd"]',
        "workloads: unknown workload 'syscall/getpidd'",
    ),
    "workload twice": (
        '["syscall/getpid"]',
        '["syscall/getpid", "syscall/getpid"]',
        "workloads: the workload 'syscall/getpid' is named 2 times",
    ),
    "unknown architecture": (
        '["x86_64"]',
        '["x86_64", "mips"]',
        "architectures.1: Value error, unknown architecture 'mips'; known: x86_64",
    ),
    "unknown architecture of a proof": (
        'judge = "repeated"',
        'judge = "repeated"\narchitectures = ["arm"]',
        "proofs.replay.architectures.0: Value error, unknown architecture 'arm'",
    ),
    "program outside the folder": (
        'program = "attack"\nsamples = 20',
        'program = "../../shadow/proof/attack"\nsamples = 20',
        "proofs.replay.program: Value error, '../../shadow/proof/attack' is not the "
        "name of a C file",
    ),
    "module outside the folder": (
        'module = "probe"',
        'module = "../proof/probe"',
        "in_force.module",
    ),
    "patches outside the folder": (
        '"patches/extra"',
        '"../shadow/patches/extra"',
        "variants.on.patches.1: Value error, '../shadow/patches/extra' is outside",
    ),
    "patches at the root": (
        '"patches/extra"',
        '"/patches"',
        "variants.on.patches.1: Value error, '/patches' is outside the feature's",
    ),
}


@pytest.mark.parametrize(
    ("whole", "broken", "message"), SABOTAGES.values(), ids=SABOTAGES.keys()
)
def test_what_is_wrong_is_named_with_its_file(
    folder: Path, whole: str, broken: str, message: str
) -> None:
    assert WHOLE.count(whole) == 1
    (folder / "feature.toml").write_text(WHOLE.replace(whole, broken))
    said = complaint(folder).message
    assert said.startswith(str(folder / "feature.toml"))
    assert message in said


def test_a_file_that_is_not_text_is_named(folder: Path) -> None:
    (folder / "feature.toml").write_bytes(b'name = "\xff"')
    assert complaint(folder).message.startswith(f"{folder}/feature.toml is not UTF-8")


def test_a_folder_in_the_place_of_the_file_is_named(folder: Path) -> None:
    (folder / "feature.toml").unlink()
    (folder / "feature.toml").mkdir()
    said = f"{folder}/feature.toml cannot be read: Is a directory"
    assert complaint(folder).message == said


LIST = """
import sys
from pathlib import Path
from temper import catalog

root = Path(sys.argv[1])
features, errors = catalog.all_features(root)
print(catalog.feature_names(root), [feature.name for feature in features])
print(*[error.message for error in errors])
"""


@pytest.mark.parametrize("closed", ["", "feature.toml"])
def test_a_feature_that_may_not_be_read_is_named_beside_the_others(
    folder: Path, closed: str
) -> None:
    other = folder.with_name("another")
    shutil.copytree(folder, other)
    (other / closed).chmod(0)
    try:
        done = run_python(LIST, folder.parent)
    finally:
        (other / closed).chmod(0o755)
    assert done.stderr == ""
    names, errors = done.stdout.splitlines()
    assert names == "['another', 'shadow'] ['shadow']"
    assert errors == f"{other}/feature.toml cannot be read: Permission denied"


def test_the_list_names_a_bad_feature_after_the_good_ones(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("broken", "worse"):
        folder.with_name(name).mkdir()
        (folder.with_name(name) / "feature.toml").write_text("name =")
    features = partial(all_features, folder.parent)
    monkeypatch.setattr("temper.catalog.all_features", features)
    done = CliRunner().invoke(app, ["features"])
    assert "shadow" in done.output
    assert isinstance(done.exception, InputError)
    assert done.exception.exit_code == 2
    for line, name in zip(
        done.exception.message.splitlines(), ("broken", "worse"), strict=True
    ):
        path = folder.with_name(name) / "feature.toml"
        assert line.startswith(f"{path} is not TOML: Invalid value")


def test_a_judge_that_lacks_a_parameter_is_told(folder: Path) -> None:
    needs = JUDGES.replace("least: float = 1", "least: float")
    (folder / "judges" / "__init__.py").write_text(needs)
    said = complaint(folder)
    assert (
        "proofs.overwrite: judge 'landed' lacks the parameter 'least'" in said.message
    )
    assert said.hint == "it takes: least, most"


@pytest.mark.parametrize("kind", ["int", "str", "list[float]"])
def test_a_judge_that_takes_more_than_numbers_is_refused(
    folder: Path, kind: str
) -> None:
    wants = JUDGES.replace("least: float = 1", f"least: {kind} = 1")
    (folder / "judges" / "__init__.py").write_text(wants)
    assert (
        "proofs.overwrite: judge 'landed' must take a float as 'least'"
        in complaint(folder).message
    )


def test_one_variant_is_not_enough(folder: Path) -> None:
    without = re.sub(r"\[variants\.on\](.|\n)*?(?=\[proofs)", "", WHOLE)
    (folder / "feature.toml").write_text(without)
    assert "variants: Dictionary should have at least 2" in complaint(folder).message


def test_a_folder_without_the_file_is_told_where_to_read(folder: Path) -> None:
    (folder / "feature.toml").unlink()
    said = complaint(folder)
    assert said.message == f"{folder}/feature.toml is missing"
    assert "docs/adding-a-feature.md" in said.hint


def test_features_are_found_by_name(folder: Path) -> None:
    (folder.parent / "notes").mkdir()
    assert feature_names(folder.parent) == ["shadow"]
    assert feature_named("shadow", folder.parent).folder == folder


def test_an_unknown_feature_lists_the_known(folder: Path) -> None:
    with pytest.raises(InputError) as caught:
        feature_named("shade", folder.parent)
    assert caught.value.message == "unknown feature 'shade'"
    assert caught.value.hint == "known features: shadow"


def test_an_empty_catalogue_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        feature_named("shadow", tmp_path)
    assert caught.value.hint == "known features: none"


@pytest.mark.parametrize("name", feature_names())
def test_the_features_that_are_shipped_are_whole(name: str) -> None:
    assert load_feature(FEATURES / name).name == name


def test_sabotages_have_what_all_of_them_have() -> None:
    kstack = feature_named("kstack")
    read = tomllib.loads((kstack.folder / "feature.toml").read_text())
    for name, own in read["sabotages"].items():
        whole = kstack.sabotages[name]
        assert whole.patches == (*read["sabotage"]["patches"], *own.get("patches", ()))
        assert whole.config == (*read["sabotage"]["config"], *own.get("config", ()))
        assert whole.cmdline == f"{read['sabotage']['cmdline']} {own['cmdline']}"
        assert whole.title == own["title"]


def test_a_sabotage_may_add_to_what_all_have() -> None:
    shared = Sabotaged(patches=("a",), config=("CONFIG_A=y",), cmdline="a")
    own = Variant(
        title="t",
        cmdline="b",
        in_force=True,
        patches=("b",),
        config=("CONFIG_B=y",),
        cpu="max",
    )
    assert shared.shared_by(own) == own.model_copy(
        update={
            "patches": ("a", "b"),
            "config": ("CONFIG_A=y", "CONFIG_B=y"),
            "cmdline": "a b",
        }
    )


LIMITED = WHOLE.replace('judge = "repeated"', 'judge = "repeated"\nlimit = true')


def with_limit(folder: Path, *changes: tuple[str, str]) -> Feature:
    """Read the feature whose proof ``replay`` is a limit, with changes to the file."""
    write_with_limit(folder, *changes)
    return load_feature(folder)


def write_with_limit(folder: Path, *changes: tuple[str, str]) -> None:
    text = LIMITED
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    (folder / "feature.toml").write_text(text)


ON, STARRED = 'expect = "BLOCKED"', 'expect = { "*" = "BLOCKED" }'


@pytest.mark.parametrize("expect", [ON, STARRED])
def test_a_limit_lands_on_all_variants_that_do_not_name_it(
    folder: Path, expect: str
) -> None:
    feature = with_limit(folder, (ON, expect))
    assert feature.expected("off", "replay") is Outcome.VULNERABLE
    assert feature.expected("on", "replay") is Outcome.VULNERABLE
    assert feature.expected("on", "overwrite") is Outcome.BLOCKED
    named = 'expect = { "*" = "BLOCKED", replay = "UNSUPPORTED" }'
    feature = with_limit(folder, (ON, named))
    assert feature.expected("on", "replay") is Outcome.UNSUPPORTED


HOLLOW = 'in_force = true\nexpect = "VULNERABLE"\n'
SOUND = """
[sabotages.none]
title = "not sabotaged"
cmdline = "shadow=none"
in_force = true
"""


@pytest.mark.parametrize(
    ("expect", "wanted"),
    [
        (ON, None),
        (STARRED, None),
        (
            'expect = { overwrite = "BLOCKED", replay = "VULNERABLE" }',
            Outcome.VULNERABLE,
        ),
    ],
)
def test_nothing_is_expected_of_a_limit_on_a_sabotage_that_does_not_name_it(
    folder: Path, expect: str, wanted: Outcome | None
) -> None:
    feature = with_limit(folder, (HOLLOW, f"{HOLLOW}{SOUND}{expect}\n"))
    assert feature.expected("none", "replay") is wanted
    assert feature.expected("hollow", "replay") is None
    assert feature.expected("hollow", "overwrite") is Outcome.VULNERABLE


def test_an_attack_need_not_apply_to_a_sabotage_that_breaks_nothing(
    folder: Path,
) -> None:
    path = folder / "feature.toml"
    whole = '{ overwrite = "BLOCKED", replay = "UNSUPPORTED" }'
    path.write_text(f"{path.read_text()}{SOUND}expect = {whole}\n")
    assert load_feature(folder).expected("none", "replay") is Outcome.UNSUPPORTED


def test_a_limit_notices_no_sabotage(folder: Path) -> None:
    only = HOLLOW.replace('"VULNERABLE"', '{ replay = "VULNERABLE" }')
    write_with_limit(folder, (HOLLOW, only))
    said = complaint(folder).message
    assert "sabotage 'hollow' expects no proof to notice it" in said


def test_a_control_may_expect_of_a_limit_what_it_likes(folder: Path) -> None:
    off = 'expect = { overwrite = "VULNERABLE", replay = "BLOCKED" }'
    assert with_limit(folder, ('expect = "VULNERABLE"', off)).control == "off"


def test_what_a_hardened_variant_stops_is_no_limit(folder: Path) -> None:
    named = 'expect = { overwrite = "BLOCKED", replay = "BLOCKED" }'
    write_with_limit(folder, (ON, named))
    said = complaint(folder).message
    assert "proof 'replay' is no limit: 'on' expects BLOCKED" in said


def test_limits_alone_are_no_proofs(folder: Path) -> None:
    write_with_limit(folder, ('judge = "landed"', 'judge = "landed"\nlimit = true'))
    said = complaint(folder).message
    assert "every proof is a limit, so there is nothing to prove" in said


OLD = """
[variants.old]
title = "old"
cmdline = "shadow=old"
in_force = true
expect = "BLOCKED"
"""


def test_what_must_hold_does_so_whatever_limits_say(folder: Path) -> None:
    feature = with_limit(folder, ("[proofs.overwrite]", f"{OLD}\n[proofs.overwrite]"))
    assert feature.only(("off", "old"), feature.proofs).hardened == ("old",)
    assert feature.only(("off", "on"), feature.proofs).hardened == ("on",)
    # Limits alone say of nothing that it must hold.
    assert feature.only(("off", "on", "old"), ("replay",)).hardened == ()


def shown(feature: Feature) -> str:
    """Return what is printed of a feature, in one line."""
    out = io.StringIO()
    print_feature(Console(file=out, width=80), feature)
    return " ".join(out.getvalue().split())


def test_a_feature_is_shown_with_its_limits(folder: Path) -> None:
    assert "limit" not in shown(load_feature(folder))
    said = shown(with_limit(folder))
    assert "replay (limit) return to where" in said
    assert "(limit): shadow does not claim to stop this attack." in said
    assert "overwrite (limit)" not in said


@pytest.mark.parametrize("model", [Feature, Variant, Sabotaged, InForceCheck, Proof])
def test_every_field_is_explained(model: type[BaseModel]) -> None:
    page = (REPOSITORY / "docs" / "adding-a-feature.md").read_text()
    explained = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    assert model.model_fields.keys() - {"folder"} <= set(explained)


def test_a_control_must_be_expected_to_fall_to_every_attack() -> None:
    kstack = feature_named("kstack")
    partly = kstack.variants["off"].model_copy(
        update={"expect": {"prediction": Outcome.VULNERABLE}}
    )
    changed = kstack.model_copy(update={"variants": {"off": partly, "stock": partly}})
    with pytest.raises(InputError, match="stock is no control"):
        changed.against(control="stock")
