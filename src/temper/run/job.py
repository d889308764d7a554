"""What a target is to do, packed so that a kernel can boot into it."""

import hashlib
import json
import os
import shutil
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache as remember
from pathlib import Path
from typing import Any

from temper.arch import Arch
from temper.catalog import Feature
from temper.errors import BuildError, InfraError, InputError
from temper.kernel.cache import Cache, Facts
from temper.kernel.compiler import compiler_version
from temper.paths import REPOSITORY
from temper.process import SCRATCH_FULL_HINT, run
from temper.progress import Progress

TARGET = REPOSITORY / "target"

_FLAGS = ("-std=gnu11", "-O2", "-static", "-Wall", "-Wextra", "-Werror")
_TIMEOUT = 120.0
_LEAST = 100


@dataclass(frozen=True)
class Workload:
    """A workload with its size decided."""

    name: str
    samples: int
    warmup: int
    module: str = ""
    """C file of target/module/ whose module it loads; empty: none."""
    kernel_files: tuple[str, ...] = ()
    """Files of the kernel's own source that the module is made of."""
    compiles: str = ""
    """C file of target/ that it compiles; empty: none."""

    @property
    def program(self) -> str:
        """The program that measures it."""
        return self.name.partition("/")[0]

    @property
    def line(self) -> str:
        """The line of the job that runs it."""
        program, word = self.name.split("/")
        return f"run {program} {word} {self.samples} {self.warmup}"


def workloads(names: tuple[str, ...], calls: int) -> list[Workload]:
    """Size the named workloads for ``calls`` calls of the smallest kind.

    As a warm-up a tenth of the samples is taken first. Raises InputError for an unknown
    name or too few calls.
    """
    if calls < 100:
        raise InputError(f"{calls} calls are too few", "give at least 100")
    table = _workload_table()
    sized = []
    for name in names:
        program, _, word = name.partition("/")
        if word not in table.get(program, {}).get("words", ()):
            known = ", ".join(all_workloads())
            raise InputError(f"unknown workload '{name}'", f"known: {known}")
        sized.append(_sized(name, table[program], calls))
    return sized


def _sized(name: str, fields: dict[str, Any], calls: int) -> Workload:
    samples = max(fields.get("least", _LEAST), round(calls * fields["share"]))
    return Workload(
        name=name,
        samples=samples,
        warmup=max(1, samples // 10),
        module=fields.get("module", ""),
        kernel_files=tuple(fields.get("kernel_files", ())),
        compiles=fields.get("compiles", ""),
    )


def all_workloads() -> tuple[str, ...]:
    """Return the names of all workloads."""
    return _names(_workload_table())


def common_workloads() -> tuple[str, ...]:
    """Return the names of the workloads that need not be asked for by name."""
    table = _workload_table()
    return _names({p: table[p] for p in table if not table[p].get("on_request")})


def _names(table: dict[str, dict[str, Any]]) -> tuple[str, ...]:
    return tuple(
        f"{program}/{word}"
        for program, fields in table.items()
        for word in fields["words"]
    )


@remember
def _workload_table() -> dict[str, dict[str, Any]]:
    return tomllib.loads((TARGET / "workloads.toml").read_text(encoding="utf-8"))


def target_programs(arch: Arch, cache: Cache, progress: Progress) -> list[Path]:
    """Build init and the workload programs; return their paths."""
    names = {"init": ["init.c"]}
    names |= {name: [f"{name}.c", "sample.c"] for name in _workload_table()}
    return build_programs(TARGET, names, "workloads", arch, cache, progress)


def proof_programs(
    feature: Feature, arch: Arch, cache: Cache, progress: Progress
) -> list[Path]:
    """Build the programs of a feature's proofs and in-force check."""
    names = {p.program: [f"{p.program}.c"] for p in feature.target_programs}
    title = f"proofs of {feature.name}"
    return build_programs(feature.folder / "proof", names, title, arch, cache, progress)


def build_programs(
    folder: Path,
    names: dict[str, list[str]],
    title: str,
    arch: Arch,
    cache: Cache,
    progress: Progress,
) -> list[Path]:
    """Build programs for the target; return their paths, in the order of ``names``.

    ``names``: program -> its C files in ``folder``, which may include the headers
    there. Raises BuildError for one that does not build.
    """
    inputs = {
        "names": names,
        "files": {
            str(path.relative_to(folder)): path.read_text(encoding="utf-8")
            for path in sorted(folder.rglob("*.[ch]"))
        },
        "compiler": compiler_version(arch),
        "flags": _FLAGS,
    }
    key = hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()

    def make(result: Path, _work: Path) -> Facts:
        for name, sources in names.items():
            _compile(arch, folder, sources, result / name)
        return {"arch": arch.name, "programs": list(names)}

    full = f"programs: {title} for {arch.name}"
    entry = cache.entry("programs", key, full, make, progress)
    return [entry.folder / name for name in names]


def _compile(arch: Arch, folder: Path, sources: list[str], output: Path) -> None:
    command = [arch.compiler, *_FLAGS, "-I.", *sources, "-o", str(output)]
    done = run(command, folder, _TIMEOUT)
    if done.status:
        hint = f"apt-get install {arch.libc}" if "-lc" in done.tail(15) else ""
        raise BuildError(f"{output.name} does not build:\n{done.tail(15)}", hint)


def pack(
    job: list[str], files: list[Path], work: Path, host_files: Sequence[Path] = ()
) -> Path:
    """Make an initramfs of ``files`` and the lines of a job, in ``work``.

    The ``host_files`` keep the path they have here. The same contents give the same
    bytes.
    """
    root = work / "root"
    root.mkdir()
    for path in files:
        _put(path, root / path.name)
    for path in host_files:
        _put(path, root / path.relative_to("/"))
    (root / "job").write_text("\n".join(job) + "\n", encoding="utf-8")
    (root / "job").chmod(0o644)
    # Folders come before what is in them.
    packed = sorted(root.rglob("*"))
    names = [str(path.relative_to(root)) for path in packed]
    for path in (*packed, root):
        os.utime(path, (0, 0))
    archive = work / "initramfs"
    listing = work / "listing"
    listing.write_text("".join(f"{name}\n" for name in names))
    options = ("-o", "-H", "newc", "--reproducible", "-R", "0:0")
    command: tuple[str | Path, ...] = ("cpio", *options, "-F", archive)
    with listing.open("rb") as stdin:
        done = run(command, root, _TIMEOUT, stdin=stdin, full_hint=SCRATCH_FULL_HINT)
    if done.status:
        raise InfraError(f"cpio failed with status {done.status}: {done.tail(1)}")
    return archive


def _put(path: Path, place: Path) -> None:
    for folder in reversed(place.parents):
        if not folder.exists():
            folder.mkdir()
            folder.chmod(0o755)
    shutil.copy(path, place)
    place.chmod(0o755)
