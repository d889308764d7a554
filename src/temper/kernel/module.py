"""Builds kernel modules: from a C file, or from a folder of the kernel's own source."""

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from temper.arch import Arch
from temper.digest import file_digest, key_of
from temper.errors import BuildError, InputError
from temper.kernel.builder import FLAGS
from temper.kernel.cache import Cache, EntryFacts
from temper.kernel.compiler import cross_prefix
from temper.process import call
from temper.progress import Progress

RECIPE = 1
"""Raise it if a change to this file changes the modules that it builds."""

_TIMEOUT = 600.0
_LOG_TAIL = 15

# The prefix map keeps the folder's name out of the module.
_KBUILD = """\
obj-m := {name}.o
ccflags-y := -I$(src) -ffile-prefix-map=$(src)/=
"""


class Devel(Protocol):
    """What modules are built against: a kernel of ours, or headers of another's."""

    @property
    def key(self) -> str:
        """A hash of what modules depend on."""

    @property
    def arch(self) -> Arch:
        """The architecture."""

    @property
    def release(self) -> str:
        """As ``uname -r`` prints it."""

    def ready(self, work: Path) -> tuple[Path, tuple[str, ...]]:
        """Return the folder for make to run in, and words that it needs.

        ``work`` is an empty folder for what has to be unpacked.
        """


def module_files(source: Path) -> list[Path]:
    """Return the C file ``source`` and the headers in its folder, which it may include.

    Of a folder, return all files. Raises InputError if ``source`` is missing.
    """
    if source.is_dir():
        return sorted(path for path in source.iterdir() if path.is_file())
    if not source.is_file():
        raise InputError(f"there is no module source {source}")
    return [source, *sorted(source.parent.glob("*.h"))]


def module_digest(source: Path) -> str:
    """Return the digest of all files from ``module_files``, and of their names."""
    return key_of({path.name: file_digest(path) for path in module_files(source)})


@dataclass(frozen=True)
class Beside:
    """Files of the kernel's own source that a module is built from."""

    key: str
    """It decides what they are, so that they are looked for only where they are needed:
    to check a whole tree takes longer than to build a module."""
    files: Callable[[], Sequence[Path]]


def build_module(
    devel: Devel,
    source: Path,
    cache: Cache,
    progress: Progress,
    beside: Beside | None = None,
    switches: Sequence[str] = (),
) -> Path:
    """Return the module built from ``source``: a C file, or a folder with a Kbuild.

    What it is built from can include the files from ``module_files`` and the files
    ``beside``. ``switches``: words for make, such as ``CONFIG_X=m``. Raises InputError
    if ``source`` is missing, BuildError if it does not build.
    """
    own = module_files(source)
    inputs: dict[str, object] = {
        "recipe": RECIPE,
        "kernel": devel.key,
        "files": {file.name: file_digest(file) for file in own},
        "source": source.name,
    }
    # Without them, modules of one file keep their keys.
    if beside:
        inputs["beside"] = beside.key
    if switches:
        inputs["switches"] = list(switches)

    def make(result: Path, work: Path) -> EntryFacts:
        # Ours last: they may replace one of the kernel's.
        files = [*(beside.files() if beside else ()), *own]
        with progress.task(f"Building module {source.stem}"):
            module = _make(devel, source, files, switches, work)
        shutil.copy(module, result)
        return {"kernel": devel.key, "source": source.name}

    title = f"module {source.stem} for Linux {devel.release} {devel.arch.name}"
    entry = cache.entry("modules", key_of(inputs), title, make, progress)
    return entry.folder / f"{source.stem}.ko"


def _make(
    devel: Devel,
    source: Path,
    files: Sequence[Path],
    switches: Sequence[str],
    work: Path,
) -> Path:
    unpacked, folder, temporary = work / "devel", work / "module", work / "tmp"
    for path in (unpacked, folder, temporary):
        path.mkdir()
    for file in files:
        shutil.copy(file, folder)
    if not source.is_dir():
        kbuild = _KBUILD.format(name=source.stem)
        (folder / "Kbuild").write_text(kbuild, encoding="utf-8")
    place, words = devel.ready(unpacked)
    make = [
        *("make", f"M={folder}", f"ARCH={devel.arch.kernel_arch}"),
        *(f"CC={devel.arch.compiler}", f"CROSS_COMPILE={cross_prefix(devel.arch)}"),
        *(*words, *switches, f"-j{os.cpu_count() or 1}", "modules"),
    ]
    env = FLAGS | {"PATH": os.environ["PATH"], "TMPDIR": str(temporary)}
    done = call(make, place, _TIMEOUT, env=env)
    module = folder / f"{source.stem}.ko"
    # A Makefile may leave it out without a word.
    if done.status or not module.is_file():
        raise BuildError(
            f"module {source.name} does not build for Linux {devel.release}:\n"
            f"{done.tail(_LOG_TAIL)}"
        )
    return module
