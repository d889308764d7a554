"""Builds a kernel once: from its specification to a cache entry."""

import gzip
import os
import re
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from temper.arch import Arch, arch_named
from temper.digest import file_digest, key_of
from temper.errors import BuildError
from temper.kernel.bases import base_named
from temper.kernel.cache import Cache, Entry, EntryFacts
from temper.kernel.compiler import (
    compiler_version,
    cross_prefix,
    need_header,
    need_plugin_headers,
)
from temper.kernel.config import (
    Options,
    check_config,
    config_text,
    wanted_options,
)
from temper.kernel.series import apply_series
from temper.kernel.source import Source, source_tree
from temper.process import Finished, call, need_tool
from temper.progress import Progress
from temper.record.plan import USUAL_BASE

BUILD_TOOLS = ("make", "flex", "bison", "bc", "gzip", "ccache", "patch")
"""Programs that a build calls, besides the compiler and tar."""

BUILD_HEADERS = {"gelf.h": "libelf-dev", "stdlib.h": "libc6-dev"}
"""Headers that the kernel's own tools include -> Debian's package."""

FLAGS = {
    "KBUILD_BUILD_TIMESTAMP": "Thu Jan  1 00:00:00 UTC 1970",
    "KBUILD_BUILD_USER": "temper",
    "KBUILD_BUILD_HOST": "temper",
    "KBUILD_BUILD_VERSION": "1",
    "KCFLAGS": "",
    "SOURCE_DATE_EPOCH": "0",
}
"""Environment that makes a build the same on any host, at any time."""

PLUGINS = "CONFIG_GCC_PLUGINS"
"""The kernel's default is whether this host has the headers of GCC's plugins, which
must not decide: it is off where nothing wants it."""

REMOTE_OBJECTS = "CCACHE_REMOTE_STORAGE"
"""The variable by which ccache finds objects that other hosts have compiled."""

RECIPE = 2
"""Raise it if a change to this file changes the kernels that it builds."""

_KEPT = ("System.map", "Module.symvers")

DEVEL = "devel.tar.gz"
"""The archive beside a kernel of ours, of the files that modules are built against."""

_STEP = re.compile(r"^  [A-Z][A-Z0-9_ \[\]]* +(\S+)$")
_CONFIG_TIMEOUT = 900.0
_BUILD_TIMEOUT = 4 * 3600.0
_LOG_TAIL = 15


@dataclass(frozen=True)
class KernelSpec:
    """Everything that decides which kernel is built."""

    arch: Arch
    source: Source
    patches: tuple[Path, ...] = ()
    options: tuple[str, ...] = ()
    """``CONFIG_X=y`` lines in addition to the base's."""
    base: str = USUAL_BASE

    @property
    def wanted(self) -> Options:
        """What its .config must hold."""
        return wanted_options(self.arch, self.options, base_named(self.base))

    def key(self) -> str:
        """Hash what goes into the kernel, but no paths, users or hosts."""
        inputs = {
            "recipe": RECIPE,
            "arch": self.arch.name,
            "source": self.source.digest,
            "patches": [file_digest(patch) for patch in self.patches],
            "options": self.wanted,
            "compiler": compiler_version(self.arch),
            "flags": FLAGS,
        }
        if self.base != USUAL_BASE:
            # Without it, kernels from before there were bases keep their keys.
            inputs["start"] = base_named(self.base).start
        return key_of(inputs)


@dataclass(frozen=True)
class Kernel:
    """A kernel in the cache."""

    key: str
    arch: Arch
    folder: Path
    image: Path
    config: Path
    config_hash: str
    """SHA-256 of ``config``."""
    release: str
    """As ``uname -r`` prints it."""
    compiler: str
    skipped: tuple[str, ...]
    """Patches that the source already had."""
    built: bool
    """True if it was just built, False if it was in the cache."""
    seconds: float
    """How long its build took, even if that was earlier."""

    @classmethod
    def of(cls, entry: Entry) -> Self:
        """Read a kernel from its cache entry."""
        facts = entry.facts
        return cls(
            key=entry.key,
            arch=arch_named(facts["arch"]),
            folder=entry.folder,
            image=entry.folder / facts["image"],
            config=entry.folder / "config",
            config_hash=facts["config_hash"],
            release=facts["release"],
            compiler=facts["compiler"],
            skipped=tuple(facts["skipped"]),
            built=entry.made,
            seconds=facts["seconds"],
        )

    @property
    def devel(self) -> Path:
        """Tarball of the files that modules are built against."""
        return self.folder / DEVEL

    def ready(self, work: Path) -> tuple[Path, tuple[str, ...]]:
        """Unpack what modules are built against; see ``temper.kernel.module``."""
        return unpack_devel(self.devel, work), ()


def unpack_devel(archive: Path, work: Path) -> Path:
    """Unpack the archive DEVEL into ``work``; raise BuildError if it is damaged."""
    done = call(["tar", "-xzf", archive], work, _CONFIG_TIMEOUT)
    if done.status:
        raise BuildError(f"{archive} cannot be unpacked: {done.tail(1)}")
    return work


