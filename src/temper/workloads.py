"""The workloads that a run can measure, and how many samples each takes."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field, RootModel

from temper.errors import InputError
from temper.paths import FEATURES, REPOSITORY
from temper.record.plan import Plain, place_of
from temper.toml import read_toml

TARGET = REPOSITORY / "target"
"""The C sources of init, of the workloads, and of code that proofs share with them."""

REAL_TABLE = TARGET / "real.toml"
"""The real programs."""

REAL = "real"
"""The program of the target that runs real programs."""

_LEAST = 100
_USER = 1000
_PASSWD = f"root:x:0:0:root:/tmp:/bin/sh\nuser:x:{_USER}:{_USER}:user:/tmp:/bin/sh\n"
"""Servers look up who they run as."""
_MAKEFILE = """\
objects := {objects}

all: $(objects)
	@$(info $(words $(objects)) objects)

# Kbuild's own commands, which name a # in this way.
pound := \\#
include $(foreach each,$(objects),$(dir $(each)).$(notdir $(each)).cmd)

.PHONY: all $(objects)
$(objects):
	$(savedcmd_$@)
"""
"""It runs in the folder that Kbuild compiles in, and finds objects there."""


class Real(Plain):
    """A real program: what runs, and in which of Debian's packages it is."""

    packages: tuple[str, ...]
    client: str
    """The command that one sample runs: words without spaces, programs with paths."""
    says: str
    """Part of what the client prints if it did its work; ``*`` stands for anything.
    Empty: its exit status alone counts."""
    operations: int
    """How many operations a run of the client is."""
    runs: int = Field(default=5, ge=1)
    """How often the client runs. Five are enough for a median, and to see whether they
    repeat."""
    warmup: int = Field(default=2, ge=0)
    """How often it runs before. The first run takes up to 60 % more, while files are
    read and a server's memory settles; later ones do not."""
    never: str = ""
    """Part of what the client prints only if it did not; empty: unknown."""
    server: str = ""
    """The command that runs meanwhile; empty: none."""
    ready: str = ""
    """Where the server takes connections: a Unix socket, or 127.0.0.1:PORT."""
    probe: str = ""
    """A command that fails until the server serves; empty: ready is enough."""
    setup: tuple[str, ...] = ()
    """Commands that run once, before the server."""
    load: tuple[str, ...] = ()
    """Commands that run once, when the server is ready."""
    unprivileged: bool = False
    """Whether all of them run as ``user`` instead of root."""
    stdin: str = ""
    """What its programs read."""
    files: tuple[str, ...] = ()
    """What else of the packages goes into the initramfs: paths, folders, patterns."""
    texts: dict[str, str] = Field(default_factory=dict)
    """Path of a file in the initramfs -> what it says."""
    sources: tuple[str, ...] = ()
    """C files of target/ that go into the initramfs, into its root."""
    objects: tuple[str, ...] = ()
    """Objects of the kernel's own source: what it takes to compile them is in /linux,
    and /commands/NAME.mk is a makefile that does."""
    needs: tuple[str, ...] = ()
    """Options that the kernel must have, such as ``CONFIG_INET``."""

    @property
    def programs(self) -> tuple[str, ...]:
        """The paths of all its programs."""
        commands = filter(
            None, (*self.setup, self.server, self.probe, *self.load, self.client)
        )
        return tuple(dict.fromkeys(command.split()[0] for command in commands))

    def written(self, name: str) -> dict[str, str]:
        """Return what to write for ``name``: path in the initramfs -> text.

        target/real.c reads the commands.
        """
        path = f"commands/{name}"
        lines = "".join(f"{key} {value}\n" for key, value in self._fields() if value)
        texts = {place.removeprefix("/"): text for place, text in self.texts.items()}
        commands = {path: lines, f"{path}.stdin": self.stdin}
        if self.objects:
            commands[f"{path}.mk"] = _MAKEFILE.format(objects=" ".join(self.objects))
        sources = {source: _source(source) for source in self.sources}
        return {**texts, **sources, **commands, "etc/passwd": _PASSWD}

    def _fields(self) -> Iterator[tuple[str, str | int]]:
        yield "user", _USER if self.unprivileged else 0
        yield from (("setup", _placed(command)) for command in self.setup)
        yield "server", _placed(self.server)
        yield "ready", self.ready
        yield "probe", self.probe and _placed(self.probe)
        yield from (("load", _placed(command)) for command in self.load)
        yield "client", _placed(self.client)
        yield "says", self.says
        yield "never", self.never
        yield "operations", self.operations


def _source(name: str) -> str:
    try:
        return (TARGET / name).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(
            f"{REAL_TABLE}: there is no {name} in {TARGET}", "correct 'sources'"
        ) from None


def _placed(command: str) -> str:
    """Name the program of a command as the target has it."""
    program, *words = command.split(" ")
    return " ".join([place_of(program), *words])


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
        found: Real = real[name]
        folder = fields["folder"]
        return Workload(name, found.runs, found.warmup, folder, real=found)
    samples = max(fields.get("least", _LEAST), round(calls * fields["share"]))
    return Workload(
        name=name,
        samples=samples,
        warmup=max(1, samples // 10),
        folder=fields["folder"],
        module=fields.get("module", ""),
        kernel_files=tuple(fields.get("kernel_files", ())),
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
    """Return the names of the workloads that need no module of the kernel."""
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
    subjects = read_toml(REAL_TABLE, _RealPrograms, guide).root
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
