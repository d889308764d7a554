"""What the series touches, object by object, on every architecture it changes.

With the feature in, no warning of W=1 that stock is without; configured out, not an
instruction that differs from stock's. Of riscv64, which the lab does not boot, the
whole kernel is built. loongarch64 is tried where its compiler is: Debian 12 has none.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from lab import params

from temper.arch import arch_named
from temper.catalog import feature_named
from temper.kernel import Cache, base_named, find_source
from temper.kernel.compiler import cross_prefix
from temper.kernel.config import Options, check_config, config_text, wanted_options
from temper.kernel.series import apply_series
from temper.kernel.source import source_tree
from temper.kernel.tree import series_folder
from temper.progress import Quiet
from temper.record.plan import USUAL_BASE

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1800)]

FEATURE = feature_named("kstack")
SERIES = sorted(series_folder(FEATURE).glob("*.patch"))
OPTION = "CONFIG_RANDOMIZE_KSTACK_OFFSET"
# Only experts can leave it out.
OFF = {OPTION: "n", "CONFIG_EXPERT": "y"}
# The file that the series adds, and one that it changes by a header.
KEYS, FORK = "kernel/randomize_kstack.o", "kernel/fork.o"
# It loses what the file above takes over, whether that is configured or not.
MAIN = "init/main.o"
# The object that a file is compiled into, if it has none of its own.
PART_OF = {"kernel/sched/idle": "kernel/sched/build_policy"}

SMALL = {f"CONFIG_{name}": "y" for name in ("64BIT", "SMP", "MULTIUSER", "PRINTK")}


@dataclass(frozen=True)
class Target:
    """An architecture as the kernel's make knows it."""

    make_arch: str
    prefix: str
    """Of the compiler's and binutils' names; empty: this host's."""
    folder: str
    """Its folder in arch/."""
    entry: str
    """The function that system calls come in by."""
    options: Options


def lab_target(name: str, entry: str) -> Target:
    """Return an architecture of the lab, configured as its kernels are."""
    arch = arch_named(name)
    options = wanted_options(arch, (), base_named(USUAL_BASE))
    return Target(name, cross_prefix(arch), arch.kernel_arch, entry, options)


def other_target(folder: str, compiler: str, entry: str, *options: str) -> Target:
    more = dict.fromkeys(options, "y")
    return Target(folder, f"{compiler}-linux-gnu-", folder, entry, SMALL | more)


TARGETS = {
    "x86_64": lab_target("x86_64", "do_syscall_64"),
    "arm64": lab_target("arm64", "do_el0_svc"),
    "riscv64": other_target("riscv", "riscv64", "do_trap_ecall_u"),
    "s390x": other_target("s390", "s390x", "__do_syscall"),
    "powerpc64": other_target(
        *("powerpc", "powerpc64le", "system_call_exception"),
        *("CONFIG_PPC64", "CONFIG_CPU_LITTLE_ENDIAN"),
    ),
    "loongarch64": other_target("loongarch", "loongarch64", "do_syscall"),
    "i386": Target(
        "i386", "", "x86", "do_int80_syscall_32", SMALL | {"CONFIG_64BIT": "n"}
    ),
}
HERE = [
    name
    for name, target in TARGETS.items()
    if name != "loongarch64" or shutil.which(f"{target.prefix}gcc")
]


@dataclass(frozen=True)
class Objects:
    """What came out of one source with one configuration."""

    warnings: set[str]
    """Without line numbers, which the series moves."""
    code: dict[str, str]
    """Object -> its instructions and what they refer to."""


@dataclass(frozen=True)
class Compiled:
    """One architecture's objects, and the tree as it is after the last of them."""

    target: Target
    tree: "Tree"
    stock: Objects
    off: Objects
    on: Objects


