"""What a debugger knows of a kernel, from what its build left."""

import io
import os
import tarfile
from pathlib import Path

import pytest
from kernels import Watcher, fake_source, fragments, spec

from made_up import run_plan, variant_plan
from temper.errors import BuildError
from temper.kernel import Cache, Debugged, Kernel, build
from temper.record.plan import KernelPlan, Outside, RunPlan, Work
from temper.run.prepare import Setup, prepare

OFFSETS = """\
#ifndef __ASM_OFFSETS_H__
#define __ASM_OFFSETS_H__
/*
 * DO NOT MODIFY.
 */

#define TSK_TI_SCS_SP 24 /* offsetof(struct task_struct, thread_info.scs_sp) */
#define BELOW -16 /* of a stack */
#define ODD 0x10
 #define INSIDE 7

#define NOTHING

#endif
"""


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    fragments(tmp_path / "fragments", monkeypatch)
    source = with_offsets(fake_source(tmp_path / "linux"))
    cache = Cache(tmp_path / "cache")
    return build(spec(source, cache), cache, Watcher())


def with_offsets(source: Path) -> Path:
    """Have what modules are built against hold offsets."""
    (source / "include" / "generated").mkdir()
    (source / "include" / "generated" / "asm-offsets.h").write_text(OFFSETS)
    return source


def test_a_kernels_symbols_and_constants_are_known(kernel: Kernel) -> None:
    debugged = Debugged.of(kernel)
    assert debugged.constants == {"TSK_TI_SCS_SP": 24, "BELOW": -16}
    (at, _, name), *_ = debugged.symbols.rows
    assert debugged.symbols.address(name) == at


def test_a_tree_has_them_where_make_leaves_them(tmp_path: Path, kernel: Kernel) -> None:
    out = tmp_path / "out"
    header = out / "include" / "generated" / "asm-offsets.h"
    header.parent.mkdir(parents=True)
    header.write_text(OFFSETS)
    (out / "System.map").write_bytes((kernel.folder / "System.map").read_bytes())
    assert Debugged.in_tree(out) == Debugged.of(kernel)


def replaced(kernel: Kernel, name: str, kind: bytes) -> None:
    """Have a kernel's tarball hold nothing but one thing."""
    kernel.devel.unlink()
    with tarfile.open(kernel.devel, "w:gz") as archive:
        member = tarfile.TarInfo(name)
        member.type = kind
        archive.addfile(member, io.BytesIO())


def test_a_kernel_without_constants_is_told(kernel: Kernel) -> None:
    replaced(kernel, "./include/generated/autoconf.h", tarfile.REGTYPE)
    with pytest.raises(BuildError) as caught:
        Debugged.of(kernel)
    assert caught.value.message.startswith(
        f"{kernel.devel} has no ./include/generated/asm-offsets.h: "
    )


@pytest.mark.parametrize("content", [None, b"", b"no archive"])
def test_a_kernel_whose_files_cannot_be_read_is_told(
    kernel: Kernel, content: bytes | None
) -> None:
    kernel.devel.unlink()
    if content is not None:
        kernel.devel.write_bytes(content)
    with pytest.raises(BuildError, match=r"asm-offsets\.h: "):
        Debugged.of(kernel)


def test_a_torn_archive_is_told(kernel: Kernel) -> None:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        member = tarfile.TarInfo("./include/generated/asm-offsets.h")
        member.size = 100_000
        archive.addfile(member, io.BytesIO(os.urandom(member.size)))
    kernel.devel.unlink()
    kernel.devel.write_bytes(content.getvalue()[:50_000])
    with pytest.raises(BuildError):
        Debugged.of(kernel)


def setups(tmp_path: Path, kernel: Kernel, outside: Outside | None) -> dict[str, Setup]:
    planned = KernelPlan(
        key=kernel.key, source=str(tmp_path / "linux"), version=kernel.release
    )
    variants = {name: variant_plan(name, kernel=planned) for name in ("off", "on")}
    work = Work(job=("run attack",), cpus=1, exact=False)
    plan: RunPlan = run_plan(variants, work=work, outside=outside)
    return dict(prepare(plan, Cache(tmp_path / "cache"), Watcher()).setups)


def test_kernels_that_are_attacked_from_outside_are_known(
    tmp_path: Path, kernel: Kernel
) -> None:
    known = Debugged.of(kernel)
    found = setups(tmp_path, kernel, Outside(folder="outside", digest=""))
    assert [(name, setup.debugged) for name, setup in found.items()] == [
        ("off", known),
        ("on", known),
    ]
    assert all(setup.image.is_file() for setup in found.values())


def test_of_others_nothing_need_be_known(tmp_path: Path, kernel: Kernel) -> None:
    found = setups(tmp_path, kernel, None)
    assert [setup.debugged for setup in found.values()] == [None, None]
