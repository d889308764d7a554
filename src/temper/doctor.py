"""What this host has or lacks of what Temper needs, and how to get it."""

import fcntl
import os
import re
import shutil
import subprocess
from enum import StrEnum
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from temper.arch import ARCHES, DEFAULT_ARCH, Arch
from temper.catalog import feature_named, feature_names
from temper.errors import TemperError
from temper.invocation import as_typed
from temper.kernel import Cache
from temper.kernel.builder import BUILD_TOOLS
from temper.kernel.compiler import cross_prefix
from temper.kernel.shared import shared_cache
from temper.kernel.source import DEBIAN_SOURCES
from temper.machine.qemu.own import is_built
from temper.paths import cache_home, data_home
from temper.process import PACKAGES
from temper.scratch import scratch_folder

TOOLS = tuple(dict.fromkeys((*BUILD_TOOLS, "cpio", "git", "setpriv", "tar", "xz")))
"""Programs that Temper calls by name, on every architecture."""

STATIC = ("-static",)
LIBRARIES = {
    "static libc": (DEFAULT_ARCH.libc, STATIC),
    "libelf": ("libelf-dev", ("-include", "libelf.h", "-lelf")),
}
"""Name -> Debian's package, and arguments that this host's gcc must accept."""

GIB = 1 << 30
LEAST_MEMORY = 1.5
"""GiB that a machine sold with 2 GiB actually has, at least."""
FIRST_BUILD = 3.0
"""GiB on disk: source 1.7, build folder 0.3, compiler cache 0.1, and a margin."""
LATER_BUILD = 1.0
"""GiB on disk once the source is unpacked."""
RESULTS = 0.1
"""GiB on disk: a run takes a few MiB."""

KVM = Path("/dev/kvm")
POSTGRESQL = Path("/usr/lib/postgresql")
_KVM_GET_API_VERSION = 0xAE00
_KVM_API_VERSION = 12
_TIMEOUT = 30.0
_VERSION = re.compile(r"\d+(\.\d+)+")


class State(StrEnum):
    """The state of one thing."""

    OK = "ok"
    LACKING = "lacking"
    OPTIONAL = "optional"
    """Lacking, but only some parts of Temper need it."""


class Finding(BaseModel):
    """One thing that the doctor checked."""

    model_config = ConfigDict(frozen=True)

    name: str
    found: str
    """Its version or amount, or what is wrong with it."""
    state: State
    cure: str = ""
    """The command, or else the action, that cures the lack."""


class Examination(BaseModel):
    """Everything that the doctor checked."""

    model_config = ConfigDict(frozen=True)

    schema_version: Literal[1] = 1
    findings: list[Finding]

    @property
    def lacking(self) -> list[Finding]:
        """The required things that are missing."""
        return [found for found in self.findings if found.state is State.LACKING]

    def to_json(self) -> str:
        """Return the examination as indented JSON."""
        return self.model_dump_json(indent=2) + "\n"


def examine() -> Examination:
    """Check all that Temper needs; raise InputError for a broken catalogue."""
    findings = [
        _cpus(),
        _memory(),
        _tool(DEFAULT_ARCH.qemu),
        _plugins(DEFAULT_ARCH),
        *_compilers(DEFAULT_ARCH),
        *(_tool(tool) for tool in TOOLS),
        *(_library("gcc", name, *LIBRARIES[name]) for name in LIBRARIES),
        *_sources(),
        _disk("disk for kernels", cache_home(), _build_space()),
        _disk("disk for results", data_home(), RESULTS),
        *_shared_cache(),
        *(found for arch in ARCHES.values() for found in _other_arch(arch)),
        _overlays(),
        _kvm(),
        _postgresql(),
    ]
    return Examination(findings=findings)


def _ok(name: str, found: str) -> Finding:
    return Finding(name=name, found=found, state=State.OK)


def _lacking(name: str, found: str, cure: str) -> Finding:
    return Finding(name=name, found=found, state=State.LACKING, cure=cure)


def _optional(name: str, found: str, cure: str) -> Finding:
    return Finding(name=name, found=found, state=State.OPTIONAL, cure=cure)


def _package(program: str) -> str:
    return PACKAGES.get(program, program)


def _install(package: str) -> str:
    return f"apt-get install {package}"


def _output(*command: str) -> str | None:
    """Return what ``command`` printed, or None if it failed or is missing."""
    # Not with temper.process, which needs programs that may be missing here.
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=_TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def _cpus() -> Finding:
    return _ok("CPUs", f"{len(os.sched_getaffinity(0))} usable")


def _memory() -> Finding:
    size = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / GIB
    found = f"{size:.1f} GiB"
    if size < LEAST_MEMORY:
        return _lacking("memory", found, "a machine with 2 GiB")
    return _ok("memory", found)


def _other_arch(arch: Arch) -> list[Finding]:
    """Check what only runs with ``--arch`` need."""
    if arch is DEFAULT_ARCH:
        return []
    findings = [
        _tool(arch.qemu),
        _plugins(arch),
        *_compilers(arch),
        _library(arch.compiler, f"static libc for {arch.name}", arch.libc, STATIC),
    ]
    return [
        _optional(found.name, found.found, found.cure)
        if found.state is State.LACKING
        else found
        for found in findings
    ]


