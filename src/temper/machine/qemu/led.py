"""A guest that is led from outside, by a serial port and by QEMU's monitor."""

import re
import select
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from temper.errors import BootError
from temper.machine.qemu.monitor import Monitor
from temper.machine.qemu.process import Process, last_line, text_of
from temper.machine.watcher import StoppedError, Wait, Watcher

_POLL = 0.05
_DYING = 1.0
"""Seconds in which a QEMU that hung up has ended, if it does."""


class Led:
    """A running guest; it ends with the ``with`` block.

    Whatever it is asked for raises BootError if it does not come about within
    ``patience`` seconds, InfraError if QEMU is to blame, and StoppedError once
    ``watcher`` asks for it.
    """

    def __init__(
        self,
        command: Sequence[str],
        work: Path,
        patience: float,
        watcher: Watcher | None = None,
    ) -> None:
        """``command`` gives it console, port and monitor in ``work``, see launch."""
        self._watcher = watcher or Watcher()
        self.work = work
        self._patience = patience
        self._process = Process(command, work)
        self._monitor = Monitor(patience, self._watcher.stop)
        self._port = socket.socket(socket.AF_UNIX)
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.callback(self._monitor.close)
            stack.enter_context(self._port)
            # Last in, first out: nobody is talked to who is dead.
            stack.enter_context(self._process)
            self.wait_until(self._connect_port, "QEMU's serial port")
            self.wait_until(self._connect_monitor, "QEMU's monitor")
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _value: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        with self._stack:
            if _type is None:
                self._process.check_room()

    @property
    def console(self) -> str:
        """What the kernel has said."""
        return text_of(self.work / "console")

    def ask(self, command: str, **arguments: object) -> Any:  # noqa: ANN401 (JSON)
        """Give QEMU a command and return what it answers."""
        return self._monitor.ask(command, **arguments)

    def event(self, name: str) -> None:
        """Wait for what QEMU says has happened, from here on or before."""
        self.wait_until(
            lambda: self._monitor.happened(name, _POLL), f"{name} from QEMU"
        )

    def said(self, what: str, times: int = 1) -> None:
        """Wait until the kernel has said ``what``, a regular expression."""
        self.wait_until(
            lambda: len(re.findall(what, self.console)) >= times,
            f"'{what}' on the console",
        )

    def ended(self) -> None:
        """Wait for QEMU to end because the guest did."""
        self.wait_until(lambda: not self._process.running, "end of the machine")
        self._process.check_end()

    def send(self, what: bytes) -> None:
        """Send something to the guest's port."""
        while what:
            self.wait_until(self._has_room, "room in the guest's port")
            try:
                what = what[self._port.send(what) :]
            except OSError as error:
                raise self._port_failed(error) from error

    def receive(self, most: int) -> bytes:
        """Wait for something from the guest's port, ``most`` bytes at once."""
        self.wait_until(self._something_came, "word from the guest's port")
        try:
            what = self._port.recv(most)
        except OSError as error:
            raise self._port_failed(error) from error
        if not what:
            raise self._port_failed("closed")
        return what

    def _port_failed(self, why: object) -> BootError:
        """Return the guest's fault; raise InfraError if QEMU is to blame."""
        if self._process.wait(_DYING):
            self._process.check_end()
        return self._failed(f"the guest's port failed: {why}")

    def _has_room(self) -> bool:
        return bool(select.select([], [self._port], [], 0)[1])

    def _something_came(self) -> bool:
        return bool(select.select([self._port], [], [], 0)[0])

    def wait_until(self, true: Callable[[], bool], what: str) -> None:
        """Wait for anything; ``what`` is it in words."""
        wait = Wait(self._watcher, self._patience)
        while not true():
            if self._watcher.stop.is_set():
                raise StoppedError
            self._process.check_room()
            # It may have come about in QEMU's last moments.
            if not self._process.running and not true():
                self._process.check_end()
                raise self._failed(f"the guest ended without {what}")
            if wait.is_over(f"no {what}"):
                last = last_line(self.console)
                raise self._failed(
                    f"no {what} in {self._patience:.0f} s; last on its console: {last}"
                )
            time.sleep(_POLL)

    def _failed(self, why: str) -> BootError:
        return BootError(why, console=self.console)

    def _connect_port(self) -> bool:
        try:
            self._port.connect(str(self.work / "port"))
            # QEMU may stop taking what is sent.
            self._port.setblocking(False)
        except OSError:
            return False
        return True

    def _connect_monitor(self) -> bool:
        return self._monitor.connect(self.work / "monitor")
