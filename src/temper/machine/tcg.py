"""QEMU's TCG: kernels of any architecture, and a clock that counts instructions."""

import json
import re
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from temper.arch import Arch
from temper.errors import BootError, InfraError
from temper.kernel import Cache
from temper.machine.base import (
    BootRequest,
    BootResult,
    Clock,
    Limits,
    Needs,
)
from temper.machine.capacity import host_capacity
from temper.machine.host import host_title
from temper.machine.plugin import api_level, build_plugin, sources_digest
from temper.machine.qemu import (
    Gdb,
    Guest,
    Launch,
    Process,
    check_cpu,
    console_words,
    debugger_words,
    escaped,
    led_words,
    probe_cpu,
    qemu_version,
    records_words,
    text_of,
)
from temper.machine.watcher import StoppedError, Wait, Watcher
from temper.progress import Progress
from temper.record.boot import CPU_LACKS, MachineFacts
from temper.record.console import last_line
from temper.record.wire import (
    AnyRecord,
    Classes,
    End,
    Exposure,
    Samples,
    Start,
    WireError,
    Workload,
    parse_line,
    parse_record,
    whole_records,
)

# In MiB, of a guest and of QEMU's own: translated code, mostly.
_MEMORY = 256
_OVERHEAD = 256

_EXACT_CLOCK = "counts executed instructions (QEMU icount, shift=0): 1 ns each"

_POLL = 0.05
_DEBUGGER_S = 60.0
_DYING = 1.0
"""Seconds in which a QEMU that hung up has ended, if it does."""


class Tcg:
    """Emulated CPUs in a QEMU of its own for each boot."""

    name = "tcg"

    def __init__(
        self,
        arch: Arch,
        cache: Cache,
        progress: Progress,
        limits: Limits | None = None,
    ) -> None:
        self._arch = arch
        self._cache = cache
        self._progress = progress
        self._limits = limits or Limits()
        self.channel = arch.channel
        self._check_arch()

    def _check_arch(self) -> None:
        """Raise InputError if such machines do not emulate the architecture."""

    @property
    def _emulated(self) -> Arch:
        """The architecture, with the QEMU that emulates it."""
        return self._arch

    def check_cpu(self, model: str) -> None:
        """Raise InputError if QEMU cannot emulate a CPU model; see Machine."""
        check_cpu(self._emulated, model)

    def prepare(self) -> None:
        """Build the plugin; raise InfraError without QEMU."""
        qemu_version(self._emulated.qemu)
        self._plugin("counts")

    def clock(self, exact: bool) -> Clock:
        """Say what it is: with exact counts, QEMU's count of instructions."""
        if exact:
            return Clock(_EXACT_CLOCK, "instructions", exact=True)
        return Clock(self._arch.free_clock, self._arch.free_unit, exact=False)

    def needs(self, exact: bool) -> Needs:
        """Say what a kernel has to have: without a console it tells nothing."""
        own = self._arch.exact_cmdline if exact else self._arch.free_cmdline
        cmdline = " ".join(filter(None, (self._arch.cmdline, own)))
        return Needs(cmdline, self._arch.machine_config)

    def boots_at_once(self, cpus: int, memory: int) -> int:
        """Say how many boots fit: a guest's CPUs take turns on one of the host's."""
        return host_capacity().boots(1, self.boot_memory(memory))

    def boot_memory(self, memory: int) -> int:
        """Return the MiB of a guest, and of its QEMU."""
        return (memory or _MEMORY) + _OVERHEAD

    def tools(self) -> Mapping[str, str]:
        """Return the versions of QEMU and of the plugins."""
        level = api_level(self._emulated.qemu)
        return {
            "QEMU": qemu_version(self._emulated.qemu),
            "QEMU's plugin": f"API level {level}, {sources_digest()[:12]}",
        }

    def facts(self, request: BootRequest) -> MachineFacts:
        """Say what ``request`` will run with; raise InfraError without QEMU."""
        details = {
            "command": shlex.join(self._command(request, Path())),
            "host": host_title(),
        }
        if request.exact:
            details["plugin"] = f"API level {api_level(self._emulated.qemu)}"
        if request.cpu and (lacks := probe_cpu(self._emulated, request.cpu).lacks):
            details[CPU_LACKS] = ", ".join(lacks)
        clock = self.clock(request.exact)
        return MachineFacts(
            name=self.name,
            version=f"QEMU {qemu_version(self._emulated.qemu)}",
            cpu_model=request.cpu or self._arch.cpu,
            cpus=request.cpus,
            cmdline=self._cmdline(request),
            clock=clock.title,
            unit=clock.unit,
            exact=clock.exact,
            details=details,
        )

    def boot(self, request: BootRequest, work: Path, watcher: Watcher) -> BootResult:
        """Boot ``request``; see Machine.boot."""
        command = self._command(request, work)
        if request.exact:
            command += self._plugin_words("counts", out=work / "classes")
        if request.watched:
            told = work / "writes"
            told.write_text(request.watched.as_lines(), encoding="ascii")
            known_by = "values" if request.watched.by_value else "writes"
            files = {"out": work / "exposure", known_by: told}
            command += self._plugin_words("exposure", **files)
        if request.attacks:
            command += debugger_words(work)
        job = _Job(command, work, self._limits, watcher, request)
        try:
            job.run()
            if job.early:
                _check_room(job.early.console)
                return job.early
            console = text_of(work / "console")
            _check_room(console)
            records = _records(text_of(work / "records"), console)
        except BootError as error:
            lines = text_of(work / "records").splitlines()
            error.records = _with_found(whole_records(lines), job.found)
            if error.console.strip() or lines:
                raise
            raise self._unheard(error) from error
        records = _with_found(records, job.found)
        if request.exact:
            records += _counted(text_of(work / "classes"), records, Classes)
        if request.watched:
            text = request.watched.named(text_of(work / "exposure"))
            records += _counted(text, records, Exposure)
        return BootResult(records, console)

    def lead(self, request: BootRequest, work: Path, watcher: Watcher) -> Guest:
        """Return a guest that does as it is told; see Machine.lead."""
        command = [*self._launch(request), *led_words(self._arch, work)]
        return Guest(command, work, self._limits.silence, watcher)

    def _unheard(self, error: BootError) -> BootError:
        config = ", ".join(self.needs(exact=False).config)
        return BootError(f"{error.message}; to be heard it needs {config}")

    def _plugin_words(self, name: str, **arguments: Path) -> list[str]:
        files = {"file": self._plugin(name), **arguments}
        words = (f"{key}={escaped(path)}" for key, path in files.items())
        return ["-plugin", ",".join(words)]

    def _plugin(self, name: str) -> Path:
        level = api_level(self._emulated.qemu)
        return build_plugin(name, self._arch, level, self._cache, self._progress)

    def _cmdline(self, request: BootRequest) -> str:
        needed = self.needs(request.exact).cmdline
        return " ".join(filter(None, (needed, request.cmdline)))

    def _command(self, request: BootRequest, work: Path) -> list[str]:
        if request.led:
            channels = led_words(self._arch, work)
        else:
            channels = [*console_words(work), *records_words(self._arch, work)]
        return [*self._launch(request), *channels]

    def _launch(self, request: BootRequest) -> list[str]:
        launch = Launch(
            arch=self._emulated,
            image=request.image,
            initramfs=request.initramfs,
            cmdline=self._cmdline(request),
            cpu=request.cpu or self._arch.cpu,
            cpus=request.cpus,
            memory=f"{request.memory or _MEMORY}M",
            exact=request.exact,
            seed=request.seed,
            in_turn=request.exact and request.in_turn,
            restarts=request.led,
        )
        return [*launch.words(), *request.hardware]