def build(spec: KernelSpec, cache: Cache, progress: Progress) -> Kernel:
    """Return the kernel of ``spec``, building it if it is not in the cache.

    Raises SeriesError for a patch that does not apply, BuildError if the
    configuration or the build fails, InfraError for a missing tool or a full disk.
    """

    def make(result: Path, work: Path) -> EntryFacts:
        return Build(spec, cache, progress, result, work).make()

    key = spec.key()
    title = f"Linux {spec.source.version} {spec.arch.name}"
    if spec.patches:
        title += f" with {len(spec.patches)} patch" + "es" * (len(spec.patches) > 1)
    return Kernel.of(cache.entry("kernels", key, title, make, progress))


def expected_seconds(arch: Arch, base: str, cache: Cache) -> float | None:
    """Return how long the newest build of such a kernel took; None: there was none."""
    facts = _newest(arch, base, cache)
    return float(facts["seconds"]) if facts else None


def expected_steps(arch: Arch, base: str, cache: Cache) -> int:
    """Guess how many steps a build takes: as many as the last one."""
    facts = _newest(arch, base, cache)
    return int(facts["steps"]) if facts else base_named(base).build_steps[arch.name]


def _newest(arch: Arch, base: str, cache: Cache) -> EntryFacts | None:
    for facts in cache.facts("kernels"):
        if (facts["arch"], facts.get("base", USUAL_BASE)) == (arch.name, base):
            return facts
    return None


