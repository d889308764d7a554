"""Plans of runs, on kernels in name only."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from temper.arch import Arch, arch_named
from temper.catalog import Feature, Variant, feature_named
from temper.errors import InputError
from temper.kernel import Cache, Kernel, KernelSpec
from temper.progress import Progress, Quiet
from temper.run import plans
from temper.run.facts import Kind, RunPlan, Slot
from temper.run.plans import Planned, Workshop

X86_64 = arch_named("x86_64")
ARM64 = arch_named("arm64")
WHOLE = feature_named("kstack")
BZIMAGE = bytes(0x202) + b"HdrS" + bytes(100)


def small(feature: Feature) -> Feature:
    """Leave two variants and one proof, so that plans can be looked over."""
    variants = {name: feature.variants[name] for name in ("off", "stock")}
    proofs = {"prediction": feature.proofs["prediction"]}
    return feature.model_copy(update={"variants": variants, "proofs": proofs})


class Bench:
    """A workshop that finds every kernel and program made already."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.kernel_key = "3f9c"
        self.workshop = Workshop(X86_64, Cache(root / "cache"), Quiet())
        self.feature = small(WHOLE)
        modules = {f"{each.module}.ko" for each in WHOLE.target_programs}
        programs = {each.program for each in WHOLE.target_programs}
        for name in {"init"} | modules | programs:
            (root / name).write_text(name)

    def build(self, spec: KernelSpec, cache: Cache, progress: Progress) -> Kernel:
        return Kernel(
            key=f"{self.kernel_key}-{len(spec.patches)}",
            arch=X86_64,
            folder=self.root,
            image=self.root / "bzImage",
            config=self.root / "config",
            config_hash="81d0",
            release="6.12.117",
            compiler="gcc 12",
            skipped=(),
            built=False,
            seconds=1.0,
        )

    def price(self) -> RunPlan:
        return self.workshop.price(self.feature, 1000).plan

    def change(self, variant: str, **changes: object) -> None:
        changed = self.feature.variants[variant].model_copy(update=changes)
        variants = {**self.feature.variants, variant: changed}
        self.feature = self.feature.model_copy(update={"variants": variants})

    def image(self, name: str, content: bytes = BZIMAGE) -> Path:
        path = self.root / name
        path.write_bytes(content)
        return path


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    bench = Bench(tmp_path)

    def programs(*_: object) -> list[Path]:
        return [tmp_path / "init"]

    def proofs(feature: Feature, *_: object) -> list[Path]:
        names = dict.fromkeys(each.program for each in feature.target_programs)
        return [tmp_path / name for name in names]

    def module(_kernel: Kernel, source: Path, *_: object) -> Path:
        return tmp_path / f"{source.stem}.ko"

    monkeypatch.setattr(plans, "find_source", lambda *_: None)
    monkeypatch.setattr(plans, "build", bench.build)
    monkeypatch.setattr(plans, "build_module", module)
    monkeypatch.setattr(plans, "target_programs", programs)
    monkeypatch.setattr(plans, "proof_programs", proofs)
    return bench


def slots(*names: tuple[str, int]) -> tuple[Slot, ...]:
    return tuple(Slot(variant=variant, repeat=repeat) for variant, repeat in names)


def test_a_price_boots_each_variant_twice_in_turns(bench: Bench) -> None:
    plan = bench.price()
    assert (plan.kind, plan.feature, plan.baseline) == (Kind.PRICE, "kstack", "off")
    assert plan.slots == slots(("off", 0), ("stock", 0), ("off", 1), ("stock", 1))
    assert plan.params["in_force"] == {"off": False, "stock": True}
    assert plan.params["calls"] == 1000
    assert plan.command == "uv run temper price kstack --calls 1000 --arch x86_64"


