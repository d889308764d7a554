"""The workloads that a run can measure, and how many samples each takes."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from temper.errors import InputError
from temper.paths import FEATURES, REPOSITORY

TARGET = REPOSITORY / "target"
"""The C sources of init, of the workloads, and of code that proofs share with them."""

_LEAST = 100


@dataclass(frozen=True)
class Workload:
    """A workload of a certain size."""

    name: str
    samples: int
    warmup: int
    folder: Path
    """The folder of its C file."""
    module: str = ""
    """C file in module/, in that folder, of the module that it loads; empty: none."""
    kernel_files: tuple[str, ...] = ()
    """Files of the kernel's own source that the module includes."""
    compiles: str = ""
    """C file in that folder that it compiles; empty: none."""

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
    """Return the named workloads, sized for ``calls`` of the cheapest system calls.

    Each takes a tenth of its samples first as a warm-up. Raises InputError for an
    unknown name or too few calls.
    """
    if calls < 100:
        raise InputError(f"{calls} calls are too few", "use at least 100")
    table = workload_table()
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
        folder=fields["folder"],
        module=fields.get("module", ""),
        kernel_files=tuple(fields.get("kernel_files", ())),
        compiles=fields.get("compiles", ""),
    )


def all_workloads() -> tuple[str, ...]:
    """Return the names of all workloads."""
    return _names(workload_table())


def common_workloads() -> tuple[str, ...]:
    """Return the names of the workloads that are not only on request."""
    table = workload_table()
    return _names({p: table[p] for p in table if not table[p].get("on_request")})


def comparable_workloads() -> tuple[str, ...]:
    """Return the names of the workloads that need no module, so no kernel source."""
    table = workload_table()
    return _names({p: table[p] for p in table if not table[p].get("module")})


def _names(table: dict[str, dict[str, Any]]) -> tuple[str, ...]:
    return tuple(
        f"{program}/{word}"
        for program, fields in table.items()
        for word in fields["words"]
    )


def programs_by_folder() -> dict[Path, list[str]]:
    """Return folder -> the workload programs whose C files are in it."""
    found: dict[Path, list[str]] = {}
    for program, fields in workload_table().items():
        found.setdefault(fields["folder"], []).append(program)
    return found


def workload_table() -> dict[str, dict[str, Any]]:
    """Return program -> its ``folder`` and what workloads.toml there says about it.

    Workloads for only one feature are in that feature's folder. Raises InputError for
    a program in two tables, since the target has one folder for all.
    """
    table: dict[str, dict[str, Any]] = {}
    for path in _tables():
        for program, fields in tomllib.loads(path.read_text(encoding="utf-8")).items():
            if program in table:
                raise InputError(
                    f"{path}: '{program}' is in {table[program]['folder']}, too",
                    "give it another name",
                )
            table[program] = {**fields, "folder": path.parent}
    return table


def _tables() -> list[Path]:
    ours = FEATURES.glob("*/workloads/workloads.toml")
    return [TARGET / "workloads.toml", *sorted(ours)]
