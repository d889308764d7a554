"""The workloads that a run can measure, and how many samples each takes."""

import tomllib
from dataclasses import dataclass
from functools import cache
from typing import Any

from temper.errors import InputError
from temper.paths import REPOSITORY

TARGET = REPOSITORY / "target"
"""The C sources of the workloads and of init."""

_LEAST = 100


@dataclass(frozen=True)
class Workload:
    """A workload of a certain size."""

    name: str
    samples: int
    warmup: int
    module: str = ""
    """C file in target/module/ of the module that it loads; empty: none."""
    kernel_files: tuple[str, ...] = ()
    """Files of the kernel's own source that the module includes."""
    compiles: str = ""
    """C file in target/ that it compiles; empty: none."""

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


def _names(table: dict[str, dict[str, Any]]) -> tuple[str, ...]:
    return tuple(
        f"{program}/{word}"
        for program, fields in table.items()
        for word in fields["words"]
    )


@cache
def workload_table() -> dict[str, dict[str, Any]]:
    """Return program -> what target/workloads.toml says about it."""
    return tomllib.loads((TARGET / "workloads.toml").read_text(encoding="utf-8"))