def call(*command: str | Path, cwd: Path, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        command,
        cwd=cwd,
        env=os.environ | {"LC_ALL": "C"} | (env or {}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=1500,
        check=False,
    )
    assert done.returncode == 0, f"{command}: {done.stdout[-3000:]}"
    return done.stdout


@dataclass(frozen=True)
class Tree:
    """Stock's source, to build one target after the other in."""

    folder: Path

    @property
    def out(self) -> Path:
        return self.folder / "build"

    def make(self, target: Target, *goals: str) -> str:
        return call(
            *("make", "-s", f"-j{os.cpu_count()}", "O=build"),
            *(f"ARCH={target.make_arch}", f"CROSS_COMPILE={target.prefix}"),
            *(f"CC=ccache {target.prefix}gcc", "HOSTCC=ccache gcc"),
            *goals,
            cwd=self.folder,
            env={
                "CCACHE_DIR": str(Cache().ccache),
                "CCACHE_BASEDIR": str(self.folder),
            },
        )

    def configure(self, target: Target) -> None:
        """Start anew, with the target's options and without the feature's."""
        shutil.rmtree(self.out, ignore_errors=True)
        wanted = self.folder / "wanted.config"
        wanted.write_text(config_text(target.options | OFF))
        self.make(target, f"KCONFIG_ALLCONFIG={wanted}", "allnoconfig")
        check_config(target.options | OFF, self.out / ".config")

    def switch_on(self) -> None:
        """Have the feature's option; make takes it up by itself."""
        config = self.out / ".config"
        off, on = f"# {OPTION} is not set", f"{OPTION}=y\n# {OPTION}_DEFAULT is not set"
        config.write_text(config.read_text().replace(off, on))

    def compile(self, target: Target, *names: str) -> Objects:
        said = self.make(target, "W=1", *names).splitlines()
        warnings = {
            re.sub(r"(:\d+)+:", ":", line) for line in said if "warning:" in line
        }
        return Objects(warnings, {name: self._code(target, name) for name in names})

    def _code(self, target: Target, name: str) -> str:
        tool = f"{target.prefix}objdump"
        return call(tool, "-dr", "--no-show-raw-insn", name, cwd=self.out)

    @contextmanager
    def with_series(self) -> Iterator[None]:
        apply_series(self.folder, SERIES, Quiet())
        try:
            yield
        finally:
            for patch in reversed(SERIES):
                call("patch", "-R", "-p1", "-i", patch, cwd=self.folder)


@pytest.fixture(scope="module")
def tree() -> Iterator[Tree]:
    cache = Cache()
    pristine = source_tree(find_source(None, FEATURE.series, cache), cache, Quiet())
    # Beside the cache: hard links do not reach into other file systems.
    with tempfile.TemporaryDirectory(dir=cache.root.parent, prefix="other-") as name:
        folder = Path(name) / "linux"
        call("cp", "-al", pristine, folder, cwd=pristine)
        yield Tree(folder)
        # Much faster than Python's own way.
        call("rm", "-rf", folder, cwd=pristine)


def touched(target: Target) -> list[str]:
    """Return the objects of all C files that the series changes."""
    files = {
        name
        for patch in SERIES
        for name in re.findall(r"^--- a/(\S+)\.c$", patch.read_text(), re.MULTILINE)
    }
    # A later patch changes what an earlier one adds.
    files.discard(KEYS.removesuffix(".o"))
    return [
        f"{name}.o"
        for name in sorted({PART_OF.get(name, name) for name in files})
        if not name.startswith("arch/") or name.split("/")[1] == target.folder
    ]


@pytest.fixture(scope="module", params=params(HERE, ("x86_64",)))
def compiled(request: pytest.FixtureRequest, tree: Tree) -> Iterator[Compiled]:
    target = TARGETS[request.param]
    names = (*touched(target), FORK)
    tree.configure(target)
    stock = tree.compile(target, *names)
    with tree.with_series():
        off = tree.compile(target, *names)
        tree.switch_on()
        on = tree.compile(target, *names, KEYS)
        yield Compiled(target, tree, stock, off, on)


def test_no_warning_is_new(compiled: Compiled) -> None:
    assert compiled.off.warnings <= compiled.stock.warnings
    assert compiled.on.warnings <= compiled.stock.warnings


def test_configured_out_no_instruction_differs(compiled: Compiled) -> None:
    assert any(f"<{compiled.target.entry}>:" in c for c in compiled.stock.code.values())
    assert compiled.off.code == compiled.stock.code
    # That it would be seen, and is what the feature does.
    differing = {
        n for n, code in compiled.off.code.items() if compiled.on.code[n] != code
    }
    assert differing == {*touched(compiled.target), FORK} - {MAIN}


@pytest.mark.check_all
@pytest.mark.parametrize("compiled", ["riscv64"], indirect=True)
def test_the_kernel_of_riscv64_builds(compiled: Compiled) -> None:
    compiled.tree.make(compiled.target, "vmlinux")
    symbols = (compiled.tree.out / "System.map").read_text().split()
    assert {"kstack_key", "kstack_key_expired", compiled.target.entry} <= set(symbols)
