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
from temper.run.plans import Workshop

X86_64 = arch_named("x86_64")
ARM64 = arch_named("arm64")
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
        self.feature = small(feature_named("kstack"))
        for name in ("init", "attack", "kstack_probe.ko"):
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

    def proofs(*_: object) -> list[Path]:
        return [tmp_path / "attack"]

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
        assert [file.name for file in setup.files] == [
            "init",
            "attack",
            "kstack_probe.ko",
        ]
        assert setup.programs == 9


def test_a_proof_boots_each_variant_once(bench: Bench) -> None:
    planned = bench.workshop.prove(bench.feature, bench.feature.variants)
    plan = planned.plan
    assert (plan.kind, plan.control) == (Kind.PROVE, "off")
    assert plan.slots == slots(("off", 0), ("stock", 0))
    assert plan.command == "uv run temper prove kstack --arch x86_64"
    assert planned.setups["off"].job == (
        "module kstack_probe",
        "run in_force",
        "run attack 100000",
        "run in_force",
    )
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
    planned = bench.workshop.prove(feature, feature.variants)
    assert planned.setups["off"].job == (
        "module kstack_probe",
        "run in_force",
        "run attack 100000",
        "run in_force",
        "run attack 200000",
        "run in_force",
    )


def test_sabotages_are_attacked_when_asked_for(bench: Bench) -> None:
    plan = bench.workshop.prove(bench.feature, bench.feature.all_variants).plan
    assert len(plan.slots) == len(bench.feature.all_variants)
    assert "--sabotage" in plan.command
    setups = plan.params["setups"]
    assert setups["constant"]["kernel"] != setups["stock"]["kernel"]


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
    (bench.root / "attack").write_text("another")


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
