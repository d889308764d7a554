"""A guest that is led from outside, by its init and by QEMU's monitor."""

import json
import re
import select
import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

PATIENCE = 180.0
"""Seconds, for whatever a guest is asked for. On an idle host it takes a few."""

_POLL = 0.05


class GuestError(Exception):
    """The guest did not do what it was told."""


@dataclass
class _Lines:
    """What comes over a socket, line by line."""

    path: Path
    _socket: socket.socket = field(init=False)
    _rest: bytes = b""

    def connect(self) -> None:
        """Wait until there is somebody to talk to."""
        self._socket = socket.socket(socket.AF_UNIX)
        for _ in range(200):
            try:
                return self._socket.connect(str(self.path))
            except OSError:
                time.sleep(_POLL)
        raise GuestError("QEMU does not start")

    def send(self, line: str) -> None:
        self._socket.sendall(line.encode() + b"\n")

    def line(self, seconds: float) -> str | None:
        """Wait for the next line; None: there was none."""
        end = time.monotonic() + seconds
        while b"\n" not in self._rest:
            left = max(0.0, end - time.monotonic())
            if not select.select([self._socket], [], [], left)[0]:
                return None
            if not (more := self._socket.recv(65536)):
                return None
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode(errors="replace").strip()


class Guest:
    """A running QEMU; it ends with the ``with`` block."""

    def __init__(self, command: list[str], work: Path) -> None:
        self.console_file = work / "console"
        self._init = _Lines(work / "init.sock")
        self._qmp = _Lines(work / "qmp.sock")
        self._events: list[dict[str, Any]] = []
        self._command = [
            *command,
            *("-serial", f"file:{self.console_file}"),
            *("-chardev", f"socket,id=init,path={work}/init.sock,server=on,wait=off"),
            *("-serial", "chardev:init"),
            *("-qmp", f"unix:{work}/qmp.sock,server=on,wait=off"),
        ]

    def __enter__(self) -> Self:
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "--", *self._command],
            stdin=subprocess.DEVNULL,
        )
        try:
            self._init.connect()
            self._qmp.connect()
            self.monitor("qmp_capabilities")
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _value: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self.process.kill()
        self.process.wait()

    @property
    def console(self) -> str:
        """What the kernel has said."""
        return self.console_file.read_text(encoding="utf-8", errors="replace")

    def ready(self) -> None:
        """Wait for an init that has just come up."""
        while (line := self._init.line(PATIENCE)) != "ready":
            if line is None:
                raise GuestError("no init comes up")

    def ended(self) -> None:
        """Wait for QEMU to end by itself."""
        try:
            status = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise GuestError("the machine stays on") from None
        if status:
            raise GuestError(f"QEMU ended with status {status}")

    def tell(self, order: str) -> None:
        """Give an order to init."""
        self._init.send(order)

    def answer(self) -> str:
        """Wait for what init has to say to the last order."""
        line = self._init.line(PATIENCE)
        if line is None or not line.startswith("ok"):
            raise GuestError(f"init: {line or 'no answer'}")
        return line.removeprefix("ok").strip()

    def do(self, order: str) -> str:
        """Have an order carried out; return what there is to tell."""
        self.tell(order)
        try:
            return self.answer()
        except GuestError as error:
            raise GuestError(f"{order}: {error}") from error

    def said(self, what: str, times: int = 1) -> None:
        """Wait until the kernel has said ``what``, a regular expression."""
        end = time.monotonic() + PATIENCE
        while len(re.findall(what, self.console)) < times:
            if time.monotonic() > end:
                raise GuestError(f"the kernel never said '{what}'")
            time.sleep(_POLL)

    def monitor(self, command: str, **arguments: object) -> object:
        """Give a command to QEMU; return what it answers."""
        self._qmp.send(json.dumps({"execute": command, "arguments": arguments}))
        while (line := self._qmp.line(PATIENCE)) is not None:
            message = json.loads(line)
            if "error" in message:
                raise GuestError(f"{command}: {message['error']['desc']}")
            if "return" in message:
                return message["return"]
            if "event" in message:
                self._events.append(message)
        raise GuestError(f"{command}: no answer")

    def event(self, name: str) -> dict[str, Any]:
        """Wait for what QEMU says has happened, from here on or before."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            for message in self._events:
                if message["event"] == name:
                    self._events.remove(message)
                    return message
            if (line := self._qmp.line(1.0)) is not None:
                self._events.append(json.loads(line))
        raise GuestError(f"QEMU never said {name}")