def test_a_price_checks_around_every_workload(bench: Bench) -> None:
    planned = bench.workshop.price(bench.feature, 1000)
    for name, setup in planned.setups.items():
        assert (setup.exact, setup.cpus) == (True, 1)
        assert setup.cmdline == bench.feature.variants[name].cmdline
        assert setup.job == (
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
        # No attack: the kernel itself would start some of them.
        assert [file.name for file in setup.files] == [
            "init",
            "in_force",
            "kstack_probe.ko",
        ]
        assert setup.programs == 9


def test_a_proof_boots_each_variant_once(bench: Bench) -> None:
    planned = bench.workshop.prove(bench.feature)
    plan = planned.plan
    assert (plan.kind, plan.control) == (Kind.PROVE, "off")
    assert plan.slots == slots(("off", 0), ("stock", 0))
    assert plan.command == "uv run temper prove kstack --arch x86_64"
    assert planned.setups["off"].job == (
        "module kstack_probe",
        "run in_force",
        "run displacement",
        "run attack 100000",
        "run in_force",
    )
    assert [file.name for file in planned.setups["off"].files] == [
        "init",
        "in_force",
        "displacement",
        "attack",
        "kstack_probe.ko",
    ]
    assert {(s.exact, s.cpus) for s in planned.setups.values()} == {(False, 2)}


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
    planned = bench.workshop.prove(feature)
    assert planned.setups["off"].job == (
        "module kstack_probe",
        "run in_force",
        "run displacement",
        "run attack 100000",
        "run in_force",
        "run attack 200000",
        "run in_force",
    )


def test_sabotages_are_attacked_when_asked_for(bench: Bench) -> None:
    plan = bench.workshop.prove(bench.feature, sabotage=True).plan
    assert len(plan.slots) == len(bench.feature.all_variants)
    assert "--sabotage" in plan.command
    setups = plan.params["setups"]
    assert setups["constant"]["kernel"] != setups["stock"]["kernel"]


def test_the_baseline_is_priced_with_what_is_named(bench: Bench) -> None:
    for named in (("temper", "stock"), ("stock", "off", "temper", "stock")):
        plan = bench.workshop.price(WHOLE, 1000, named).plan
        assert list(plan.titles) == ["off", "stock", "temper"]
        assert plan.slots[:3] == slots(("off", 0), ("stock", 0), ("temper", 0))
        assert plan.command == (
            "uv run temper price kstack --variants off,stock,temper --calls 1000 "
            "--arch x86_64"
        )


def test_a_baseline_alone_has_no_price(bench: Bench) -> None:
    with pytest.raises(InputError) as caught:
        bench.workshop.price(WHOLE, 1000, ("off",))
    assert caught.value.message == "off is the baseline: alone it has no price"
    assert caught.value.hint.startswith("known: off, stock, lfsr")


def test_the_control_is_attacked_with_what_is_named(bench: Bench) -> None:
    planned = bench.workshop.prove(WHOLE, ("constant", "stock"), ("early", "storm"))
    plan = planned.plan
    assert plan.slots == slots(("off", 0), ("stock", 0), ("constant", 0))
    assert plan.params["proofs"] == ["storm", "early"]
    assert plan.command == (
        "uv run temper prove kstack --variants off,stock,constant "
        "--proofs storm,early --arch x86_64"
    )
    assert [line for line in planned.setups["stock"].job if "in_force" not in line] == [
        "module kstack_probe",
        "run displacement",
        "run storm 8000",
        "run early 512",
    ]
    names = [file.name for file in planned.setups["stock"].files]
    assert names == [
        *("init", "in_force", "displacement", "storm", "early"),
        "kstack_probe.ko",
    ]


def test_all_sabotages_go_with_what_is_named(bench: Bench) -> None:
    plan = bench.workshop.prove(WHOLE, ("none", "stock"), sabotage=True).plan
    assert list(plan.titles) == ["off", "stock", *WHOLE.sabotages]
    assert "--variants off,stock,none --sabotage" in plan.command
    assert plan.params["proofs"] == list(WHOLE.proofs)


def test_the_command_reproduces_the_plan(bench: Bench) -> None:
    first = bench.workshop.prove(WHOLE, ("stock",), ("early", "prediction")).plan
    words = first.command.split()
    variants, proofs = (
        words[words.index(option) + 1].split(",")
        for option in ("--variants", "--proofs")
    )
    assert bench.workshop.prove(WHOLE, variants, proofs).plan == first


def test_other_proofs_are_another_plan(bench: Bench) -> None:
    """Two proofs may share a run of their program, and so all that is booted."""
    proofs = {name: bench.feature.proofs["prediction"] for name in ("one", "two")}
    feature = bench.feature.model_copy(update={"proofs": proofs})
    one = bench.workshop.prove(feature, proofs=("one",)).plan
    two = bench.workshop.prove(feature, proofs=("two",)).plan
    assert one.params["setups"] == two.params["setups"]
    assert one.params != two.params


@pytest.mark.parametrize(
    ("variants", "proofs", "message", "hint"),
    [
        (("of",), (), "unknown variant 'of'", "known: off, stock, lfsr"),
        (("off", ""), (), "unknown variant ''", "known: off, stock, lfsr"),
        ((), ("clok",), "unknown proof 'clok'", "known: prediction, across-tasks"),
        (
            (),
            ("early", "clock"),
            "proof 'clock' is not for arm64",
            "for it are: prediction, across-tasks, storm, early, leak",
        ),
    ],
)
def test_what_cannot_be_attacked_is_told_before_anything_is_built(
    bench: Bench,
    monkeypatch: pytest.MonkeyPatch,
    variants: tuple[str, ...],
    proofs: tuple[str, ...],
    message: str,
    hint: str,
) -> None:
    monkeypatch.delattr(plans, "build")
    workshop = replace(bench.workshop, arch=ARM64)
    with pytest.raises(InputError) as caught:
        workshop.prove(WHOLE, variants, proofs)
    assert caught.value.message == message
    assert caught.value.hint.startswith(hint)


def test_a_sabotage_has_no_price(bench: Bench) -> None:
    with pytest.raises(InputError) as caught:
        bench.workshop.price(WHOLE, 1000, ("constant",))
    assert caught.value.message == "unknown variant 'constant'"
    assert "constant" not in caught.value.hint


def test_what_a_proof_needs_of_the_kernel_is_asked_for_it_alone(bench: Bench) -> None:
    """Once, however many proofs need it, and after what the variant says."""
    proof = bench.feature.proofs["prediction"]
    slow = proof.model_copy(update={"cmdline": "slow=1"})
    proofs = {"prediction": proof, "slow": slow, "slower": slow}
    feature = bench.feature.model_copy(update={"proofs": proofs})
    workshop = replace(bench.workshop, arch=ARM64, setting="pseudo-nmi")

    def cmdline(planned: Planned) -> str:
        cmdline = planned.setups["off"].cmdline
        assert planned.plan.params["setups"]["off"]["cmdline"] == cmdline
        return cmdline

    off, setting = feature.variants["off"].cmdline, "irqchip.gicv3_pseudo_nmi=1"
    assert cmdline(workshop.prove(feature)) == f"{off} slow=1 {setting}"
    assert cmdline(workshop.prove(feature, (), ("prediction",))) == f"{off} {setting}"
    assert cmdline(workshop.price(feature, 1000)) == f"{off} {setting}"


def test_an_early_helper_is_unpacked_before_the_kernel_asks_for_it() -> None:
    proofs = {name: proof.cmdline for name, proof in WHOLE.proofs.items()}
    assert proofs.pop("early") == "initramfs_async=0"
    assert not any(proofs.values())


def test_the_command_names_the_source(bench: Bench, tmp_path: Path) -> None:
    bench.workshop = replace(bench.workshop, source=tmp_path / "my linux")
    assert bench.price().command == (
        "uv run temper price kstack --calls 1000 --arch x86_64 "
        f"--source '{tmp_path}/my linux'"
    )


def test_the_command_holds_in_any_folder(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    bench.image("bzImage")
    kernels = {"A": (Path("bzImage"), "a=1 b=2"), "B": (Path("bzImage"), "")}
    plan = bench.workshop.compare(kernels, ("syscall/getpid",), 1000).plan
    image = f"{tmp_path}/bzImage"
    assert f" compare {image} {image} --cmdline-a 'a=1 b=2' " in plan.command


def test_named_workloads_are_all_that_is_compared(bench: Bench) -> None:
    kernels = {"A": (bench.image("bzImage"), ""), "B": (bench.image("bzImage"), "")}
    named = bench.workshop.compare(kernels, ("generator/lfsr",), 1000)
    assert " --workload generator/lfsr --calls 1000 " in named.plan.command
    assert runs(named) == ["run generator lfsr 100 10"]
    unnamed = bench.workshop.compare(kernels, (), 1000)
    assert "--workload" not in unnamed.plan.command
    assert "run syscall getpid 1000 100" in runs(unnamed)
    assert not [line for line in runs(unnamed) if "generator" in line]


def test_boots_hold_the_programs_they_run(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = [tmp_path / name for name in ("init", "syscall", "ctx", "micromm")]
    for path in built:
        path.write_text(path.name)
    monkeypatch.setattr(plans, "target_programs", lambda *_: built)
    priced = bench.workshop.price(bench.feature, 1000).setups["off"]
    assert priced.files[:4] == (*built[:3], tmp_path / "in_force")
    proved = bench.workshop.prove(bench.feature).setups["off"]
    assert proved.files[:2] == (tmp_path / "init", tmp_path / "in_force")
    kernels = {"A": (bench.image("bzImage"), ""), "B": (bench.image("bzImage"), "")}
    compared = bench.workshop.compare(kernels, ("ctx/pipe",), 1000).setups["A"]
    assert compared.files == (built[0], built[2])


def test_boots_hold_what_their_workloads_need(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host_file = tmp_path / "cc1"
    for name in ("cc1", "vmalloc_test.ko"):
        (tmp_path / name).write_text(name)
    included: list[list[Path]] = []

    def module(
        _kernel: Kernel, source: Path, *_: object, beside: list[Path] | None = None
    ) -> Path:
        if beside:
            included.append(beside)
        return tmp_path / f"{source.stem}.ko"

    monkeypatch.setattr(plans, "build_module", module)
    monkeypatch.setattr(plans, "source_tree", lambda *_: tmp_path / "linux")
    monkeypatch.setattr(plans, "compiler_files", lambda *_: (host_file,))
    plain = bench.workshop.price(bench.feature, 1000)
    assert {setup.host_files for setup in plain.setups.values()} == {()}

    workloads = ("vmalloc/p1", "vmalloc/p4", "build/cc")
    bench.feature = bench.feature.model_copy(update={"workloads": workloads})
    planned = bench.workshop.price(bench.feature, 1000)
    for setup in planned.setups.values():
        assert [file.name for file in setup.files] == [
            *("init", "init.c", "in_force", "kstack_probe.ko", "vmalloc_test.ko")
        ]
        assert setup.host_files == (host_file,)
    assert included == [[tmp_path / "linux" / "lib" / "test_vmalloc.c"]] * 2

    host_file.write_text("another compiler")
    assert bench.price() != planned.plan


def test_kernels_without_a_source_are_not_compared_by_its_modules(bench: Bench) -> None:
    kernels = {"A": (bench.image("bzImage"), ""), "B": (bench.image("bzImage"), "")}
    with pytest.raises(InputError) as caught:
        bench.workshop.compare(kernels, ("syscall/getpid", "vmalloc/p1"), 1000)
    assert caught.value.message == ("vmalloc/p1 needs a module for the kernel")
    assert caught.value.hint == "price a feature on it: there the source is known"


def runs(planned: Planned) -> list[str]:
    return [x for x in planned.setups["A"].job if x.startswith("run ")]


def test_another_architecture_is_refused(bench: Bench) -> None:
    arch = replace(X86_64, name="riscv64")
    bench.workshop = replace(bench.workshop, arch=arch)
    with pytest.raises(InputError) as caught:
        bench.price()
    assert caught.value.message == "kstack is not for riscv64"
    assert caught.value.hint == "it is for x86_64, arm64"


def test_a_setting_is_for_all_boots_and_is_told(bench: Bench) -> None:
    bench.workshop = replace(bench.workshop, arch=ARM64)
    plain = bench.price()
    bench.workshop = replace(bench.workshop, setting="pseudo-nmi")
    plan = bench.price()
    assert plan.params["title"] == f"{bench.feature.title}, with pseudo-nmi"
    assert plan.command.endswith(" --arch arm64 --setting pseudo-nmi")
    for name, variant in bench.feature.variants.items():
        cmdline = plan.params["setups"][name]["cmdline"]
        assert cmdline == f"{variant.cmdline} irqchip.gicv3_pseudo_nmi=1"
    # A run without it cannot go on with it.
    assert plan != plain


def test_a_setting_is_for_compared_kernels_too(bench: Bench) -> None:
    content = bytes(0x38) + b"ARM\x64" + bytes(100)
    image = bench.image("Image", content)
    bench.workshop = replace(bench.workshop, arch=ARM64, setting="pseudo-nmi")
    plan = bench.workshop.compare({"A": (image, "x=0"), "B": (image, "")}, (), 100).plan
    cmdlines = [setup["cmdline"] for setup in plan.params["setups"].values()]
    option = "irqchip.gicv3_pseudo_nmi=1"
    assert cmdlines == [f"x=0 {option}", option]
    assert plan.params["title"] == "two kernels, with pseudo-nmi"
    assert " --cmdline-a x=0 --cmdline-b '' " in plan.command


def test_an_unknown_setting_is_refused_before_anything_is_built(bench: Bench) -> None:
    for arch, known in ((ARM64, "known: pseudo-nmi"), (X86_64, "known: none")):
        with pytest.raises(InputError) as caught:
            replace(bench.workshop, arch=arch, setting="turbo")
        assert caught.value.message == f"{arch.name} has no setting 'turbo'"
        assert caught.value.hint == known


def test_the_same_plan_is_the_same_after_it_was_stored(bench: Bench) -> None:
    stored = RunPlan.model_validate(json.loads(bench.price().model_dump_json()))
    assert stored == bench.price()


def another_kernel(bench: Bench) -> None:
    bench.kernel_key = "other"


def another_program(bench: Bench) -> None:
    (bench.root / "in_force").write_text("another")


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
        another_program,
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
    monkeypatch.setattr(plans, "PRICE_CPUS", 3)
    assert bench.price() != before


def compared(bench: Bench, image: Path, arch: Arch = X86_64) -> dict[str, Any]:
    workshop = replace(bench.workshop, arch=arch)
    kernels = {"A": (image, "x=0"), "B": (image, "")}
    plan = workshop.compare(kernels, ("syscall/getpid",), 1000).plan
    setups: dict[str, Any] = plan.params["setups"]
    return setups


@pytest.mark.parametrize("content", [BZIMAGE, b"\x7fELF" + bytes(600)])
def test_two_kernel_files_are_compared(bench: Bench, content: bytes) -> None:
    setups = compared(bench, bench.image("vmlinuz", content))
    assert setups["A"]["kernel"].startswith("file:")
    assert setups["A"]["cmdline"] == "x=0"
    other = compared(bench, bench.image("vmlinuz", content + b"more"))
    assert setups["A"]["kernel"] != other["A"]["kernel"]


@pytest.mark.parametrize("content", [b"", b"\x7fEL", b"<html>" * 200, bytes(5000)])
def test_a_file_that_is_no_kernel_is_refused(bench: Bench, content: bytes) -> None:
    image = bench.image("vmlinuz", content)
    with pytest.raises(InputError) as caught:
        compared(bench, image)
    assert caught.value.message == f"{image} is not a kernel for x86_64"
    assert caught.value.hint == "give a bzImage or a vmlinux"


def test_each_architecture_has_its_own_images(bench: Bench) -> None:
    image = bench.image("vmlinuz")
    with pytest.raises(InputError) as caught:
        compared(bench, image, ARM64)
    assert caught.value.message == f"{image} is not a kernel for arm64"
    assert caught.value.hint == "give an Image"


def test_a_kernel_that_is_not_there_is_told(bench: Bench, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: No such file or directory"):
        compared(bench, tmp_path / "vmlinuz")
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        compared(bench, tmp_path)
