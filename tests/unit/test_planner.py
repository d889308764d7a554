"""Plans of runs, for kernels in name only."""

import json
import shutil
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from kernels import FAKE_KERNEL, fake_source
from pydantic import ValidationError

from made_up import run_plan
from temper import workloads as table
from temper.arch import Arch, arch_named
from temper.catalog import Feature, Variant, feature_named
from temper.digest import digest
from temper.errors import InfraError, InputError
from temper.kernel import Cache, Source, find_source, given
from temper.kernel.compiler import compiler_major
from temper.kernel.package import Package
from temper.machine import DEFAULT_KIND
from temper.record.outcome import Outcome
from temper.record.plan import Kind, RunPlan, Slot, VariantPlan
from temper.record.plan import Package as DebianPackage
from temper.run import planner, programs
from temper.run.planner import Planner
from temper.workloads import TARGET

X86_64 = arch_named("x86_64")
ARM64 = arch_named("arm64")
WHOLE = feature_named("kstack")
FAKE_MAKEFILE = (FAKE_KERNEL / "Makefile").read_text()
BZIMAGE = bytes(0x202) + b"HdrS" + bytes(100)
VMLINUX = b"\x7fELF" + bytes(12) + b"\2\0\x3e\0" + bytes(600)
A_PROGRAM = b"\x7fELF" + bytes(12) + b"\3\0\x3e\0" + bytes(600)


SCRIPTS = {
    "folder": "features/made-up/events",
    "digest": "",
    "by_variant": {"off": "reboot", "stock": "reboot"},
}


def small(feature: Feature) -> Feature:
    """Leave two variants and one proof, so that plans can be looked over."""
    variants = {name: feature.variants[name] for name in ("off", "stock")}
    proofs = {"prediction": feature.proofs["prediction"]}
    return feature.model_copy(update={"variants": variants, "proofs": proofs})


class Bench:
    """A planner of runs on a fake kernel, and a feature to plan for."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.source = fake_source(root / "linux")
        self.planner = Planner(X86_64, Cache(root / "cache"), self.source)
        self.feature = small(WHOLE)

    def price(self) -> RunPlan:
        return self.planner.price(self.feature, 1000)

    def change(self, variant: str, **changes: object) -> None:
        changed = self.feature.variants[variant].model_copy(update=changes)
        variants = {**self.feature.variants, variant: changed}
        self.feature = self.feature.model_copy(update={"variants": variants})

    def image(self, name: str, content: bytes = BZIMAGE) -> Path:
        path = self.root / name
        path.write_bytes(content)
        return path


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a copy of target/ in its place, to be changed."""
    copy = tmp_path / "target"
    shutil.copytree(TARGET, copy)
    for module in (programs, table):
        monkeypatch.setattr(module, "TARGET", copy)
    return copy


def command(plan: RunPlan) -> str:
    """Return its command without the source, which a test has of its own."""
    return plan.command.partition(" --source ")[0]


def slots(*names: tuple[str, int]) -> tuple[Slot, ...]:
    return tuple(Slot(variant=variant, repeat=repeat) for variant, repeat in names)


def test_a_price_boots_each_variant_twice_in_turns(bench: Bench) -> None:
    plan = bench.price()
    assert (plan.kind, plan.feature, plan.baseline) == (Kind.PRICE, "kstack", "off")
    assert plan.slots == slots(("off", 0), ("stock", 0), ("off", 1), ("stock", 1))
    assert [each.in_force for each in plan.variants.values()] == [False, True]
    assert plan.calls == 1000
    assert command(plan) == "temper price kstack --calls 1000 --layouts 1 --arch x86_64"


def test_further_layouts_are_booted_once_each_and_are_the_same_in_every_run(
    bench: Bench,
) -> None:
    plan = bench.planner.price(bench.feature, 1000, layouts=3)
    assert plan.slots[:4] == bench.price().slots
    assert plan.slots[4:] == slots(("off", 2), ("stock", 2), ("off", 3), ("stock", 3))
    assert plan.layouts.keys() == {2, 3}
    more = bench.planner.price(bench.feature, 1000, layouts=9).layouts
    assert {repeat: more[repeat] for repeat in plan.layouts} == plan.layouts
    assert len({each.seed for each in more.values()}) == 8
    assert len({each.spacer for each in more.values()}) == 8
    assert command(plan).endswith(" --layouts 3 --arch x86_64")
    kernels = {"A": (bench.image("bzImage"), ""), "B": (bench.image("bzImage"), "")}
    compared = bench.planner.compare(kernels, ("syscall/getpid",), 1000, layouts=3)
    assert compared.layouts == plan.layouts
    assert [(slot.variant, slot.repeat) for slot in compared.slots[4:]] == [
        ("A", 2),
        ("B", 2),
        ("A", 3),
        ("B", 3),
    ]
    assert " --calls 1000 --layouts 3 " in compared.command


@dataclass(frozen=True)
class FakeApt:
    """Has whatever package is asked for, and others that those depend on."""

    others: Collection[str] = ()

    def resolve(self, names: set[str]) -> tuple[DebianPackage, ...]:
        return tuple(
            DebianPackage(name=name, version="1", digest="0" * 64)
            for name in sorted(names | set(self.others))
        )


