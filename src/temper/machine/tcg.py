"""QEMU's TCG: kernels of any architecture, and a clock that counts instructions."""

import json
import re
import shlex
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Self

from temper.arch import Arch
from temper.errors import BootError, InfraError
from temper.kernel import Cache
from temper.machine.base import (
    BootRequest,
    BootResult,
    StoppedError,
    Watcher,
)
from temper.machine.plugin import api_level, build_plugin
from temper.process import PACKAGES, SCRATCH_FULL_HINT, need_tool, run
from temper.progress import Progress
from temper.record.boot import MachineFacts
from temper.record.wire import (
    AnyRecord,
    Classes,
    End,
    WireError,
    Workload,
    parse_line,
    parse_record,
)

_MEMORY = "256M"

# CPUs in turn, in one thread: side by side in threads of their own, one ran into a
# stale breakpoint of the kernel's, while another patched code, on a busy host.
_BASE = (
    *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
    *("-accel", "tcg,thread=single"),
)

# The only set of flags found to repeat to the instruction: docs/exact-counts.md
# says what each one is for and what happens without it.
_EXACT = (
    *("-icount", "shift=0,sleep=off"),
    *("-seed", "42"),
    *("-rtc", "base=2026-01-01T00:00:00,clock=vm"),
)

_EXACT_CLOCK = "counts executed instructions (QEMU icount, shift=0): 1 ns each"

_POLL = 0.05
_QUICK = 30.0
_LEAST_ROOM = 1 << 20
"""Bytes on the disk that a boot works on."""


@dataclass(frozen=True)
class Limits:
    """How long a boot may take, in seconds of the host."""

    silence: float = 180.0
    """Without a word on console or channel."""
    total: float = 1800.0

    @classmethod
    def for_calls(cls, calls: int, arch: Arch) -> Self:
        """Allow for workloads that say nothing until so many calls are timed.

        Twenty times as long as they take on an idle host: hosts are shared.
        """
        slack = 20 * calls / arch.calls_per_second
        return cls(cls.silence + slack, cls.total + 10 * slack)


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

    def prepare(self) -> None:
        """Build the plugin; raise InfraError without QEMU."""
        qemu_version(self._arch.qemu)
        self._plugin()

    def facts(self, request: BootRequest) -> MachineFacts:
        """Say what ``request`` will run with; raise InfraError without QEMU."""
        details = {"command": shlex.join(self._command(request, Path()))}
        if request.exact:
            details["plugin"] = f"API level {api_level(self._arch.qemu)}"
        return MachineFacts(
            name=self.name,
            version=f"QEMU {qemu_version(self._arch.qemu)}",
            cpu_model=request.cpu or self._arch.cpu,
            cpus=request.cpus,
            cmdline=self._cmdline(request),
            clock=_EXACT_CLOCK if request.exact else self._arch.free_clock,
            unit="instructions" if request.exact else self._arch.free_unit,
            exact=request.exact,
            details=details,
        )

    def boot(self, request: BootRequest, work: Path, watcher: Watcher) -> BootResult:
        """Boot ``request``; see Machine.boot."""
        started = time.monotonic()
        command = self._command(request, work)
        if request.exact:
            out = _escaped(work / "classes")
            command += ["-plugin", f"file={_escaped(self._plugin())},out={out}"]
        _Guest(command, work, self._limits, watcher).run()
        console = _text(work / "console")
        records = _records(_text(work / "records"), console)
        if request.exact:
            records += _class_records(_text(work / "classes"), records)
        return BootResult(records, console, time.monotonic() - started)

    def _plugin(self) -> Path:
        level = api_level(self._arch.qemu)
        return build_plugin(self._arch, level, self._cache, self._progress)

    def _cmdline(self, request: BootRequest) -> str:
        exact = self._arch.exact_cmdline if request.exact else ""
        return " ".join(filter(None, (self._arch.cmdline, exact, request.cmdline)))

    def _command(self, request: BootRequest, work: Path) -> list[str]:
        return [
            self._arch.qemu,
            *_BASE,
            *self._arch.machine,
            *(_EXACT if request.exact else ()),
            *("-cpu", request.cpu or self._arch.cpu),
            *("-smp", str(request.cpus), "-m", request.memory or _MEMORY),
            *("-kernel", str(request.image), "-initrd", str(request.initramfs)),
            *("-append", self._cmdline(request)),
            *("-serial", f"file:{work / 'console'}"),
            *("-chardev", f"file,id=records,path={_escaped(work / 'records')}"),
            *self._arch.channel_port,
        ]


@cache
def qemu_version(qemu: str) -> str:
    """Return the version of the program ``qemu``; raise InfraError without it."""
    done = run([qemu, "--version"], Path("/"), _QUICK)
    if done.status or not done.lines:
        raise InfraError(
            f"{qemu} does not run: {done.tail(1) or f'status {done.status}'}",
            f"apt-get install --reinstall {PACKAGES.get(qemu, qemu)}",
        )
    return done.lines[0].removeprefix("QEMU emulator version ")


