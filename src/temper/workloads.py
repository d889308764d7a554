"""The workloads that a run can measure, and how many samples each takes."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import RootModel

from temper.errors import InputError
from temper.paths import FEATURES, REPOSITORY
from temper.record.plan import Plain
from temper.toml import read_toml

TARGET = REPOSITORY / "target"
"""The C sources of init, of the workloads, and of code that proofs share with them."""

REAL = "real"
"""The program of the target that runs real programs."""

_LEAST = 100
_PASSWD = "root:x:0:0:root:/tmp:/bin/sh\n"
"""Servers look up who they run as."""
_REAL_RUNS = 3
"""Of a client: enough to see whether they repeat."""


class Real(Plain):
    """A real program: what runs, and in which of Debian's packages it is."""

    packages: tuple[str, ...]
    client: str
    """The command that one sample runs: words without spaces, programs with paths."""
    says: str
    """Part of what the client prints if it did its work."""
    operations: int
    """How many operations a run of the client is."""
    server: str = ""
    """The command that runs meanwhile; empty: none."""
    ready: str = ""
    """The Unix socket on which the server takes connections."""
    stdin: str = ""
    """What the client reads."""
    files: tuple[str, ...] = ()
    """What else of the packages goes into the initramfs: paths, folders, patterns."""

    @property
    def programs(self) -> tuple[str, ...]:
        """The paths of all its programs."""
        commands = filter(None, (self.server, self.client))
        return tuple(command.split()[0] for command in commands)

    def texts(self, name: str) -> dict[str, str]:
        """Return what target/real.c reads: path in the initramfs -> text."""
        path = f"commands/{name}"
        fields = {
            "server": self.server,
            "ready": self.ready,
            "client": self.client,
            "says": self.says,
            "operations": self.operations,
        }
        lines = (f"{key} {value}\n" for key, value in fields.items() if value)
        texts = {path: "".join(lines), f"{path}.stdin": self.stdin}
        return {**texts, "etc/passwd": _PASSWD}


class _RealPrograms(RootModel[dict[str, dict[str, Real]]]):
    """Subject -> word -> the real program."""


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
    real: Real | None = None
    """The real program that it runs, if it does."""

    @property
    def program(self) -> str:
        """The program that measures it."""
        return REAL if self.real else self.name.partition("/")[0]

    @property
    def line(self) -> str:
        """The line of the job that runs it."""
        word = self.name if self.real else self.name.partition("/")[2]
        return f"run {self.program} {word} {self.samples} {self.warmup}"


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
    if real := fields.get("real"):
        return Workload(name, _REAL_RUNS, 1, fields["folder"], real=real[name])
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
    wanted = {
        program: fields
        for program, fields in table.items()
        if not (fields.get("on_request") or "real" in fields)
    }
    return _names(wanted)


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
        if "real" not in fields:
            found.setdefault(fields["folder"], []).append(program)
    found[TARGET].append(REAL)
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
    return table | _real_programs()


def _real_programs() -> dict[str, dict[str, Any]]:
    """Return subject -> its real programs, as ``workload_table`` has them."""
    guide = "docs/adding-a-workload.md lists every field"
    subjects = read_toml(TARGET / "real.toml", _RealPrograms, guide).root
    return {
        subject: {
            "folder": TARGET,
            "words": tuple(words),
            "real": {f"{subject}/{word}": real for word, real in words.items()},
        }
        for subject, words in subjects.items()
    }


def _tables() -> list[Path]:
    ours = FEATURES.glob("*/workloads/workloads.toml")
    return [TARGET / "workloads.toml", *sorted(ours)]
