"""libvgetrandom as this checkout has it: built once for each of its states."""

import hashlib
import json
import shutil
from pathlib import Path

from temper.arch import Arch
from temper.errors import BuildError
from temper.kernel import Cache
from temper.kernel.cache import EntryFacts
from temper.kernel.compiler import compiler_version
from temper.paths import REPOSITORY
from temper.process import call
from temper.progress import Quiet

SOURCE = REPOSITORY / "libvgetrandom"

CROSS_FILES = {"x86_64": None, "arm64": SOURCE / "cross" / "aarch64.ini"}

_READ_BY_MESON = ("*.[chS]", "meson*", "*.ini", "*.map", "*.3", "*.in")
_STATIC = ("-Dc_link_args=-static", "-Dprefer_static=true")
_TIMEOUT = 600.0


def static_programs(arch: Arch, targets: tuple[str, ...]) -> dict[str, Path]:
    """Build programs of its tests that run on any kernel; return them by their names.

    ``targets`` are Meson's. Raises BuildError, or InfraError without a tool.
    """

    def make(result: Path, work: Path) -> EntryFacts:
        _compile(arch, work / "build", targets)
        for program in _executables(work / "build"):
            shutil.copy(program, result)
        return {"arch": arch.name}

    inputs = {
        "files": _files(),
        "compiler": compiler_version(arch),
        "targets": targets,
    }
    key = hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()
    title = f"programs: tests of libvgetrandom for {arch.name}"
    entry = Cache().entry("programs", key, title, make, Quiet())
    return {path.name: path for path in entry.folder.iterdir() if not path.suffix}


def _files() -> dict[str, str]:
    """Hash all that a build reads."""
    paths = {path for pattern in _READ_BY_MESON for path in SOURCE.rglob(pattern)}
    return {
        str(path.relative_to(SOURCE)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(paths)
    }


def _compile(arch: Arch, build: Path, targets: tuple[str, ...]) -> None:
    cross = CROSS_FILES[arch.name]
    options = ("--cross-file", cross) if cross else ()
    _call("meson", "setup", *options, *_STATIC, build, SOURCE)
    _call("meson", "compile", "-C", build, *targets)


def _executables(build: Path) -> list[Path]:
    targets = json.loads(_call("meson", "introspect", "--targets", build))
    return [
        path
        for target in targets
        if target["type"] == "executable"
        for path in map(Path, target["filename"])
        if path.exists()
    ]


def _call(*command: str | Path) -> str:
    done = call(command, SOURCE, _TIMEOUT)
    if done.status:
        raise BuildError(f"libvgetrandom does not build:\n{done.tail(15)}")
    return "\n".join(done.lines)