@dataclass
class Build:
    """One build, in folders that are removed afterwards."""

    spec: KernelSpec
    cache: Cache
    progress: Progress
    result: Path
    work: Path

    def make(self) -> EntryFacts:
        """Build the kernel, and fill the result's folder with what boots need."""
        started = time.monotonic()
        skipped, steps = self.compile()
        spec = self.spec
        self._keep()
        return {
            "arch": spec.arch.name,
            "base": spec.base,
            "source": {"version": spec.source.version, "digest": spec.source.digest},
            "patches": [patch.name for patch in spec.patches],
            "skipped": [patch.name for patch in skipped],
            "options": spec.wanted,
            "compiler": compiler_version(spec.arch),
            "release": self._read("include/config/kernel.release"),
            "image": Path(spec.arch.image).name,
            "config_hash": file_digest(self.result / "config"),
            "steps": steps,
            "seconds": round(time.monotonic() - started, 1),
            "built": datetime.now(UTC).isoformat(timespec="seconds"),
        }

    def compile(self) -> tuple[tuple[Path, ...], int]:
        """Build the kernel in its tree; return the patches skipped, and the steps."""
        skipped = self.configure()
        return skipped, self._compile()

    def configure(self) -> tuple[Path, ...]:
        """Make the kernel's tree, with its .config; return the patches skipped."""
        for tool in BUILD_TOOLS:
            need_tool(tool)
        for header, package in BUILD_HEADERS.items():
            need_header(header, package)
        if self.spec.wanted.get(PLUGINS) == "y":
            need_tool("g++")
            need_plugin_headers(self.spec.arch)
        self._link(source_tree(self.spec.source, self.cache, self.progress))
        skipped = apply_series(self.tree, self.spec.patches, self.progress)
        self._configure()
        return skipped

    def remake(self, *targets: str) -> Finished:
        """Have make bring targets up to date, as far as one fails."""
        arch = self.spec.arch
        # As tuxmake has them: with another compiler, all would be made again.
        command = [
            *("make", "--silent", f"--jobs={os.cpu_count() or 1}", f"O={self.out}"),
            *(f"ARCH={arch.name}", f"CROSS_COMPILE={cross_prefix(arch)}"),
            *(f"CC=ccache {arch.compiler}", "HOSTCC=ccache gcc", *targets),
        ]
        env = self._environment() | FLAGS
        return call(command, self.tree, _BUILD_TIMEOUT, env=env)

    @property
    def tree(self) -> Path:
        """The patched source."""
        return self.work / "linux"

    @property
    def out(self) -> Path:
        """Where objects go."""
        # From here Kbuild refers to the source as "..", so no absolute path gets into
        # a command or an object: builds in any folder give the same bytes and hit the
        # same entries of the compiler's cache.
        return self.tree / "build"

    def _link(self, pristine: Path) -> None:
        # Linking instead of copying saves a gigabyte of writes. Nothing writes through
        # the links: patch replaces files, and make writes only to ``out``.
        done = call(["cp", "-al", pristine, self.tree], self.work, _CONFIG_TIMEOUT)
        self._check(done, "copy of the source")

    def _configure(self) -> None:
        wanted = self.work / "wanted.config"
        options = {PLUGINS: "n", **self.spec.wanted}
        wanted.write_text(config_text(options), encoding="utf-8")
        with self.progress.task(f"Configuring Linux {self.spec.source.version}"):
            done = self._tuxmake("config", _CONFIG_TIMEOUT, lambda line: None)
        self._check(done, "configuration")
        check_config(self.spec.wanted, self.out / ".config")

    def _compile(self) -> int:
        steps = 0
        total = expected_steps(self.spec.arch, self.spec.base, self.cache)
        title = f"Building Linux {self.spec.source.version}"
        with self.progress.task(title, total) as task:

            def watch(line: str) -> None:
                nonlocal steps
                if step := _STEP.match(line):
                    steps += 1
                    file = step[1].removeprefix(f"{self.out}/")
                    task.update(steps, max(total, steps), file)

            done = self._tuxmake("kernel", _BUILD_TIMEOUT, watch)
        self._check(done, "build")
        log = "\n".join(done.lines) + "\n"
        (self.result / "build.log.gz").write_bytes(gzip.compress(log.encode(), mtime=0))
        return steps

    def _tuxmake(
        self, target: str, timeout: float, on_line: Callable[[str], None]
    ) -> Finished:
        arch = self.spec.arch
        command: list[str | Path] = [
            *(sys.executable, "-m", "tuxmake", "--runtime", "null", "--fail-fast"),
            *("--verbose", "--color", "never", "--wrapper", "ccache"),
            *("--directory", self.tree, "--build-dir", self.out),
            *("--output-dir", self.work / "tuxmake"),
            *("--target-arch", arch.name, "--kernel-image", arch.image_target),
            *("--jobs", str(os.cpu_count() or 1)),
            *("--kconfig", base_named(self.spec.base).start),
            *("--kconfig-add", self.work / "wanted.config"),
            *(f"--environment={name}={value}" for name, value in FLAGS.items()),
            f"CROSS_COMPILE={cross_prefix(arch)}",
            target,
        ]
        return call(
            command, self.work, timeout, env=self._environment(), on_line=on_line
        )

    def _environment(self) -> dict[str, str]:
        """Return the programs' environment: nothing of the user's may leak into it."""
        temporary = self.work / "tmp"
        temporary.mkdir(exist_ok=True)
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.work),
            "TMPDIR": str(temporary),
            # As tuxmake has it: ccache tells objects of other languages apart.
            "LANG": "C",
            # Never with CCACHE_NOCPP2: from preprocessed text GCC makes other code, and
            # the counts of ctx/pipe change.
            "CCACHE_DIR": str(self.cache.ccache),
            # Never with CCACHE_DEPEND: it does not see an .incbin then. An image whose
            # compressed kernel was as long as another's had that other kernel in it.
            # Objects of those who had it are left alone.
            "CCACHE_NAMESPACE": "incbin",
            # Only objtool is compiled with absolute paths.
            "CCACHE_BASEDIR": str(self.tree),
        }
        if remote := os.environ.get(REMOTE_OBJECTS):
            # It says where objects come from, which does not decide what is in them.
            environment[REMOTE_OBJECTS] = remote
        return environment

    def _check(self, done: Finished, what: str) -> None:
        if done.status == 0:
            return
        self.cache.logs.mkdir(exist_ok=True)
        log = self.cache.logs / f"{self.spec.key()}.log"
        log.write_text("\n".join(done.lines) + "\n", encoding="utf-8")
        raise BuildError(
            f"the {what} of Linux {self.spec.source.version} failed:\n"
            f"{done.tail(_LOG_TAIL)}",
            f"the full log is in {log}",
        )

    def _keep(self) -> None:
        image = Path(self.spec.arch.image)
        shutil.copy(self.out / image, self.result / image.name)
        shutil.copy(self.out / ".config", self.result / "config")
        for name in _KEPT:
            shutil.copy(self.out / name, self.result / name)
        with self.progress.task("Packing the headers for modules"):
            self._keep_devel()

    def _keep_devel(self) -> None:
        devel = self.work / "devel"
        compiler = self.spec.arch.compiler
        env = self._environment() | {
            "srctree": "..",
            "SRCARCH": self.spec.arch.kernel_arch,
            # The same for both, so that the script keeps this host's programs.
            "CC": compiler,
            "HOSTCC": compiler,
        }
        self._pack("sh", "../scripts/package/install-extmod-build", devel, env=env)
        if programs := _programs(devel):
            # Their debug information contains the folder of the build.
            self._pack("strip", "--remove-section=.note.gnu.build-id", *programs)
        owner = ("--owner=0", "--group=0", "--numeric-owner")
        options = ("-I", "gzip -1n", "--sort=name", "--mtime=@0", *owner)
        self._pack("tar", *options, "-cf", self.result / DEVEL, "-C", devel, ".")

    def _pack(self, *command: str | Path, env: dict[str, str] | None = None) -> None:
        done = call(command, self.out, _CONFIG_TIMEOUT, env=env)
        self._check(done, "packing of the headers")

    def _read(self, name: str) -> str:
        return (self.out / name).read_text(encoding="utf-8").strip()


def _programs(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if _is_elf(path)]


def _is_elf(path: Path) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"