@dataclass
class _Guest:
    """A running QEMU, watched until it ends."""

    command: list[str]
    work: Path
    limits: Limits
    watcher: Watcher

    def run(self) -> None:
        """Wait for QEMU's end; raise if it was not of the guest's own will."""
        need_tool("setpriv")
        with (self.work / "qemu").open("wb") as messages:
            process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", *self.command],
                stdin=subprocess.DEVNULL,
                stdout=messages,
                stderr=messages,
                # Ctrl-C is ours to handle.
                start_new_session=True,
            )
            try:
                self._watch(process)
            finally:
                process.kill()
                process.wait()
        self._judge(process.returncode)

    def _watch(self, process: "subprocess.Popen[bytes]") -> None:
        begin = heard = time.monotonic()
        size = -1
        while process.poll() is None:
            if self.watcher.stop.wait(_POLL):
                raise StoppedError
            self._check_room()
            now = time.monotonic()
            if (written := self._written()) != size:
                size, heard = written, now
                records = _text(self.work / "records")
                self.watcher.on_program(records.count('"type":"exit"'))
            if now - heard > self.limits.silence:
                self._hung(f"said nothing for {self.limits.silence:.0f} s")
            if now - begin > self.limits.total:
                self._hung(f"was not done after {self.limits.total:.0f} s")

    def _written(self) -> int:
        files = (self.work / "console", self.work / "records")
        return sum(path.stat().st_size for path in files if path.exists())

    def _hung(self, how: str) -> None:
        console = _text(self.work / "console")
        raise BootError(
            f"the kernel hung: it {how}; last on its console: {_last(console)}",
            console=console,
        )

    def _check_room(self) -> None:
        """Raise before QEMU drops records, without a word, on a full disk."""
        if shutil.disk_usage(self.work).free < _LEAST_ROOM:
            raise InfraError(
                f"the disk of {self.work.parent} is full", SCRATCH_FULL_HINT
            )

    def _judge(self, status: int) -> None:
        self._check_room()
        said = _text(self.work / "qemu").strip().splitlines() or ["nothing"]
        if status < 0:
            name = signal.Signals(-status).name
            raise InfraError(f"QEMU was killed by {name}", _KILLED_HINTS.get(name, ""))
        # It takes a polite signal for a wish and ends with status 0.
        if found := re.search(r"terminating on signal .*", said[-1]):
            raise InfraError(f"QEMU was told to end: {found[0]}")
        if status:
            raise InfraError(
                f"QEMU failed with status {status}: {said[-1]}", _qemu_hint(said[-1])
            )


_KILLED_HINTS = {
    "SIGKILL": "was it the kernel's out-of-memory killer? dmesg tells",
    "SIGXFSZ": "it may not write files as large as it has to: see ulimit -f",
}


def _qemu_hint(message: str) -> str:
    if "PVH" in message:
        return "this vmlinux has no PVH entry (CONFIG_PVH): give its bzImage"
    return ""


def _escaped(path: Path) -> str:
    """Write a path so that QEMU finds its end in a list of options."""
    return str(path).replace(",", ",,")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""


def _last(console: str) -> str:
    lines = [line.strip() for line in console.splitlines() if line.strip()]
    return repr(lines[-1]) if lines else "nothing at all"


_BAD_END = re.compile(r"Kernel panic - not syncing.*|temper init: .*|.*BUG: .*")


def _records(text: str, console: str) -> list[AnyRecord]:
    """Parse what came over the channel; raise BootError if it is not whole."""
    records: list[AnyRecord] = []
    bad_end = _BAD_END.search(console)
    try:
        for line in text.splitlines():
            records.append(parse_line(line, len(records)))
    except WireError as error:
        # A kernel that dies tears the line it was sending.
        how = f"the target's records are spoilt: {error}"
        if bad_end:
            how = f"the job did not end: {bad_end[0]}"
        raise BootError(how, console=console) from error
    if records and isinstance(records[-1], End):
        return records
    if bad_end:
        raise BootError(f"the job did not end: {bad_end[0]}", console=console)
    where = "in its job" if records else "before its init was up"
    raise BootError(
        f"the kernel stopped {where}; last on its console: {_last(console)}",
        console=console,
    )


def _class_records(text: str, records: list[AnyRecord]) -> list[AnyRecord]:
    """Parse what the plugin wrote; raise InfraError unless it saw all workloads."""
    try:
        classes = [
            parse_record({"n": number, **json.loads(line)})
            for number, line in enumerate(text.splitlines(), len(records))
        ]
    except (WireError, json.JSONDecodeError) as error:
        raise InfraError(f"the QEMU plugin wrote something odd: {error}") from error
    wanted = {record.region for record in records if isinstance(record, Workload)}
    unseen = wanted - {found.region for found in classes if isinstance(found, Classes)}
    if unseen:
        raise InfraError(f"the QEMU plugin counted nothing in region {min(unseen)}")
    return classes
