"""Builds a kernel module from one C file, against a kernel in the cache."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from temper.digest import file_digest, key_of
from temper.errors import BuildError, InputError
from temper.kernel.builder import FLAGS, Kernel
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


def module_files(source: Path) -> list[Path]:
    """Return the C file ``source`` and the headers in its folder, which it may include.

    Raises InputError if ``source`` is missing.
    """
    if not source.is_file():
        raise InputError(f"there is no module source {source}")
    return [source, *sorted(source.parent.glob("*.h"))]


def build_module(
    kernel: Kernel,
    source: Path,
    cache: Cache,
    progress: Progress,
    beside: Sequence[Path] = (),
) -> Path:
    """Return the module built from the C file ``source`` for ``kernel``.

    ``source`` can include the files from ``module_files`` and the files ``beside``.
    Raises InputError if ``source`` is missing, BuildError if it does not build.
    """
    files = [*module_files(source), *beside]
    key = key_of(
        {
            "recipe": RECIPE,
            "kernel": kernel.key,
            "files": {file.name: file_digest(file) for file in files},
            "source": source.name,
        }
    )

    def make(result: Path, work: Path) -> EntryFacts:
        with progress.task(f"Building module {source.stem}"):
            module = _make(kernel, files, work)
        shutil.copy(module, result)
        return {"kernel": kernel.key, "source": source.name}

    title = f"module {source.stem} for Linux {kernel.release} {kernel.arch.name}"
    entry = cache.entry("modules", key, title, make, progress)
    return entry.folder / f"{source.stem}.ko"


def _make(kernel: Kernel, files: Sequence[Path], work: Path) -> Path:
    source = files[0]
    devel, folder, temporary = work / "devel", work / "module", work / "tmp"
    for path in (devel, folder, temporary):
        path.mkdir()
    for file in files:
        shutil.copy(file, folder)
    (folder / "Kbuild").write_text(_KBUILD.format(name=source.stem), encoding="utf-8")
    make = [
        *("make", f"M={folder}", f"ARCH={kernel.arch.kernel_arch}"),
        *(f"CC={kernel.arch.compiler}", f"CROSS_COMPILE={cross_prefix(kernel.arch)}"),
    ]
    env = FLAGS | {"PATH": os.environ["PATH"], "TMPDIR": str(temporary)}
    commands: list[list[str | Path]] = [
        ["tar", "-xzf", kernel.devel],
        [*make, "modules"],
    ]
    for command in commands:
        done = call(command, devel, _TIMEOUT, env=env)
        if done.status:
            raise BuildError(
                f"module {source.name} does not build for Linux {kernel.release}:\n"
                f"{done.tail(_LOG_TAIL)}"
            )
    return folder / f"{source.stem}.ko"