@dataclass
class _Job:
    """A guest at its job, watched until it ends."""

    command: list[str]
    work: Path
    limits: Limits
    watcher: Watcher
    request: BootRequest
    found: dict[str, list[Samples]] = field(default_factory=dict)
    """Program that was attacked -> what the attack has found."""
    early: BootResult | None = None
    """What was enough to end it; None: it came to its end."""
    _looked_at: int = 0
    """Bytes of its console when it was asked last whether there is enough."""

    def run(self) -> None:
        """Wait for QEMU's end; raise if it was neither the guest's will nor ours."""
        with Process(self.command, self.work) as qemu:
            self._watch(qemu)
        if not self.early:
            qemu.check_end()

    def _so_far(self) -> BootResult:
        """Return what has come in whole lines from a guest that goes on."""
        records = whole_records(text_of(self.work / "records").splitlines())
        console, newline, _torn = text_of(self.work / "console").rpartition("\n")
        return BootResult(
            _with_found(records, self.found), console + newline, early=True
        )

    def _watch(self, qemu: Process) -> None:
        end = time.monotonic() + self.limits.total
        silence = Wait(self.watcher, self.limits.silence)
        size = -1
        programs = _Programs(self.work / "records")
        while qemu.running:
            if self.watcher.stop.wait(_POLL):
                raise StoppedError
            qemu.check_room()
            if (written := self._written()) != size:
                size = written
                if self._read(programs) and self._has_enough():
                    return
                if programs.running in self.request.attacks.keys() - self.found.keys():
                    self._attack(qemu, programs.running)
                silence.restart()
            # A kernel that hangs may say so again and again. A sound one says nothing
            # while a program runs, so no look takes time from that.
            if silence.begins_to_last() and self._said_more() and self._has_enough():
                return
            if silence.is_over("no output"):
                silent = "its programs" if self._only_records_count() else "it"
                self._hung(f"{silent} said nothing for {self.limits.silence:.0f} s")
            if time.monotonic() > end:
                self._hung(f"it was not done after {self.limits.total:.0f} s")

    def _read(self, programs: "_Programs") -> bool:
        """Tell how many programs have ended; return whether one just has."""
        ended = programs.ended
        programs.read()
        self.watcher.on_program(programs.ended)
        return programs.ended > ended

    def _said_more(self) -> bool:
        return self._size("console") > self._looked_at

    def _has_enough(self) -> bool:
        self._looked_at = self._size("console")
        enough = self.request.enough
        if enough and enough(so_far := self._so_far()):
            self.early = so_far
        return self.early is not None

    def _attack(self, qemu: Process, program: str) -> None:
        self.watcher.on_wait(f"{program} is under attack by a debugger")
        try:
            with Gdb(self.work / "debugger", _DEBUGGER_S, self.watcher) as gdb:
                found = self.found.setdefault(program, [])
                for samples in self.request.attacks[program](gdb):
                    found.append(samples)
        except BootError as error:
            if qemu.wait(_DYING):
                qemu.check_end()
            console = text_of(self.work / "console")
            said = last_line(console)
            raise BootError(
                f"{error.message}; last on its console: {said}", console=console
            ) from error

    def _written(self) -> int:
        """Return the size of what shows that the guest goes on."""
        records = self._size("records")
        return records + (0 if self._only_records_count() else self._size("console"))

    def _only_records_count(self) -> bool:
        # A kernel that may be broken can complain for ever that it does not go on.
        return bool(self.request.enough and self._size("records"))

    def _size(self, name: str) -> int:
        path = self.work / name
        return path.stat().st_size if path.exists() else 0

    def _hung(self, how: str) -> None:
        console = text_of(self.work / "console")
        raise BootError(
            f"the kernel hung: {how}; last on its console: {last_line(console)}",
            console=console,
        )