def _overlays() -> Finding:
    name = "QEMU with permission overlays"
    if is_built(Cache()):
        return _ok(name, "built")
    return _optional(name, "not built yet", as_typed("temper emulator"))


def _plugins(arch: Arch) -> Finding:
    name = f"{arch.qemu} plugins"
    options = _output(arch.qemu, "-help") or ""
    if re.search(r"^-plugin ", options, re.MULTILINE):
        return _ok(name, "supported")
    cure = f"{_install(_package(arch.qemu))}, and put it first on the PATH"
    return _lacking(name, "no QEMU with plugin support", cure)


def _compilers(arch: Arch) -> list[Finding]:
    return [_compiler(arch), _tool(f"{cross_prefix(arch)}ld")]


def _compiler(arch: Arch) -> Finding:
    finding = _tool(arch.compiler)
    target = (_output(arch.compiler, "-dumpmachine") or "").strip()
    if finding.state is State.OK and not target.startswith(f"{arch.target}-"):
        wrong = f"compiles for '{target}', not for {arch.name}"
        return _lacking(finding.name, wrong, f"use an {arch.name} host")
    return finding


def _tool(program: str) -> Finding:
    package = _package(program)
    if shutil.which(program) is None:
        return _lacking(program, "missing", _install(package))
    output = _output(program, "--version")
    if output is None:
        cure = _install(f"--reinstall {package}")
        return _lacking(program, f"'{program} --version' fails", cure)
    version = _VERSION.search(output)
    return _ok(program, version[0] if version else "prints no version")


def _library(
    compiler: str, name: str, package: str, arguments: tuple[str, ...]
) -> Finding:
    with scratch_folder() as folder:
        source = folder / "main.c"
        source.write_text("int main(void) { return 0; }\n")
        output = _output(compiler, str(source), "-o", f"{folder}/main", *arguments)
    if output is None:
        return _lacking(name, "no program builds with it", _install(package))
    return _ok(name, "found")


def _sources() -> list[Finding]:
    series = sorted({feature_named(name).series for name in feature_names()})
    return [_source(number) for number in series]


def _source(series: str) -> Finding:
    package = f"linux-source-{series}"
    path = DEBIAN_SOURCES / f"{package}.tar.xz"
    if not path.is_file():
        cure = f"{_install(package)}, or use --source with a tree or tarball"
        return _lacking(package, f"{path} is missing", cure)
    version = _output("dpkg-query", "--show", "--showformat=${Version}", package)
    return _ok(package, version or f"{path}, not from a package")


def _build_space() -> float:
    sources = cache_home() / "sources"
    unpacked = sources.is_dir() and any(sources.iterdir())
    return LATER_BUILD if unpacked else FIRST_BUILD


def _disk(name: str, folder: Path, needed: float) -> Finding:
    """Check the disk of ``folder``, which need not exist; ``needed`` is in GiB."""
    there = next(path for path in (folder, *folder.parents) if path.exists())
    if not os.access(there, os.W_OK | os.X_OK):
        cure = "get write access, or set XDG_CACHE_HOME and TEMPER_DATA"
        return _lacking(name, f"{there} is not writable", cure)
    free = shutil.disk_usage(there).free / GIB
    found = f"{free:.1f} GiB free at {folder}"
    if free < needed:
        prune = as_typed("temper cache prune")
        cure = f"free {needed:.1f} GiB there; '{prune}' may help"
        return _lacking(name, found, cure)
    return _ok(name, found)


def _shared_cache() -> list[Finding]:
    """Check the shared cache, if there is one, which no command needs to go on."""
    name = "shared cache"
    try:
        if not (shared := shared_cache()):
            return []
        with scratch_folder() as folder:
            shared.probe(folder)
    except TemperError as error:
        return [_optional(name, error.message, error.hint)]
    return [_ok(name, f"{shared.place} can be read and written")]


def _kvm() -> Finding:
    name = "KVM"
    try:
        with KVM.open("r+b", buffering=0) as device:
            version = fcntl.ioctl(device, _KVM_GET_API_VERSION)
    except FileNotFoundError:
        cure = "turn on (nested) virtualisation; modprobe kvm_intel or kvm_amd"
        return _optional(name, f"{KVM} is missing", cure)
    except PermissionError:
        return _optional(name, f"this user may not use {KVM}", 'adduser "$USER" kvm')
    except OSError as error:
        return _optional(name, f"{KVM}: {error.strerror}", "modprobe kvm")
    if version != _KVM_API_VERSION:
        return _optional(name, f"API {version}, not {_KVM_API_VERSION}", "a newer host")
    return _ok(name, f"API {version}; not used by this version yet")


def _postgresql() -> Finding:
    name = "PostgreSQL server"
    servers = POSTGRESQL.glob("*/bin/postgres")
    versions = sorted(int(path.parts[-3]) for path in servers)
    if not versions:
        return _optional(name, "missing", _install("postgresql"))
    return _ok(name, str(versions[-1]))
