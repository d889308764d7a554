"""Virtual machines that are saved while they run, and resumed as often as one likes."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from lab import ARCH

from temper.errors import InfraError
from temper.kernel import Cache
from temper.machine import BootRequest, Tcg
from temper.process import Finished, run
from temper.progress import Quiet
from temper.record.wire import AnyRecord, parse_record

DEADLINE = 300.0
"""Seconds for a whole life of a machine: boots take ten."""
_POLL = 0.05

_MONITOR = "monitor"
_PORT = "port"


class _Talkative(Tcg):
    """Has a monitor, a serial port that is a socket, and a button to stop itself."""

    def command(self, request: BootRequest, work: Path) -> list[str]:
        return [
            *super()._command(request, work),
            *("-serial", f"unix:{work / _PORT},server=on,wait=off"),
            *("-qmp", f"unix:{work / _MONITOR},server=on,wait=off"),
            *("-device", "pvpanic", "-action", "panic=pause"),
        ]


@dataclass
class Vm:
    """A machine that somebody works at from outside."""

    work: Path
    life: Future[Finished]
    began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self._monitor = self._connect(_MONITOR)
        self._answers: IO[bytes] = self._monitor.makefile("rb")
        self._port = self._connect(_PORT)
        self._events: list[str] = []
        # The greeting.
        self._read()
        self.ask("qmp_capabilities")

    def ask(self, command: str, **arguments: object) -> Any:  # noqa: ANN401 (JSON)
        """Give a command of QEMU's monitor and return what it answers."""
        message = {"execute": command, "arguments": arguments}
        self._monitor.sendall(json.dumps(message).encode() + b"\n")
        while "return" not in (answer := self._read()):
            assert "error" not in answer, f"{command}: {answer}"
        return answer["return"]

    def wait_for_event(self, name: str) -> None:
        while name not in self._events:
            self._read()

    def wait_for_byte(self) -> None:
        """Wait until the guest asks for a byte."""
        assert self._port.recv(1) == b"?"

    def send(self, byte: bytes) -> None:
        self._port.sendall(byte)

    def wait_for_word(self, word: str) -> None:
        """Wait until the kernel says ``word``."""
        console = self.work / "console"
        self._wait(lambda: word in console.read_text(errors="replace"), word)

    def save(self, file: Path) -> Path:
        """Write the machine, which is stopped, to ``file``; return that."""
        self.ask("migrate-set-parameters", **{"max-bandwidth": 1 << 40})
        self.ask("migrate", uri=f"exec:cat > '{file}'")
        self._wait(lambda: self._migration() == "completed", "a saved machine")
        return file

    def resume(self) -> None:
        """Let it run, from where it was saved."""
        self.ask("cont")

    def wait_until_loaded(self) -> None:
        """Wait for its state: until then, that replaces what it is sent."""
        self._wait(lambda: self.ask("query-status")["status"] != "inmigrate", "state")

    def records(self) -> list[AnyRecord]:
        """Wait for the end; return what it sent since it was started or resumed."""
        done = self.life.result()
        assert done.status == 0, done.tail(5)
        lines = (self.work / "records").read_text().splitlines()
        return [parse_record(json.loads(line)) for line in lines]

    def _migration(self) -> str:
        status = str(self.ask("query-migrate").get("status"))
        assert status != "failed"
        return status

    def _read(self) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self._answers.readline())
        if "event" in answer:
            self._events.append(answer["event"])
        return answer

    def _connect(self, name: str) -> socket.socket:
        path = self.work / name
        self._wait(path.exists, name)
        found = socket.socket(socket.AF_UNIX)
        found.settimeout(DEADLINE)
        found.connect(str(path))
        return found

    def _wait(self, condition: Callable[[], bool], what: str) -> None:
        while not condition():
            if self.life.done():
                raise InfraError(f"no {what}: {self.life.result().tail(5)}")
            if time.monotonic() - self.began > DEADLINE:
                raise InfraError(f"no {what} after {DEADLINE:.0f} s")
            time.sleep(_POLL)


@contextmanager
def started(request: BootRequest, work: Path, *options: str) -> Iterator[Vm]:
    """Start a machine with more ``options`` of QEMU; it is gone afterwards."""
    command = _Talkative(ARCH, Cache(), Quiet()).command(request, work)
    with ThreadPoolExecutor(1) as pool:
        life = pool.submit(run, [*command, *options], work, DEADLINE)
        vm = Vm(work, life)
        try:
            yield vm
        finally:
            if not life.done():
                vm.ask("quit")


@contextmanager
def loaded(request: BootRequest, file: Path, work: Path, *options: str) -> Iterator[Vm]:
    """Load a machine that was saved to ``file``; it waits to be resumed."""
    incoming = ("-S", "-incoming", f"exec:cat '{file}'")
    with started(request, work, *incoming, *options) as vm:
        vm.wait_until_loaded()
        yield vm
