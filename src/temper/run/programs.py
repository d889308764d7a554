"""The programs that run on a target, and how to build them."""

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from temper.arch import Arch
from temper.catalog import Feature
from temper.digest import file_digest, key_of
from temper.errors import BuildError
from temper.kernel.cache import Cache, EntryFacts
from temper.kernel.compiler import compiler_version
from temper.paths import absolute, portable
from temper.process import call
from temper.progress import Progress
from temper.record.plan import Programs
from temper.workloads import TARGET, programs_by_folder

_FLAGS = ("-std=gnu11", "-O2", "-static", "-Wall", "-Wextra", "-Werror")
_TIMEOUT = 120.0


def workload_programs(arch: Arch, wanted: Collection[str]) -> list[Programs]:
    """Plan init and the ``wanted`` workload programs, in whichever folder they are."""
    planned = [target_programs(arch, wanted)]
    for folder, names in programs_by_folder().items():
        packed = [name for name in names if name in wanted]
        if packed and folder != TARGET:
            sample = _from(folder, TARGET / "sample.c")
            sources = {name: (f"{name}.c", sample) for name in names}
            title = f"workloads of {folder.parent.name}"
            planned.append(programs(arch, folder, sources, title, packed, [TARGET]))
    return planned


def target_programs(arch: Arch, wanted: Collection[str] = ()) -> Programs:
    """Plan init and the workloads of target/; only init and ``wanted`` are packed."""
    names = programs_by_folder()[TARGET]
    sources: dict[str, tuple[str, ...]] = {"init": ("init.c",)}
    sources |= {name: (f"{name}.c", "sample.c") for name in names}
    packed = {"init", *wanted}
    return programs(
        arch, TARGET, sources, "workloads", [name for name in sources if name in packed]
    )


def led_init(arch: Arch) -> Programs:
    """Plan the init of guests that the host leads through events."""
    return programs(arch, TARGET, {"init": ("led.c",)}, "init of led guests")


def proof_programs(arch: Arch, feature: Feature) -> Programs:
    """Plan the programs of a feature's proofs, definitions and in-force check."""
    sources = {p.program: (f"{p.program}.c",) for p in feature.target_programs}
    folder, title = feature.folder / "proof", f"proofs of {feature.name}"
    return programs(arch, folder, sources, title, include=[TARGET])


def programs(
    arch: Arch,
    folder: Path,
    sources: Mapping[str, tuple[str, ...]],
    title: str,
    wanted: Iterable[str] | None = None,
    include: Sequence[Path] = (),
) -> Programs:
    """Plan programs in ``folder``; ``wanted``: those to pack, by default all.

    ``sources``: program -> its C files, relative to ``folder``. ``include``: other
    folders whose headers they may include. Raises InfraError if there is no compiler.
    """
    inputs = {
        "names": sources,
        "files": {
            name: (folder / name).read_text(encoding="utf-8")
            for name in _files(folder, sources, include)
        },
        "compiler": compiler_version(arch),
        "libc": _libc(arch.compiler),
        "flags": _FLAGS,
    }
    return Programs(
        title=title,
        folder=portable(folder),
        sources=dict(sources),
        wanted=tuple(sources if wanted is None else wanted),
        include=tuple(map(portable, include)),
        key=key_of(inputs),
    )


@cache
def _libc(compiler: str) -> str:
    """Return the digest of the libc that programs are linked with; empty: no libc."""
    words = [compiler, "-print-file-name=libc.a"]
    path = Path("".join(call(words, Path("/"), _TIMEOUT).lines[:1]))
    return file_digest(path) if path.is_absolute() and path.is_file() else ""


def build_programs(
    planned: Programs, arch: Arch, cache: Cache, progress: Progress
) -> list[Path]:
    """Return the paths of the wanted programs; build all if they are not cached.

    Raises BuildError for a program that does not build.
    """

    def make(result: Path, _work: Path) -> EntryFacts:
        folder = absolute(planned.folder)
        include = [_from(folder, absolute(each)) for each in planned.include]
        for name, sources in planned.sources.items():
            _compile(arch, folder, [".", *include], sources, result / name)
        return {"arch": arch.name, "programs": list(planned.sources)}

    title = f"programs: {planned.title} for {arch.name}"
    entry = cache.entry("programs", planned.key, title, make, progress)
    return [entry.folder / name for name in planned.wanted]


def _files(
    folder: Path, sources: Mapping[str, tuple[str, ...]], include: Iterable[Path]
) -> set[str]:
    """Return all files that the compiler may read, relative to ``folder``."""
    named = (folder / file for files in sources.values() for file in files)
    found = [path for path in named if path.is_file()]
    found += [path for each in include for path in each.rglob("*.h")]
    return {_from(folder, path) for path in (*folder.rglob("*.[ch]"), *found)}


def _from(folder: Path, path: Path) -> str:
    """Name a file so that compiling in ``folder`` is the same in any checkout."""
    return os.path.relpath(path, folder)


def _compile(
    arch: Arch,
    folder: Path,
    include: Iterable[str],
    sources: Iterable[str],
    output: Path,
) -> None:
    folders = [f"-I{each}" for each in include]
    command = [arch.compiler, *_FLAGS, *folders, *sources, "-o", str(output)]
    done = call(command, folder, _TIMEOUT)
    if done.status:
        hint = f"apt-get install {arch.libc}" if "-lc" in done.tail(15) else ""
        raise BuildError(f"{output.name} does not build:\n{done.tail(15)}", hint)
