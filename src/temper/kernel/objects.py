"""What it takes to compile some objects of a kernel's own source, and nothing else."""

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from temper.digest import key_of
from temper.errors import BuildError
from temper.kernel.builder import Build, KernelSpec
from temper.kernel.cache import Cache, EntryFacts
from temper.progress import Progress

RECIPE = 1
"""Raise it if a change to this file changes what it gathers."""

_LOG_TAIL = 15
_CONFIGURATION = "include/generated/autoconf.h"
"""What all objects include, and Kbuild notes option by option instead."""
_COMPILER = re.compile(r"(?<= := )(?:ccache )?\S*gcc ")
_AFTERWARDS = re.compile(r"(?<=\.[cS]) +; .*")
"""What objtool does with an object, which is of no compiler."""


def compilable(
    spec: KernelSpec, names: Sequence[str], cache: Cache, progress: Progress
) -> Path:
    """Return a folder whose ``linux/build`` can compile objects of a kernel.

    It has their sources, all headers that these include, and Kbuild's commands, which
    call the compiler ``gcc``. The kernel is configured for that but not built. Raises
    BuildError for an object that does not compile, and whatever a build raises.
    """

    def make(result: Path, work: Path) -> EntryFacts:
        build = Build(spec, cache, progress, result, work)
        build.configure()
        with progress.task(f"Compiling {len(names)} objects"):
            done = build.remake(*names)
        if done.status:
            raise BuildError(
                f"objects of Linux {spec.source.version} do not compile:\n"
                f"{done.tail(_LOG_TAIL)}"
            )
        for name in names:
            _gather(build, name, result / "linux")
        return {"arch": spec.arch.name, "objects": list(names)}

    key = key_of({"recipe": RECIPE, "kernel": spec.key(), "objects": list(names)})
    title = f"{len(names)} objects of Linux {spec.source.version} {spec.arch.name}"
    return cache.entry("objects", key, title, make, progress).folder


def _gather(build: Build, name: str, linux: Path) -> None:
    """Copy an object's command and what it reads to the places of the tree."""
    target = Path(name)
    note = target.with_name(f".{target.name}.cmd")
    text = (build.out / note).read_text(encoding="utf-8")
    for path in (build.out / _CONFIGURATION, *_read(text, build)):
        place = linux / path.relative_to(build.tree)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, place)
    place = linux / build.out.relative_to(build.tree) / note
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(command_of(text), encoding="utf-8")


def command_of(note: str) -> str:
    """Return the line of Kbuild's note on an object that says how to compile it.

    Without what only the host has: its name of the compiler, a cache of objects, the
    kernel's own tools.
    """
    line = note.partition("\n")[0]
    return _AFTERWARDS.sub("", _COMPILER.sub("gcc ", line, count=1)) + "\n"


def _read(note: str, build: Build) -> Iterator[Path]:
    """Yield the files of the tree that Kbuild noted as read for an object.

    A guest's compiler has its own headers.
    """
    for word in note.replace("\\", " ").split():
        path = Path(os.path.normpath(build.out / word))
        ours = path.is_relative_to(build.tree) and path.suffix in {".c", ".h", ".S"}
        if ours and path.is_file():
            yield path
