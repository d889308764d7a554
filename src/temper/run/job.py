"""What a target is to do, packed so that a kernel can boot into it."""

import hashlib
import json
import os
import shutil
import tomllib
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


@dataclass(frozen=True)
class Workload:
    """A workload with its size decided."""

    name: str
    samples: int
    warmup: int

    @property
    def line(self) -> str:
        """The line of the job that runs it."""
        program, word = self.name.split("/")
        return f"run {program} {word} {self.samples} {self.warmup}"


def workloads(names: tuple[str, ...], calls: int) -> list[Workload]:
    """Size the named workloads for ``calls`` calls of the smallest kind.

    As a warm-up a tenth of them is made first. Raises InputError for an unknown
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
        samples = max(100, round(calls * table[program]["share"]))
        sized.append(Workload(name, samples, samples // 10))
    return sized


def all_workloads() -> tuple[str, ...]:
    """Return the names of all workloads."""
    return _names(_workload_table())


def kernel_workloads() -> tuple[str, ...]:
    """Return the names of the workloads that measure the kernel."""
    table = _workload_table()
    return _names({p: table[p] for p in table if table[p].get("kernel", True)})


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
    return _programs(TARGET, names, "workloads", arch, cache, progress)


def proof_programs(
    feature: Feature, arch: Arch, cache: Cache, progress: Progress
) -> list[Path]:
    """Build the programs of a feature's proofs and in-force check."""
    names = {p.program: [f"{p.program}.c"] for p in feature.target_programs}
    title = f"proofs of {feature.name}"
    return _programs(feature.folder / "proof", names, title, arch, cache, progress)


def _programs(
    folder: Path,
    names: dict[str, list[str]],
    title: str,
    arch: Arch,
    cache: Cache,
    progress: Progress,
) -> list[Path]:
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


def pack(job: list[str], files: list[Path], work: Path) -> Path:
    """Make an initramfs of ``files`` and the lines of a job, in ``work``.

    The same contents give the same bytes.
    """
    root = work / "root"
    root.mkdir()
    for path in files:
        shutil.copy(path, root / path.name)
        (root / path.name).chmod(0o755)
    (root / "job").write_text("\n".join(job) + "\n", encoding="utf-8")
    (root / "job").chmod(0o644)
    names = sorted(path.name for path in root.iterdir())
    for name in names:
        os.utime(root / name, (0, 0))
    os.utime(root, (0, 0))
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