def test_packages_come_from_where_the_user_says(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(planner, "apt_for", lambda *_: FakeApt())
    file = tmp_path / "old.list"
    file.write_text("deb http://nowhere old main\n")
    bench.planner = replace(bench.planner, packages_from=file)
    plan = bench.planner.price(bench.feature, 1000, names=("db/redis-get",))
    assert plan.work.root
    assert plan.work.root.sources == file.read_text()
    assert f" --packages {file}" in plan.command
    # No package is needed, so none of this matters.
    file.unlink()
    assert bench.price().work.root is None


@pytest.mark.parametrize("content", [None, b"\n", b"\xff"])
def test_a_file_that_names_no_sources_is_refused(
    content: bytes | None, bench: Bench, tmp_path: Path
) -> None:
    file = tmp_path / "old.list"
    if content is not None:
        file.write_bytes(content)
    bench.planner = replace(bench.planner, packages_from=file)
    with pytest.raises(InputError, match="sources") as caught:
        bench.planner.price(bench.feature, 1000, names=("db/redis-get",))
    assert caught.value.hint.startswith("give a file like those in /etc/apt")


@pytest.mark.parametrize("repeated", [False, True])
def test_workloads_that_are_named_replace_those_of_the_feature(
    repeated: bool, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def apt_for(arch: Arch, _cache: Cache, sources: str) -> FakeApt:
        asked.append(arch.name)
        assert not sources
        return FakeApt()

    monkeypatch.setattr(planner, "apt_for", apt_for)
    assert bench.price().work.root is None
    assert asked == []
    names = ("db/redis-get", "ctx/pipe", *(["db/redis-set"] if repeated else []))
    plan = bench.planner.price(bench.feature, 1000, names=names)
    assert asked == ["x86_64"]
    runs = [line.split()[2] for line in plan.work.job if line.startswith("run real ")]
    assert runs == [name for name in names if name.startswith("db/")]
    assert not [line for line in plan.work.job if "getppid" in line]
    assert plan.work.root
    packages = [package.name for package in plan.work.root.packages]
    assert packages == ["redis-server", "redis-tools"]
    assert plan.work.root.programs == (
        "/usr/bin/redis-benchmark",
        "/usr/bin/redis-cli",
        "/usr/bin/redis-server",
    )
    assert {f"commands/{name}" for name in runs} <= plan.work.texts.keys()
    options = " ".join(f"--workload {name}" for name in names)
    assert f" {options} --calls 1000 " in plan.command


def test_an_unknown_workload_has_no_price(bench: Bench) -> None:
    with pytest.raises(InputError, match="unknown workload 'db/nosuch'"):
        bench.planner.price(bench.feature, 1000, names=("db/nosuch",))


def test_no_layout_at_all_is_refused(bench: Bench) -> None:
    with pytest.raises(InputError, match="0 layouts are too few"):
        bench.planner.price(bench.feature, 1000, layouts=0)


def test_a_price_checks_around_every_workload(bench: Bench) -> None:
    plan = bench.price()
    for name, variant in plan.variants.items():
        assert variant.cmdline == bench.feature.variants[name].cmdline
    assert (plan.work.exact, plan.work.cpus) == (True, 1)
    assert plan.work.job == (
        "settle 3",
        "module kstack_probe",
        "run in_force",
        "run syscall getpid 1000 100",
        "run in_force",
        "run syscall getppid 1000 100",
        "run in_force",
        "run syscall invalid 1000 100",
        "run in_force",
        "run ctx pipe 100 10",
        "run in_force",
    )
    assert plan.program_count(plan.slots[0]) == 9
    # No attack: the kernel itself would start some of them.
    assert packed(plan) == ["init", "syscall", "ctx", "in_force", "kstack_probe.c"]


def packed(plan: RunPlan) -> list[str]:
    """Return what goes into the initramfs, modules by their sources."""
    return [
        *(name for programs in plan.work.programs for name in programs.wanted),
        *(Path(module.source).name for module in plan.work.modules),
    ]


def test_a_proof_boots_each_variant_once(bench: Bench) -> None:
    plan = bench.planner.prove(bench.feature)
    assert (plan.kind, plan.control) == (Kind.PROVE, "off")
    assert plan.slots == slots(("off", 0), ("stock", 0))
    assert command(plan) == "temper prove kstack --arch x86_64"
    assert plan.work.job == (
        "module kstack_probe",
        "run in_force",
        "run displacement",
        "run attack 100000",
        "run in_force",
    )
    assert plan.definitions == ("displacement",)
    assert packed(plan) == [
        *("init", "in_force", "displacement", "attack", "kstack_probe.c")
    ]
    assert (plan.work.exact, plan.work.cpus) == (False, 2)


def test_a_plan_says_all_that_its_verdict_depends_on(bench: Bench) -> None:
    plan = bench.planner.prove(WHOLE, ("stock", "lfsr", "none"))
    assert plan.title == WHOLE.title
    # Ours is left out: what has to hold is what all proofs expect to.
    assert plan.hardened == ()
    assert plan.variants["stock"].expect == {
        "across-tasks": Outcome.BLOCKED,
        "early": Outcome.BLOCKED,
    }
    assert set(plan.variants["off"].expect.values()) == {Outcome.VULNERABLE}
    assert plan.variants["none"].sabotage
    assert not plan.variants["stock"].sabotage
    told = {name: (p.line, p.judge, p.params) for name, p in plan.proofs.items()}
    assert told == {
        name: (p.line, p.judge, p.params) for name, p in WHOLE.proofs.items()
    }
    assert plan.variants_left_out == ("floor", "temper", "temper-off")
    assert bench.planner.prove(WHOLE).hardened == WHOLE.hardened


def test_proofs_of_the_architecture_run_each_attack_once(bench: Bench) -> None:
    proof = bench.feature.proofs["prediction"]
    more = {
        "again": proof,
        "longer": proof.model_copy(update={"samples": 200_000}),
        "elsewhere": proof.model_copy(
            update={"samples": 7, "architectures": ("arm64",)}
        ),
    }
    feature = bench.feature.model_copy(update={"proofs": {"prediction": proof, **more}})
    plan = bench.planner.prove(feature)
    assert plan.work.job == (
        "module kstack_probe",
        "run in_force",
        "run displacement",
        "run attack 100000",
        "run in_force",
        "run attack 200000",
        "run in_force",
    )


def test_twins_are_booted_where_a_proof_compares_them(bench: Bench) -> None:
    names = ("off", "stock", "time-seed")
    plan = bench.planner.prove(WHOLE, names, ("prediction", "twins"))
    once = [(name, 0) for name in names]
    twice = [(name, n) for n in (1, 2) for name in names]
    assert plan.slots == slots(*once, *twice)
    assert "run attack 100000" in plan.work.job
    assert plan.twins is not None
    assert plan.twins.job == (
        "module kstack_probe",
        "run in_force",
        "run displacement",
        "run twins 20000",
        "run in_force",
    )
    words = WHOLE.proofs["twins"].cmdline
    assert words
    assert [words in plan.cmdline(slot) for slot in slots(("off", 0), ("off", 1))] == [
        False,
        True,
    ]
    seeds = [plan.twin_seed(slot) for slot in slots(("off", 0), *twice[::3])]
    assert seeds == [None, 1, 2]
    assert bench.planner.prove(WHOLE, names, ("prediction",)).twins is None
    # Where all proofs compare them, nothing else has anything to do.
    assert bench.planner.prove(WHOLE, names, ("twins",)).slots == slots(*twice)


def test_sabotages_are_attacked_when_asked_for(bench: Bench) -> None:
    plan = bench.planner.prove(WHOLE, sabotage=True)
    assert set(plan.variants) == set(WHOLE.all_variants)
    assert {slot.variant for slot in plan.slots} == set(WHOLE.all_variants)
    assert "--sabotage" in plan.command
    assert plan.variants["constant"].sabotage
    assert plan.variants["constant"].kernel.patches
    assert not plan.variants["stock"].kernel.patches


def attacks(plan: RunPlan, variant: str) -> set[str]:
    """Return what attacks a variant in any of its boots."""
    return {
        proof.line
        for proof in plan.proofs.values()
        for slot in plan.slots
        if slot.variant == variant and plan.runs(slot, proof.line)
    }


def test_a_sabotage_is_attacked_where_an_outcome_is_expected(bench: Bench) -> None:
    """The boots of all others would take most of the time, and decide nothing."""
    plan = bench.planner.prove(WHOLE, sabotage=True)
    lines = {name: proof.line for name, proof in WHOLE.proofs.items()}
    for name in WHOLE.all_variants:
        of_variants = name in WHOLE.variants
        wanted = {lines[p] for p in lines if of_variants or WHOLE.expected(name, p)}
        assert attacks(plan, name) == wanted, name
    assert attacks(plan, "three-bits") == {"attack 100000"}
    assert attacks(plan, "none") == attacks(plan, "constant") == {*lines.values()}
    (slot,) = (slot for slot in plan.slots if slot.variant == "three-bits")
    assert plan.job(slot) == (
        "module kstack_probe",
        "run in_force",
        "run displacement",
        "run attack 100000",
        "run in_force",
    )
    # Only twins are expected to notice it.
    boots = [slot for slot in plan.slots if slot.variant == "time-seed"]
    assert boots == [*slots(("time-seed", 1), ("time-seed", 2))]


def test_a_sabotage_runs_what_several_of_its_proofs_share_once(bench: Bench) -> None:
    feature = feature_named("kpkeys")
    plan = bench.planner.prove(feature, sabotage=True)
    check = "run in_force"
    for name, module, attack in (
        ("unkeyed-pte", "kpkeys_probe", "run writes 8"),
        ("nmi-open", "kpkeys_level", "run level 4"),
    ):
        (slot,) = (slot for slot in plan.slots if slot.variant == name)
        head = [f"module {each}" for each in sorted({module, "kpkeys_probe"})]
        assert plan.job(slot) == (*head, check, attack, check)


def test_a_sabotage_that_is_named_is_attacked_by_all_proofs(bench: Bench) -> None:
    plan = bench.planner.prove(WHOLE, ("three-bits",), sabotage=True)
    assert attacks(plan, "three-bits") == attacks(plan, "off")
    assert attacks(plan, "alternating") == {"attack 100000"}


def test_a_sabotage_of_which_nothing_is_expected_is_not_booted(bench: Bench) -> None:
    plan = bench.planner.prove(WHOLE, ("off",), ("storm",), sabotage=True)
    whole = ["none", "nohz-full", "naps", "no-random"]
    names = ["off", *whole, "constant", "seed-constant", "fork-rewinds"]
    assert list(plan.variants) == names
    assert plan.slots == slots(*((name, 0) for name in names))


def test_the_baseline_is_priced_with_what_is_named(bench: Bench) -> None:
    for named in (("temper", "stock"), ("stock", "off", "temper")):
        plan = bench.planner.price(WHOLE, 1000, named)
        assert list(plan.variants) == ["off", "stock", "temper"]
        assert plan.slots[:3] == slots(("off", 0), ("stock", 0), ("temper", 0))
        assert command(plan) == (
            "temper price kstack --variants off,stock,temper --calls 1000 "
            "--layouts 1 --arch x86_64"
        )


def test_a_plan_says_what_kernels_may_complain_of(bench: Bench) -> None:
    proofs = {
        name: proof.model_copy(update={"expected_complaints": (name,)})
        for name, proof in WHOLE.proofs.items()
    }
    bench.feature = bench.feature.model_copy(
        update={"proofs": proofs, "complaints": ("of its own",)}
    )
    bench.change("stock", expected_complaints=("by stock",))
    plan = bench.planner.prove(bench.feature, (), ("storm", "early"))
    assert plan.expected_complaints == ("storm", "early")
    assert plan.complaints == ("of its own",)
    assert plan.variants["stock"].expected_complaints == ("by stock",)
    assert plan.variants["off"].expected_complaints == ()
    # No attack runs there.
    assert bench.price().expected_complaints == ()


def test_a_baseline_alone_has_no_price(bench: Bench) -> None:
    with pytest.raises(InputError) as caught:
        bench.planner.price(WHOLE, 1000, ("off",))
    assert caught.value.message == "off is the baseline and has no price on its own"
    assert caught.value.hint.startswith("known: off, stock, lfsr")


def test_a_price_may_have_another_baseline(bench: Bench) -> None:
    plan = bench.planner.price(WHOLE, 1000, ("temper",), baseline="temper-off")
    assert plan.baseline == "temper-off"
    assert list(plan.variants) == ["temper", "temper-off"]
    assert plan.variants_left_out == ("off", "stock", "lfsr", "floor")
    assert command(plan) == (
        "temper price kstack --baseline temper-off --variants temper,temper-off "
        "--calls 1000 --layouts 1 --arch x86_64"
    )
    everything = bench.planner.price(WHOLE, 1000, baseline="temper-off")
    assert list(everything.variants) == list(WHOLE.variants)


def test_a_proof_may_have_another_control(bench: Bench) -> None:
    plan = bench.planner.prove(WHOLE, ("temper",), ("early",), control="temper-off")
    assert (plan.control, plan.hardened) == ("temper-off", ("temper",))
    assert plan.slots == slots(("temper", 0), ("temper-off", 0))
    assert command(plan) == (
        "temper prove kstack --control temper-off --variants temper,temper-off "
        "--proofs early --arch x86_64"
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gone", "unknown variant 'gone'"),
        ("constant", "unknown variant 'constant'"),
        ("", "the name of a variant is missing"),
    ],
)
def test_an_unknown_baseline_or_control_is_refused(
    bench: Bench, name: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        bench.planner.price(WHOLE, 1000, baseline=name)
    with pytest.raises(InputError, match=message):
        bench.planner.prove(WHOLE, control=name)


@pytest.mark.parametrize("name", ["temper", "stock"])
def test_a_control_must_be_vulnerable(bench: Bench, name: str) -> None:
    with pytest.raises(InputError, match=f"{name} is no control"):
        bench.planner.prove(WHOLE, control=name)


def test_the_control_is_attacked_with_what_is_named(bench: Bench) -> None:
    plan = bench.planner.prove(WHOLE, ("constant", "stock"), ("early", "storm"))
    assert plan.slots == slots(("off", 0), ("stock", 0), ("constant", 0))
    assert list(plan.proofs) == ["storm", "early"]
    assert command(plan) == (
        "temper prove kstack --variants off,stock,constant "
        "--proofs storm,early --arch x86_64"
    )
    assert [line for line in plan.work.job if "in_force" not in line] == [
        "module kstack_probe",
        "run displacement",
        "run storm 10000",
        "run early 512",
    ]
    assert packed(plan) == [
        *("init", "in_force", "displacement", "storm", "early", "kstack_probe.c")
    ]


def test_all_sabotages_go_with_what_is_named(bench: Bench) -> None:
    plan = bench.planner.prove(WHOLE, ("none", "stock"), sabotage=True)
    assert list(plan.variants) == ["off", "stock", *WHOLE.sabotages]
    assert "--variants off,stock,none --sabotage" in plan.command
    assert list(plan.proofs) == list(WHOLE.proofs)


def test_the_command_reproduces_the_plan(bench: Bench) -> None:
    first = bench.planner.prove(WHOLE, ("stock",), ("early", "prediction"))
    words = first.command.split()
    variants, proofs = (
        words[words.index(option) + 1].split(",")
        for option in ("--variants", "--proofs")
    )
    assert bench.planner.prove(WHOLE, variants, proofs) == first


def test_other_proofs_are_another_plan(bench: Bench) -> None:
    """Two proofs may share a run of their program, and so all that is booted."""
    proofs = {name: bench.feature.proofs["prediction"] for name in ("one", "two")}
    feature = bench.feature.model_copy(update={"proofs": proofs})
    one = bench.planner.prove(feature, proofs=("one",))
    two = bench.planner.prove(feature, proofs=("two",))
    assert one.work == two.work
    assert one.variants["off"].kernel == two.variants["off"].kernel
    assert one != two


def test_a_proof_that_needs_a_setting_is_there_with_it_alone(bench: Bench) -> None:
    kpkeys = feature_named("kpkeys")
    without = replace(bench.planner, arch=ARM64)
    with pytest.raises(InputError) as caught:
        without.prove(kpkeys, proofs=["injected-nmi"])
    assert caught.value.message == "proof 'injected-nmi' needs a setting"
    assert caught.value.hint == "--setting pseudo-nmi"
    assert "injected-nmi" not in without.prove(kpkeys, ["off"]).proofs
    plan = replace(without, setting="pseudo-nmi").prove(kpkeys, ["off"])
    assert "injected-nmi" in plan.proofs
    assert "irqchip.gicv3_pseudo_nmi=1" in plan.variants["off"].cmdline


@pytest.mark.parametrize(
    ("variants", "proofs", "message", "hint"),
    [
        (("of",), (), "unknown variant 'of'", "known: off, stock, lfsr"),
        (
            ("off", ""),
            (),
            "the name of a variant is missing",
            "known: off, stock, lfsr",
        ),
        ((), ("clok",), "unknown proof 'clok'", "known: prediction, across-tasks"),
        (
            (),
            ("early", "clock"),
            "proof 'clock' is not for arm64",
            "its proofs: prediction, across-tasks, storm, early, leak, seeds, ways, ",
        ),
    ],
)
def test_what_cannot_be_attacked_is_told(
    bench: Bench,
    variants: tuple[str, ...],
    proofs: tuple[str, ...],
    message: str,
    hint: str,
) -> None:
    changed = replace(bench.planner, arch=ARM64)
    with pytest.raises(InputError) as caught:
        changed.prove(WHOLE, variants, proofs)
    assert caught.value.message == message
    assert caught.value.hint.startswith(hint)


def test_a_feature_without_proofs_is_priced_and_not_proven(bench: Bench) -> None:
    unproven = bench.feature.model_copy(update={"proofs": {}})
    assert not bench.planner.price(unproven, 1000).has_proofs
    assert bench.price().has_proofs
    with pytest.raises(InputError) as caught:
        bench.planner.prove(unproven)
    assert caught.value.message == ("kstack has no proof: Temper has no attack on it")
    assert caught.value.hint == "to measure what it costs: temper price kstack"


def test_a_sabotage_has_no_price(bench: Bench) -> None:
    with pytest.raises(InputError) as caught:
        bench.planner.price(WHOLE, 1000, ("constant",))
    assert caught.value.message == "unknown variant 'constant'"
    assert "constant" not in caught.value.hint


def test_what_a_proof_needs_of_the_kernel_is_asked_for_it_alone(bench: Bench) -> None:
    """Once, however many proofs need it, and after what the variant says."""
    proof = bench.feature.proofs["prediction"]
    slow = proof.model_copy(update={"cmdline": "slow=1"})
    proofs = {"prediction": proof, "slow": slow, "slower": slow}
    feature = bench.feature.model_copy(update={"proofs": proofs})
    changed = replace(bench.planner, arch=ARM64, setting="pseudo-nmi")

    def cmdline(plan: RunPlan) -> str:
        return plan.variants["off"].cmdline

    off, setting = feature.variants["off"].cmdline, "irqchip.gicv3_pseudo_nmi=1"
    assert cmdline(changed.prove(feature)) == f"{off} slow=1 {setting}"
    assert cmdline(changed.prove(feature, (), ("prediction",))) == f"{off} {setting}"
    assert cmdline(changed.price(feature, 1000)) == f"{off} {setting}"


def test_what_a_proof_needs_of_the_machine_is_for_its_boots_alone(
    bench: Bench,
) -> None:
    proof = bench.feature.proofs["prediction"]
    needy = proof.model_copy(update={"hardware": ("-machine", "a=1")})
    proofs = {"prediction": proof, "needy": needy, "needier": needy}
    feature = bench.feature.model_copy(update={"proofs": proofs})
    planner = bench.planner
    assert planner.prove(feature).work.hardware == ("-machine", "a=1")
    assert planner.prove(feature, (), ("prediction",)).work.hardware == ()
    assert planner.price(feature, 1000).work.hardware == ()


def test_an_early_helper_is_unpacked_before_the_kernel_asks_for_it() -> None:
    option = "initramfs_async=0"
    asked = [name for name, proof in WHOLE.proofs.items() if option in proof.cmdline]
    assert asked == ["early"]


def test_the_command_names_the_source(bench: Bench, tmp_path: Path) -> None:
    bench.planner = replace(bench.planner, source=tmp_path / "my linux")
    bench.source.rename(tmp_path / "my linux")
    assert bench.price().command == (
        "temper price kstack --calls 1000 --layouts 1 --arch x86_64 "
        f"--source '{tmp_path}/my linux'"
    )


def test_the_command_holds_in_any_folder(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    bench.image("bzImage")
    kernels = {"A": (Path("bzImage"), "a=1 b=2"), "B": (Path("bzImage"), "")}
    plan = bench.planner.compare(kernels, ("syscall/getpid",), 1000)
    image = f"{tmp_path}/bzImage"
    assert f" compare {image} {image} --cmdline-a 'a=1 b=2' " in plan.command


def test_named_workloads_are_all_that_is_compared(bench: Bench) -> None:
    kernels = {"A": (bench.image("bzImage"), ""), "B": (bench.image("bzImage"), "")}
    named = bench.planner.compare(kernels, ("generator/lfsr",), 1000)
    assert " --workload generator/lfsr --calls 1000 " in named.command
    assert runs(named) == ["run generator lfsr 100 10"]
    assert packed(named) == ["init", "generator"]
    unnamed = bench.planner.compare(kernels, (), 1000)
    assert "--workload" not in unnamed.command
    assert "run syscall getpid 1000 100" in runs(unnamed)
    assert not [line for line in runs(unnamed) if "generator" in line]


def test_boots_hold_what_their_workloads_need(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planner, "apt_for", lambda *_: FakeApt())
    assert bench.price().work.root is None

    workloads = ("vmalloc/p1", "vmalloc/p4", "build/cc")
    bench.feature = bench.feature.model_copy(update={"workloads": workloads})
    plan = bench.price()
    assert packed(plan) == [
        *("init", "vmalloc", "real", "in_force"),
        *("kstack_probe.c", "vmalloc_test.c"),
    ]
    assert plan.work.modules[1].kernel_files == ("lib/test_vmalloc.c",)
    assert plan.work.texts["init.c"] == (TARGET / "init.c").read_text()
    assert plan.work.objects is None


def test_objects_are_of_one_kernel_whatever_is_priced(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_debians_source(bench, monkeypatch)
    kernels = {"A": (bench.image("bzImage"), ""), "B": (bench.image("bzImage"), "")}
    name = ("build/kernel-objects",)
    plan = bench.planner.price(bench.feature, 1000, names=name)
    cloud = replace(bench.planner, base="cloud")
    changed = replace(bench.planner, source=fake_source(bench.root / "changed"))
    made = [
        each.work.objects
        for each in (
            plan,
            cloud.price(bench.feature, 1000, names=name),
            changed.price(bench.feature, 1000, names=name),
            bench.planner.compare(kernels, name, 1000),
        )
    ]
    assert made[0]
    assert made == [made[0]] * 4
    assert made[0].kernel.patches == made[0].kernel.options == ()
    named = " ".join(made[0].names)
    assert f"objects := {named}\n" in plan.work.texts[f"commands/{name[0]}.mk"]


def with_debians_source(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, gcc: int | None = None
) -> None:
    """Have apt serve what is asked for and this gcc; the bench's source is Debian's."""

    def find(given: Path | None, series: str, cache: Cache) -> Source:
        return find_source(given or bench.source, series, cache)

    monkeypatch.setattr(planner, "find_source", find)
    apt = FakeApt({f"gcc-{gcc}"} if gcc else set())
    monkeypatch.setattr(planner, "apt_for", lambda *_: apt)


def test_objects_are_compiled_by_the_compiler_they_are_configured_for(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = compiler_major(bench.planner.arch)
    name = ("build/kernel-objects",)
    with_debians_source(bench, monkeypatch, ours)
    assert bench.planner.price(bench.feature, 1000, names=name).work.objects
    with_debians_source(bench, monkeypatch, ours + 1)
    with pytest.raises(InputError) as caught:
        bench.planner.price(bench.feature, 1000, names=name)
    assert caught.value.message == (
        f"build/kernel-objects compiles by gcc {ours + 1} of the packages what is "
        f"configured for gcc {ours} of this host"
    )
    # Whatever it is, it compiles a program of ours.
    assert bench.planner.price(bench.feature, 1000, names=("build/cc",)).work.root


def test_a_workload_that_needs_debians_source_is_named(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planner, "apt_for", lambda *_: FakeApt())

    def missing(given: Path | None, series: str, cache: Cache) -> Source:
        if given:
            return find_source(given, series, cache)
        raise InfraError("it is not installed", "install it")

    monkeypatch.setattr(planner, "find_source", missing)
    with pytest.raises(InfraError) as caught:
        bench.planner.price(bench.feature, 1000, names=("build/kernel-objects",))
    assert caught.value.message == (
        "build/kernel-objects compiles objects of Linux: it is not installed"
    )
    assert caught.value.hint == "install it"


def test_kernels_without_a_source_are_not_compared_by_its_modules(bench: Bench) -> None:
    kernels = {"A": (bench.image("bzImage"), ""), "B": (bench.image("bzImage"), "")}
    with pytest.raises(InputError) as caught:
        bench.planner.compare(kernels, ("syscall/getpid", "vmalloc/p1"), 1000)
    assert caught.value.message == (
        "vmalloc/p1 needs a kernel module, which takes the source"
    )
    assert caught.value.hint == "use it with 'temper price', which has the source"


def runs(plan: RunPlan) -> list[str]:
    return [line for line in plan.work.job if line.startswith("run ")]


def test_another_architecture_is_refused(bench: Bench) -> None:
    arch = replace(X86_64, name="riscv64")
    bench.planner = replace(bench.planner, arch=arch)
    with pytest.raises(InputError) as caught:
        bench.price()
    assert caught.value.message == "kstack is not for riscv64"
    assert caught.value.hint == "it is for x86_64, arm64"


def test_a_setting_is_for_all_boots_and_is_told(bench: Bench) -> None:
    bench.planner = replace(bench.planner, arch=ARM64)
    plain = bench.price()
    bench.planner = replace(bench.planner, setting="pseudo-nmi")
    plan = bench.price()
    assert plan.full_title == f"{bench.feature.title}, with pseudo-nmi"
    assert command(plan).endswith(" --arch arm64 --setting pseudo-nmi")
    for name, variant in bench.feature.variants.items():
        cmdline = plan.variants[name].cmdline
        assert cmdline == f"{variant.cmdline} irqchip.gicv3_pseudo_nmi=1"
    # A run without it cannot go on with it.
    assert plan != plain


def test_a_base_is_for_all_kernels_and_is_told(bench: Bench) -> None:
    plain = bench.price()
    bench.planner = replace(bench.planner, base="cloud")
    plan = bench.price()
    assert plan.full_title == f"{bench.feature.title}, on base cloud"
    assert command(plan).endswith(" --arch x86_64 --base cloud")
    for name, variant in plan.variants.items():
        assert variant.kernel.base == "cloud"
        assert variant.kernel.title.startswith("Linux 6.12.99 (cloud)")
        assert variant.kernel.key != plain.variants[name].kernel.key


def test_an_unknown_base_is_refused_before_anything_is_built(bench: Bench) -> None:
    with pytest.raises(InputError, match="unknown base 'clod'"):
        replace(bench.planner, base="clod")
    bench.feature = bench.feature.model_copy(update={"bases": {"clod": ()}})
    with pytest.raises(InputError, match="kstack needs options on unknown bases"):
        bench.price()


def test_a_feature_may_need_more_on_a_base(bench: Bench) -> None:
    plain = bench.price()
    bases = {"cloud": ("CONFIG_XEN_PV=n",)}
    bench.feature = bench.feature.model_copy(update={"bases": bases})
    assert bench.price() == plain
    bench.planner = replace(bench.planner, base="cloud")
    for variant in bench.price().variants.values():
        assert "CONFIG_XEN_PV=n" in variant.kernel.options


def test_a_setting_is_for_compared_kernels_too(bench: Bench) -> None:
    content = bytes(0x38) + b"ARM\x64" + bytes(100)
    image = bench.image("Image", content)
    bench.planner = replace(bench.planner, arch=ARM64, setting="pseudo-nmi")
    plan = bench.planner.compare({"A": (image, "x=0"), "B": (image, "")}, (), 100)
    cmdlines = [variant.cmdline for variant in plan.variants.values()]
    option = "irqchip.gicv3_pseudo_nmi=1"
    assert cmdlines == [f"x=0 {option}", option]
    assert plan.full_title == "two kernels, with pseudo-nmi"
    assert " --cmdline-a x=0 --cmdline-b '' " in plan.command


def test_an_unknown_setting_is_refused_before_anything_is_built(bench: Bench) -> None:
    for arch, known in ((ARM64, "known: pseudo-nmi"), (X86_64, "known: none")):
        with pytest.raises(InputError) as caught:
            replace(bench.planner, arch=arch, setting="turbo")
        assert caught.value.message == f"{arch.name} has no setting 'turbo'"
        assert caught.value.hint == known


def test_the_same_plan_is_the_same_after_it_was_stored(bench: Bench) -> None:
    stored = RunPlan.model_validate(json.loads(bench.price().model_dump_json()))
    assert stored == bench.price()


def another_kernel(bench: Bench) -> None:
    (bench.source / "Makefile").write_text(FAKE_MAKEFILE.replace("6", "7"))


def another_option(bench: Bench) -> None:
    bench.change("stock", config=("CONFIG_MORE=y",))


def a_patch(bench: Bench) -> None:
    bench.change("stock", patches=("patches/6.12",))


def another_cmdline(bench: Bench) -> None:
    bench.change("stock", cmdline="randomize_kstack_offset=on debug")


def another_cpu(bench: Bench) -> None:
    bench.change("stock", cpu="EPYC")


def another_expectation(bench: Bench) -> None:
    bench.change("stock", in_force=False)


def another_workload(bench: Bench) -> None:
    changes = {"workloads": ("syscall/getpid",)}
    bench.feature = bench.feature.model_copy(update=changes)


def another_variant(bench: Bench) -> None:
    variants: dict[str, Variant] = dict(bench.feature.variants)
    variants["more"] = variants["stock"]
    bench.feature = bench.feature.model_copy(update={"variants": variants})


@pytest.mark.parametrize(
    "change",
    [
        another_kernel,
        another_option,
        a_patch,
        another_cmdline,
        another_cpu,
        another_expectation,
        another_workload,
        another_variant,
    ],
)
def test_whatever_changes_a_result_changes_the_plan(
    bench: Bench, change: Callable[[Bench], None]
) -> None:
    before = bench.price()
    change(bench)
    assert bench.price() != before


def test_the_number_of_cpus_changes_the_plan(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = bench.price()
    monkeypatch.setattr(planner, "PRICE_CPUS", 3)
    assert bench.price() != before


def test_a_changed_program_changes_the_plan(bench: Bench, target: Path) -> None:
    before = bench.price()
    with (target / "sample.c").open("a") as file:
        file.write("/* changed */\n")
    assert bench.price() != before


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"slots": ()}, "slots"),
        ({"baseline": ""}, "a plan to price needs baseline"),
        ({"baseline": "gone"}, "there is no variant gone"),
        ({"hardened": ("gone",)}, "there is no variant gone"),
        ({"kind": "prove", "control": "off"}, "a plan to prove needs proofs"),
        ({"kind": "stress"}, "a plan to stress needs trial"),
        ({"kind": "events"}, "a plan to events needs trial, scripts"),
        ({"scripts": SCRIPTS}, "a plan to price has no scripts"),
        (
            {"scripts": {**SCRIPTS, "by_variant": {"off": "reboot"}}},
            "each variant needs one script",
        ),
        ({"trial": {"used": ()}}, "used"),
    ],
)
def test_a_plan_that_nothing_could_be_judged_by_is_refused(
    change: dict[str, object], why: str
) -> None:
    data = json.loads(run_plan().model_dump_json())
    assert RunPlan.model_validate(data)
    with pytest.raises(ValidationError, match=why):
        RunPlan.model_validate({**data, **change})


def test_planning_builds_nothing(bench: Bench) -> None:
    bench.planner.prove(WHOLE, sabotage=True)
    bench.price()
    assert bench.planner.cache.items() == []


def compared(
    bench: Bench, image: Path, arch: Arch = X86_64
) -> Mapping[str, VariantPlan]:
    kernels = {"A": (image, "x=0"), "B": (image, "")}
    planner = replace(bench.planner, arch=arch)
    return planner.compare(kernels, ("syscall/getpid",), 1000).variants


@pytest.mark.parametrize("content", [BZIMAGE, VMLINUX])
def test_two_kernel_files_are_compared(bench: Bench, content: bytes) -> None:
    variants = compared(bench, bench.image("vmlinuz", content))
    assert variants["A"].kernel.key.startswith("file:")
    assert (variants["A"].cmdline, variants["A"].in_force) == ("x=0", None)
    other = compared(bench, bench.image("vmlinuz", content + b"more"))
    assert variants["A"].kernel.key != other["A"].kernel.key


@pytest.mark.parametrize(
    "content", [b"", b"\x7fEL", A_PROGRAM, b"<html>" * 200, bytes(5000)]
)
def test_a_file_that_is_no_kernel_is_refused(bench: Bench, content: bytes) -> None:
    image = bench.image("vmlinuz", content)
    with pytest.raises(InputError) as caught:
        compared(bench, image)
    assert caught.value.message == f"{image} is not a kernel for x86_64"
    assert caught.value.hint == "use a bzImage or a vmlinux"


def test_each_architecture_has_its_own_images(bench: Bench) -> None:
    image = bench.image("vmlinuz")
    with pytest.raises(InputError) as caught:
        compared(bench, image, ARM64)
    assert caught.value.message == f"{image} is a kernel for x86_64, not for arm64"
    assert caught.value.hint == "--arch x86_64"
    image.write_bytes(bytes(5000))
    with pytest.raises(InputError) as caught:
        compared(bench, image, ARM64)
    assert caught.value.hint == "use an Image, which may be compressed"


def test_a_folder_of_a_build_is_compared(bench: Bench) -> None:
    build = bench.root / "after"
    image = build / X86_64.image
    image.parent.mkdir(parents=True)
    image.write_bytes(BZIMAGE)
    (build / ".config").write_text("CONFIG_X=y\n")
    plan = compared(bench, build)["A"]
    assert plan.title == "after/arch/x86/boot/bzImage"
    assert plan.kernel.image == str(image)
    assert plan.kernel.config == str(build / ".config")
    assert plan.kernel.key == f"file:{digest(BZIMAGE)}"


def test_files_of_the_same_name_are_told_apart(bench: Bench) -> None:
    paths = [bench.root / name / "bzImage" for name in ("before", "after")]
    for path in paths:
        path.parent.mkdir()
        path.write_bytes(BZIMAGE)
    same = {"A": (paths[0], "x=0"), "B": (paths[0], "")}
    other = {"A": (paths[0], ""), "B": (paths[1], "")}

    def titles(kernels: dict[str, tuple[Path, str]]) -> list[str]:
        plan = bench.planner.compare(kernels, ("syscall/getpid",), 1000)
        return [variant.title for variant in plan.variants.values()]

    assert titles(same) == ["bzImage", "bzImage"]
    assert titles(other) == [str(path) for path in paths]


def test_a_package_is_compared_without_being_unpacked(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = bench.image("after.deb", b"!<arch>\ndebian-binary   ")
    package = Package("linux-image-6.12.9", "6.12.9-1", "amd64", "kmod")
    monkeypatch.setattr(given, "read_package", lambda file: package)
    kernel = compared(bench, file)["B"].kernel
    assert (kernel.image, kernel.package) == (str(file), "linux-image-6.12.9 6.12.9-1")
    assert kernel.key == f"file:{digest(file.read_bytes())}"
    assert bench.planner.cache.items() == []


def test_a_kernel_that_is_not_there_is_told(bench: Bench, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*: No such file or directory"):
        compared(bench, tmp_path / "vmlinuz")


def test_an_architecture_has_the_machine_that_the_feature_needs_there(
    bench: Bench,
) -> None:
    feature = feature_named("kpkeys")
    arm64 = replace(bench.planner, arch=arch_named("arm64"))
    assert bench.planner.prove(feature).machine == DEFAULT_KIND
    assert bench.planner.price(feature, 1000).machine == DEFAULT_KIND
    assert arm64.prove(feature).machine == "overlays"
    few = arm64.price(feature, 1000, names=("vmalloc/p1",))
    assert few.machine == "overlays"


def test_an_architecture_has_the_variants_and_options_of_its_own(bench: Bench) -> None:
    feature = feature_named("kpkeys")
    arm64 = replace(bench.planner, arch=arch_named("arm64"))
    x86, arm = bench.planner.prove(feature), arm64.prove(feature)
    assert set(x86.variants) - set(arm.variants) == {"temper-pti"}
    assert "CONFIG_ARM64_KPKEYS=y" in arm.variants["temper"].kernel.options
    assert "CONFIG_X86_SUPERVISOR_PKEYS=y" in x86.variants["temper"].kernel.options
    assert "user-p4d" in x86.proofs
    assert "user-p4d" not in arm.proofs
    with pytest.raises(InputError, match="unknown variant 'temper-pti'"):
        arm64.prove(feature, ("temper-pti",))


def test_kpkeys_is_priced_against_the_kernel_without_it(bench: Bench) -> None:
    feature = feature_named("kpkeys")
    plan = bench.planner.price(feature, 1000)
    assert plan.variants[plan.baseline].kernel.patches == ()
    # Proofs need a control that has the same code.
    patches = {feature.variants[name].patches for name in ("off", "temper")}
    assert feature.control == "off"
    assert len(patches) == 1
