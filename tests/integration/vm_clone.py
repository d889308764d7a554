"""Virtual machines that are saved while they run, and resumed as often as one likes."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from lab import ARCH

from temper.kernel import Cache
from temper.machine import BootRequest
from temper.machine.qemu import Led, monitor_words, port_words
from temper.machine.tcg import Tcg
from temper.progress import Quiet
from temper.record.wire import AnyRecord, parse_record

PATIENCE = 300.0
"""Seconds for whatever a machine is asked for: boots take ten."""


class _Talkative(Tcg):
    """Has a monitor, a serial port that is a socket, and a button to stop itself."""

    def command(self, request: BootRequest, work: Path) -> list[str]:
        # QEMU cannot save a machine that it records.
        saved = replace(request, in_turn=False)
        return [
            *super()._command(saved, work),
            *port_words(work),
            *monitor_words(work),
            *("-device", "pvpanic", "-action", "panic=pause"),
        ]


class Vm(Led):
    """A machine that somebody works at from outside."""

    def wait_for_byte(self) -> None:
        """Wait until the guest asks for a byte."""
        assert self.receive(1) == b"?"

    def save(self, file: Path) -> Path:
        """Write the machine, which is stopped, to ``file``, and end it; return that."""
        self.ask("migrate-set-parameters", **{"max-bandwidth": 1 << 40})
        self.ask("migrate", uri=f"exec:cat > '{file}'")
        self.wait_until(lambda: self._migration() == "completed", "saved machine")
        # Only then all of it is in the file.
        self.ask("quit")
        self.ended()
        return file

    def resume(self) -> None:
        """Let it run, from where it was saved."""
        self.ask("cont")

    def wait_until_loaded(self) -> None:
        """Wait for its state: until then, that replaces what it is sent."""
        self.wait_until(
            lambda: self.ask("query-status")["status"] != "inmigrate", "state"
        )

    def records(self) -> list[AnyRecord]:
        """Wait for the end; return what it sent since it was started or resumed."""
        self.ended()
        lines = (self.work / "records").read_text().splitlines()
        return [parse_record(json.loads(line)) for line in lines]

    def _migration(self) -> str:
        status = str(self.ask("query-migrate").get("status"))
        assert status != "failed"
        return status


@contextmanager
def started(request: BootRequest, work: Path, *options: str) -> Iterator[Vm]:
    """Start a machine with more ``options`` of QEMU; it is gone afterwards."""
    command = _Talkative(ARCH, Cache(), Quiet()).command(request, work)
    with Vm([*command, *options], work, PATIENCE) as vm:
        yield vm


@contextmanager
def loaded(request: BootRequest, file: Path, work: Path, *options: str) -> Iterator[Vm]:
    """Load a machine that was saved to ``file``; it waits to be resumed."""
    incoming = ("-S", "-incoming", f"exec:cat '{file}'")
    with started(request, work, *incoming, *options) as vm:
        vm.wait_until_loaded()
        yield vm
