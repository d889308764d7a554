"""The programs that run on a target, and how to build them."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from temper.arch import Arch
from temper.catalog import Feature
from temper.digest import key_of
from temper.errors import BuildError
from temper.kernel.cache import Cache, EntryFacts
from temper.kernel.compiler import compiler_version
from temper.paths import absolute, portable
from temper.process import run
from temper.progress import Progress
from temper.record.plan import Programs
from temper.run.workloads import TARGET, workload_table

_FLAGS = ("-std=gnu11", "-O2", "-static", "-Wall", "-Wextra", "-Werror")
_TIMEOUT = 120.0


def target_programs(arch: Arch, wanted: Iterable[str] = ()) -> Programs:
    """Plan init and all workload programs; only init and ``wanted`` are packed."""
    sources: dict[str, tuple[str, ...]] = {"init": ("init.c",)}
    sources |= {name: (f"{name}.c", "sample.c") for name in workload_table()}
    packed = {"init", *wanted}
    return programs(
        arch, TARGET, sources, "workloads", [name for name in sources if name in packed]
    )


def proof_programs(arch: Arch, feature: Feature) -> Programs:
    """Plan the programs of a feature's proofs, definitions and in-force check."""
    sources = {p.program: (f"{p.program}.c",) for p in feature.target_programs}
    return programs(
        arch, feature.folder / "proof", sources, f"proofs of {feature.name}"
    )


def programs(
    arch: Arch,
    folder: Path,
    sources: Mapping[str, tuple[str, ...]],
    title: str,
    wanted: Iterable[str] | None = None,
) -> Programs:
    """Plan programs in ``folder``; ``wanted``: those to pack, by default all.

    ``sources``: program -> its C files. Raises InfraError if there is no compiler.
    """
    inputs = {
        "names": sources,
        "files": {
            str(path.relative_to(folder)): path.read_text(encoding="utf-8")
            for path in sorted(folder.rglob("*.[ch]"))
        },
        "compiler": compiler_version(arch),
        "flags": _FLAGS,
    }
    return Programs(
        title=title,
        folder=portable(folder),
        sources=dict(sources),
        wanted=tuple(sources if wanted is None else wanted),
        key=key_of(inputs),
    )


def build_programs(
    planned: Programs, arch: Arch, cache: Cache, progress: Progress
) -> list[Path]:
    """Return the paths of the wanted programs; build all if they are not cached.

    Raises BuildError for a program that does not build.
    """

    def make(result: Path, _work: Path) -> EntryFacts:
        for name, sources in planned.sources.items():
            _compile(arch, absolute(planned.folder), sources, result / name)
        return {"arch": arch.name, "programs": list(planned.sources)}

    title = f"programs: {planned.title} for {arch.name}"
    entry = cache.entry("programs", planned.key, title, make, progress)
    return [entry.folder / name for name in planned.wanted]


def _compile(arch: Arch, folder: Path, sources: Iterable[str], output: Path) -> None:
    command = [arch.compiler, *_FLAGS, "-I.", *sources, "-o", str(output)]
    done = run(command, folder, _TIMEOUT)
    if done.status:
        hint = f"apt-get install {arch.libc}" if "-lc" in done.tail(15) else ""
        raise BuildError(f"{output.name} does not build:\n{done.tail(15)}", hint)