class _Programs:
    """Which programs of a job have run, and which one does, by their records."""

    def __init__(self, records: Path) -> None:
        self._records = records
        self._read = 0
        self.ended = 0
        """How many programs have ended."""
        self.running = ""
        """The one that has not; empty: none runs."""

    def read(self) -> None:
        """Read the lines that have come since the last time."""
        if not self._records.exists():
            return
        with self._records.open("rb") as file:
            file.seek(self._read)
            lines, newline, _torn = file.read().rpartition(b"\n")
        self._read += len(lines + newline)
        for line in lines.splitlines():
            if b'"type":"exit"' in line:
                self.ended += 1
                self.running = ""
            elif started := _STARTED.search(line):
                self.running = started[1].decode()


_STARTED = re.compile(rb'"type":"start","program":"([^"]*)"')


_BAD_END = re.compile(r"Kernel panic - not syncing.*|temper init: .*|.*BUG: .*")


def _check_room(console: str) -> None:
    """Raise InfraError if the initramfs did not fit into the guest's memory."""
    if "Initramfs unpacking failed: write error" in console:
        raise InfraError(
            "the programs of a boot do not fit into the guest's memory",
            "measure fewer workloads at a time: --workload",
        )


def _records(text: str, console: str) -> list[AnyRecord]:
    """Parse what came over the channel; raise BootError if it is not whole."""
    records: list[AnyRecord] = []
    bad_end = _BAD_END.search(console)
    try:
        for line in text.splitlines():
            records.append(parse_line(line, len(records)))
    except WireError as error:
        # A kernel that dies tears the line it was sending.
        how = f"the target's records are corrupt: {error}"
        if bad_end:
            how = f"the job did not end: {bad_end[0]}"
        raise BootError(how, console=console) from error
    if records and isinstance(records[-1], End):
        return records
    if bad_end:
        raise BootError(f"the job did not end: {bad_end[0]}", console=console)
    where = "in its job" if records else "before its init was up"
    raise BootError(
        f"the kernel stopped {where}; last on its console: {last_line(console)}",
        console=console,
    )


def _with_found(
    records: Sequence[AnyRecord], found: Mapping[str, Sequence[Samples]]
) -> list[AnyRecord]:
    """Add what attacks from outside found to the records of their programs."""
    whole: list[AnyRecord] = []
    for record in records:
        whole.append(record)
        if isinstance(record, Start):
            whole += found.get(record.program, ())
    return [each.model_copy(update={"n": n}) for n, each in enumerate(whole)]


def _counted(
    text: str, records: list[AnyRecord], kind: type[Classes | Exposure]
) -> list[AnyRecord]:
    """Parse what a plugin wrote; raise InfraError unless it saw all workloads."""
    try:
        counted = [
            parse_record({"n": number, **json.loads(line)})
            for number, line in enumerate(text.splitlines(), len(records))
        ]
    except (WireError, json.JSONDecodeError) as error:
        raise InfraError(f"the QEMU plugin wrote something odd: {error}") from error
    wanted = {record.region for record in records if isinstance(record, Workload)}
    unseen = wanted - {found.region for found in counted if isinstance(found, kind)}
    if unseen:
        raise InfraError(f"the QEMU plugin counted nothing in region {min(unseen)}")
    return counted
