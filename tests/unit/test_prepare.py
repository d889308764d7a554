"""What a plan needs is built as it was planned, or not at all."""

import gzip
import shutil
from pathlib import Path

import pytest
from kernels import X86_64, fake_source, fragments

from made_up import run_plan, variant_plan
from temper.digest import digest, file_digest
from temper.errors import BuildError, InputError
from temper.kernel import Cache, KernelSpec, find_source, headers_beside
from temper.progress import Quiet
from temper.record.boot import KernelFacts
from temper.record.plan import KernelPlan, Module, Work
from temper.run.prepare import Workshop, prepare
from temper.run.programs import programs

BZIMAGE = bytes(0x202) + b"HdrS" + bytes(100)


@pytest.fixture(autouse=True)
def configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fragments(tmp_path / "fragments", monkeypatch)


class Bench:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.source = fake_source(root / "linux")
        self.cache = Cache(root / "cache")
        self.workshop = Workshop(X86_64, self.cache, Quiet())

    def kernel_plan(self) -> KernelPlan:
        source = find_source(self.source, "6.12", self.cache)
        spec = KernelSpec(X86_64, source)
        return KernelPlan(
            key=spec.key(), source=str(self.source), version=source.version
        )

    def file(self, name: str, content: str) -> Path:
        path = self.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
        return path


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a_setup_has_all_that_its_boots_need(bench: Bench) -> None:
    bench.file("proof/attack.c", "int main(void) { return 0; }\n")
    named = programs(X86_64, bench.root / "proof", {"attack": ("attack.c",)}, "proofs")
    work = Work(job=(), cpus=1, exact=True, programs=(named,))
    plan = bench.kernel_plan()
    setup = bench.workshop.setup(plan, work)
    assert setup.kernel.key == plan.key
    assert setup.kernel.config_hash
    assert setup.image.is_file()
    assert [path.name for path in setup.files] == ["attack"]
    assert setup.trees == ()


def test_work_of_an_older_plan_may_name_files_of_the_host() -> None:
    """Such a run can still be judged: nothing asks for them after its boots."""
    work = Work(job=(), cpus=1, exact=True)
    older = work.model_dump(mode="json") | {"files": {"init.c": ""}, "host_files": {}}
    assert Work.model_validate(older) == work


def test_a_module_is_built_beside_files_of_the_kernel(bench: Bench) -> None:
    """A header of the kernel's own source, which is nowhere else."""
    bench.file("linux/lib.h", "int of_the_kernel;\n")
    source = bench.file("module/probe.c", '#include "lib.h"\n')
    module = Module(source=str(source), kernel_files=("lib.h",), digest="")
    plan = bench.kernel_plan()
    kernel = bench.workshop.kernel(plan)
    assert bench.workshop.module(plan, kernel, module).name == "probe.ko"


def test_a_module_is_built_from_a_folder_of_the_kernel(bench: Bench) -> None:
    """With files of ours put into it, and the switches that its Makefile asks for."""
    bench.file("linux/many.c", "int of_the_kernel;\n")
    folder = bench.file("many/Kbuild", "obj-$(CONFIG_MANY) := many.o\n").parent
    module = Module(
        source=str(folder), kernel_folder=".", switches=("CONFIG_MANY=m",), digest=""
    )
    plan = bench.kernel_plan()
    kernel = bench.workshop.kernel(plan)
    with pytest.raises(BuildError, match="module many does not build"):
        bench.workshop.module(
            plan, kernel, module.model_copy(update={"switches": ("CONFIG_MANY=n",)})
        )
    assert bench.workshop.module(plan, kernel, module).name == "many.ko"


def test_a_kernel_of_others_gets_modules_by_its_headers(bench: Bench) -> None:
    """Of two variants of it, each has them, built once."""
    kernel = bench.workshop.kernel(bench.kernel_plan())
    image = bench.file("other/bzImage", "a kernel")
    for name in ("devel.tar.gz", "config", "Module.symvers"):
        shutil.copy(kernel.folder / name, image.parent)
    plan = KernelPlan(
        key=f"file:{file_digest(image)}",
        image=str(image),
        headers=headers_beside(image, "6.12.1-other", []),
    )
    source = bench.file("module/probe.c", "int probe;\n")
    work = Work(
        job=(),
        cpus=1,
        exact=False,
        modules=(Module(source=str(source), digest=""),),
    )
    names = {name: variant_plan(name, kernel=plan) for name in ("A", "B")}
    prepared = prepare(run_plan(names, work=work), bench.cache, Quiet())
    assert [f.name for f in prepared.setups["A"].files] == ["probe.ko"]
    assert prepared.setups["A"] is prepared.setups["B"]


def test_a_source_that_changed_after_the_plan_is_not_built(bench: Bench) -> None:
    plan = bench.kernel_plan()
    with (bench.source / "Makefile").open("a") as file:
        file.write("# changed\n")
    with pytest.raises(InputError, match="have changed since the plan was made"):
        bench.workshop.kernel(plan)


WORK = Work(job=(), cpus=1, exact=True)


def test_an_image_that_changed_after_the_plan_is_not_booted(bench: Bench) -> None:
    image = bench.file("bzImage", "a kernel")
    plan = KernelPlan(key=f"file:{file_digest(image)}", image=str(image))
    assert bench.workshop.setup(plan, WORK).image == image
    image.write_text("another kernel")
    with pytest.raises(InputError, match="changed after the plan was made"):
        bench.workshop.setup(plan, WORK)
    image.unlink()
    with pytest.raises(InputError, match=r"cannot read .*: No such file"):
        bench.workshop.setup(plan, WORK)


def test_what_is_known_of_a_kernel_of_others_is_stored(bench: Bench) -> None:
    image = bench.file("Image.gz", "")
    image.write_bytes(gzip.compress(BZIMAGE))
    config = bench.file("config", 'CONFIG_CC_VERSION_TEXT="gcc 14"\n')
    key = f"file:{file_digest(image)}"
    plan = KernelPlan(key=key, image=str(image), config=str(config))
    setup = bench.workshop.setup(plan, WORK)
    assert setup.image.read_bytes() == BZIMAGE
    assert setup.kernel == KernelFacts(
        key=key,
        config_hash=file_digest(config),
        compiler="gcc 14",
        image="Image.gz",
        image_hash=digest(BZIMAGE),
    )


def test_kernels_are_unpacked_before_anything_is_built(bench: Bench) -> None:
    good, bad = bench.file("bzImage", "a kernel"), bench.file("vmlinuz", "")
    bad.write_bytes(gzip.compress(BZIMAGE)[:-9])
    variants = {
        path.name: variant_plan(
            path.name,
            kernel=KernelPlan(key=f"file:{file_digest(path)}", image=str(path)),
        )
        for path in (good, bad)
    }
    bench.file("proof/attack.c", "int main(void) { return 0; }\n")
    named = programs(X86_64, bench.root / "proof", {"attack": ("attack.c",)}, "proofs")
    plan = run_plan(variants, work=WORK.model_copy(update={"programs": (named,)}))
    with pytest.raises(InputError, match="cannot be unpacked"):
        prepare(plan, bench.cache, Quiet())
    assert bench.cache.items() == []
