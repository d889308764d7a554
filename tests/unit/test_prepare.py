"""What a plan needs is built as it was planned, or not at all."""

from pathlib import Path

import pytest
from kernels import X86_64, fake_source, fragments

from made_up import variant_plan
from temper.digest import file_digest
from temper.errors import InputError
from temper.kernel import Cache, KernelSpec, find_source
from temper.progress import Quiet
from temper.record.plan import KernelPlan, Module, Work
from temper.run.prepare import Workshop
from temper.run.programs import programs


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
    given = bench.file("given.c", "int x;\n")
    on_host = bench.file("cc1", "a compiler")
    named = programs(X86_64, bench.root / "proof", {"attack": ("attack.c",)}, "proofs")
    work = Work(
        job=(),
        cpus=1,
        exact=True,
        programs=(named,),
        files={str(given): file_digest(given)},
        host_files={str(on_host): file_digest(on_host)},
    )
    plan = bench.kernel_plan()
    setup = bench.workshop.setup(variant_plan("off", kernel=plan), work)
    assert setup.kernel.key == plan.key
    assert setup.kernel.config_hash
    assert setup.image.is_file()
    assert [path.name for path in setup.files] == ["attack", "given.c"]
    assert setup.host_files == (on_host,)


def test_a_module_is_built_beside_files_of_the_kernel(bench: Bench) -> None:
    """A header of the kernel's own source, which is nowhere else."""
    bench.file("linux/lib.h", "int of_the_kernel;\n")
    source = bench.file("module/probe.c", '#include "lib.h"\n')
    module = Module(source=str(source), kernel_files=("lib.h",), digest="")
    plan = bench.kernel_plan()
    kernel = bench.workshop.kernel(plan)
    assert bench.workshop.module(plan, kernel, module).name == "probe.ko"


def test_a_source_that_changed_after_the_plan_is_not_built(bench: Bench) -> None:
    plan = bench.kernel_plan()
    with (bench.source / "Makefile").open("a") as file:
        file.write("# changed\n")
    with pytest.raises(InputError, match="have changed since the plan was made"):
        bench.workshop.kernel(plan)


def test_an_image_that_changed_after_the_plan_is_not_booted(bench: Bench) -> None:
    image = bench.file("bzImage", "a kernel")
    plan = KernelPlan(key=f"file:{file_digest(image)}", image=str(image))
    variant = variant_plan("A", kernel=plan)
    work = Work(job=(), cpus=1, exact=True)
    assert bench.workshop.setup(variant, work).image == image
    image.write_text("another kernel")
    with pytest.raises(InputError, match="changed after the plan was made"):
        bench.workshop.setup(variant, work)
