"""The series compiles for architectures that the lab does not boot.

For riscv64 the whole kernel, for the others the objects that the series touches:
with the feature in, every warning of W=1 an error of the test, and without it.
"""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from temper.catalog import feature_named
from temper.kernel import Cache, find_source
from temper.kernel.tree import BASE, make_tree
from temper.progress import Quiet

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1800)]

FEATURE = feature_named("kstack")
OPTION = "RANDOMIZE_KSTACK_OFFSET"


@dataclass(frozen=True)
class Other:
    """An architecture as the kernel's make knows it."""

    kernel_arch: str
    compiler: str
    folder: str
    """Its folder in arch/."""
    options: tuple[str, ...] = ("-e", "64BIT", "-e", "SMP")
    whole: bool = False
    """Build the kernel, not the touched objects alone."""


OTHERS = {
    "riscv64": Other("riscv", "riscv64-linux-gnu-gcc", "riscv", whole=True),
    "s390x": Other("s390", "s390x-linux-gnu-gcc", "s390"),
    "powerpc64": Other("powerpc", "powerpc64le-linux-gnu-gcc", "powerpc"),
    "loongarch64": Other("loongarch", "loongarch64-linux-gnu-gcc", "loongarch"),
    "i386": Other("i386", "gcc", "x86", ("-d", "64BIT", "-e", "SMP")),
}
# Debian 12 has no compiler for loongarch.
NEEDED = {"riscv64", "s390x", "powerpc64", "i386"}
FOUND = [name for name, other in OTHERS.items() if shutil.which(other.compiler)]


def call(*command: str | Path, cwd: Path, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        command,
        cwd=cwd,
        env=os.environ | (env or {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=1500,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cache, folder = Cache(), tmp_path_factory.mktemp("tree") / "linux"
    source = find_source(None, FEATURE.series, cache)
    make_tree(FEATURE, folder, source, cache, Quiet())
    return folder


def make(tree: Path, other: Other, *targets: str) -> str:
    ccache = {"CCACHE_DIR": str(Cache().ccache), "CCACHE_BASEDIR": str(tree)}
    return call(
        *("make", "-s", f"-j{os.cpu_count()}", "W=1", f"ARCH={other.kernel_arch}"),
        *(f"CC=ccache {other.compiler}", "O=build"),
        f"CROSS_COMPILE={other.compiler.removesuffix('gcc')}",
        *targets,
        cwd=tree,
        env=ccache,
    )


def configure(tree: Path, other: Other, *options: str) -> None:
    shutil.rmtree(tree / "build", ignore_errors=True)
    make(tree, other, "tinyconfig")
    tool = tree / "scripts" / "config"
    always = ("-e", "EXPERT", "-e", "MULTIUSER", "-e", "PRINTK", "-d", "WERROR")
    call(
        tool, "--file", ".config", *always, *other.options, *options, cwd=tree / "build"
    )
    make(tree, other, "olddefconfig")


def touched(tree: Path, other: Other) -> list[str]:
    """Return the objects of the C files that the series touches."""
    files = call("git", "diff", "--name-only", BASE, cwd=tree).splitlines()
    return [
        f"{file.removesuffix('.c')}.o"
        for file in files
        if file.endswith(".c")
        and (not file.startswith("arch/") or file.split("/")[1] == other.folder)
    ]


def complaints(said: str, objects: list[str]) -> list[str]:
    """Return the warnings about what the series touches."""
    files = [name.removesuffix(".o") for name in objects] + ["kstack", "mul_fold"]
    return [
        line
        for line in said.splitlines()
        if ("warning:" in line or "error:" in line) and any(f in line for f in files)
    ]


def test_the_compilers_are_there() -> None:
    assert set(FOUND) >= NEEDED


@pytest.mark.parametrize("name", FOUND)
def test_the_series_compiles(tree: Path, name: str) -> None:
    other = OTHERS[name]
    configure(tree, other, "-e", OPTION)
    config = (tree / "build" / ".config").read_text()
    assert f"CONFIG_{OPTION}=y" in config
    objects = touched(tree, other)
    assert "kernel/randomize_kstack.o" in objects
    said = make(tree, other, *objects)
    assert complaints(said, objects) == []
    if other.whole:
        make(tree, other, "vmlinux")
        assert (tree / "build" / "vmlinux").is_file()


@pytest.mark.parametrize("name", FOUND)
def test_it_compiles_without_the_feature(tree: Path, name: str) -> None:
    other = OTHERS[name]
    configure(tree, other, "-d", OPTION)
    assert f"CONFIG_{OPTION}=y" not in (tree / "build" / ".config").read_text()
    objects = [o for o in touched(tree, other) if o != "kernel/randomize_kstack.o"]
    assert complaints(make(tree, other, *objects), objects) == []
