"""QEMU's debugger in name only: a thread that answers what is asked at its socket."""

import re
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

SILENCE = b""
HANG_UP = None

Answer = str | bytes | None
"""What a packet has to hold; bytes that are sent as they are; or the end."""

STOPPED = "T05thread:01;"
INTERRUPT = "\x03"

TARGET = """\
<target><architecture>any</architecture>
<xi:include href="core.xml"/><xi:include href="system.xml"/></target>
"""
CORE = """\
<feature name="core">
  <reg name="x0" bitsize="64"/>
  <reg name="sp" bitsize="64" type="data_ptr"/>
  <flags id="cpsr_flags" size="4"><field name="Z" start="30" end="30"/></flags>
  <reg name="pc" bitsize="64"></reg>
</feature>
"""
SYSTEM = """\
<feature name="system">
  <reg name="v0" bitsize="128" regnum="9"/>
  <reg name="v1" bitsize="128"/>
</feature>
"""

_AT_MOST = 0x20
"""Bytes of a description in an answer, however many it may hold."""


def packet(answer: str) -> bytes:
    """Return the packet of an answer, with what it must escape."""
    data = re.sub(
        rb"[#$}*]",
        lambda found: b"}" + bytes([found[0][0] ^ 0x20]),
        answer.encode("latin-1"),
    )
    return b"$%s#%02x" % (data, sum(data) % 256)


class Debugger:
    """Serves one client; what it is not told to answer, it grants."""

    def __init__(self, path: Path) -> None:
        self.heard: list[str] = []
        """Orders, without those for descriptions, and what interrupts."""
        self.answers: dict[str, Answer] = {}
        """Order -> its answer; the first words of an order will do."""
        self.greeting = b""
        """What it says before it is asked."""
        self.descriptions = {
            "target.xml": TARGET,
            "core.xml": CORE,
            "system.xml": SYSTEM,
        }
        self.memory: dict[int, int] = {}
        """Address -> byte; others are 0."""
        self.on_order: Callable[[str], object] = lambda order: None
        """Told each order before it is answered."""
        self.unacknowledged = 0
        """Packets of its own that the client has not confirmed."""
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(path))
        self._server.listen()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _value: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        with suppress(OSError):
            # Nobody may have come.
            self._server.shutdown(socket.SHUT_RDWR)
        self.wait_for_its_end()
        self._server.close()

    def wait_for_its_end(self) -> None:
        """Wait until it has hung up."""
        self._thread.join(20)
        assert not self._thread.is_alive()

    def _serve(self) -> None:
        with suppress(OSError):
            talk, _ = self._server.accept()
            with talk:
                self._say(talk, self.greeting)
                unread = b""
                while received := talk.recv(1 << 16):
                    unread = self._heed(talk, unread + received)

    def _heed(self, talk: socket.socket, unread: bytes) -> bytes:
        """Answer all that is whole; return the rest."""
        pattern = re.compile(rb"\+|\x03|\$([^#]*)#(..)", re.DOTALL)
        while found := pattern.match(unread):
            unread = unread[found.end() :]
            if found[0] == b"+":
                self.unacknowledged -= 1
            elif found[0] == b"\x03":
                self._obey(talk, INTERRUPT)
            else:
                assert sum(found[1]) % 256 == int(found[2], 16)
                talk.sendall(b"+")
                self._obey(talk, found[1].decode())
        return unread

    def _obey(self, talk: socket.socket, order: str) -> None:
        if not order.startswith("qXfer"):
            self.heard.append(order)
        self.on_order(order)
        answer = self._answer(order)
        if answer is None:
            talk.shutdown(socket.SHUT_RDWR)
        else:
            self._say(talk, packet(answer) if isinstance(answer, str) else answer)

    def _say(self, talk: socket.socket, what: bytes) -> None:
        self.unacknowledged += what.count(b"$")
        talk.sendall(what)

    def _answer(self, order: str) -> Answer:
        for start, answer in self.answers.items():
            if order.startswith(start):
                return answer
        if found := re.fullmatch(r"qXfer:features:read:(.*):(.*),(.*)", order):
            text = self.descriptions[found[1]]
            rest = text[int(found[2], 16) :]
            part = rest[: min(int(found[3], 16), _AT_MOST)]
            return ("l" if part == rest else "m") + part
        if found := re.fullmatch(r"m(.*),(.*)", order):
            address, size = int(found[1], 16), int(found[2], 16)
            return self._read(range(address, address + size))
        if found := re.fullmatch(r"M(.*),(.*):(.*)", order):
            written = bytes.fromhex(found[3])
            assert len(written) == int(found[2], 16)
            self.memory.update(enumerate(written, int(found[1], 16)))
        return STOPPED if order.startswith(("vCont", INTERRUPT)) else "OK"

    def _read(self, addresses: Sequence[int]) -> str:
        return bytes(self.memory.get(each, 0) for each in addresses).hex()
