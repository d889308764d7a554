"""QEMU's debugger: it stops a guest, reads and writes it, and lets it go on.

QEMU talks GDB's Remote Serial Protocol, which GDB's manual describes in its appendix E.
The libraries found for it drive GDB itself, or have neither sockets of this kind nor
limits of time.
"""

import re
import select
import socket
import struct
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self
from xml.etree import ElementTree

from temper.errors import BootError, InfraError
from temper.machine.watcher import StoppedError, Watcher

_POLL = 0.05
_INTERRUPT = b"\x03"
_CHUNK = 2048
_WRITTEN = 1024
"""Bytes that are written at once: QEMU ignores orders of over 4096 characters."""
_WORD = 8
"""Bytes of an address, a register or a value in memory."""

_STEP_QUIETLY = 7
"""As ``qqemu.sstepbits`` has it: step, no interrupts, no timers."""

_PACKET = re.compile(rb"\$([^#]*)#([0-9a-f]{2})", re.DOTALL)
_STOPPED = re.compile(r"T[0-9a-f]{2}thread:([0-9a-f]+);")
_EXITED = re.compile(r"W[0-9a-f]{2}")
_ESCAPED = re.compile(rb"}(.)", re.DOTALL)


@dataclass(frozen=True)
class Stop:
    """Why a guest stands still."""

    cpu: int
    """Of the CPU that stopped it; they count from 1."""
    reached: bool
    """False: it went on until time was up."""


class Gdb:
    """A guest that stands still, unless it is told to run.

    All that talks to it raises BootError if the guest ended, InfraError if QEMU gives
    no sensible answer, and StoppedError once ``watcher`` asks for it.
    """

    def __init__(self, path: Path, patience: float, watcher: Watcher) -> None:
        """``path`` is QEMU's socket, which must answer within ``patience`` seconds."""
        self._path = path
        self._patience = patience
        self._watcher = watcher
        self._socket = socket.socket(socket.AF_UNIX)
        self._unread = b""
        self._numbers: Mapping[str, int] = {}
        self._physical: bool | None = None
        """Which addresses it takes; None: those of whoever came before."""

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(self._socket)
            try:
                self._socket.connect(str(self._path))
            except OSError as error:
                raise InfraError(f"QEMU's debugger does not answer: {error}") from error
            # It knows single registers only once it was asked which ones there are.
            self._numbers = dict(_numbered(self._features("target.xml")))
            stack.pop_all()
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _value: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        with self._socket, suppress(InfraError, BootError, StoppedError):
            if _type is None:
                self._ask("D")

    def run(self, seconds: float | None = None) -> Stop:
        """Let all CPUs run to the next breakpoint; see ``_go`` for the seconds."""
        return self._go("vCont;c", seconds)

    def step(self, cpu: int) -> None:
        """Let a CPU run one instruction, and take no interrupt."""
        self._command(f"Qqemu.sstep={_STEP_QUIETLY:x}")
        if not self._go(f"vCont;s:{cpu:x}", None).reached:
            raise InfraError(f"QEMU does not step CPU {cpu}")

    @contextmanager
    def breakpoint(self, address: int) -> Iterator[None]:
        """Stop all CPUs before the instruction at ``address``, in a ``with`` block."""
        self._command(f"Z1,{address:x},4")
        yield
        self._command(f"z1,{address:x},4")

    def register(self, cpu: int, name: str) -> int:
        """Read a register of a CPU."""
        self._command(f"Hg{cpu:x}")
        found = self._ask(f"p{self._number(name):x}")
        try:
            return int.from_bytes(bytes.fromhex(found), "little")
        except ValueError:
            raise InfraError(f"QEMU does not tell {name}: {found}") from None

    def set_register(self, cpu: int, name: str, value: int) -> None:
        """Write a register of a CPU, of 64 bits."""
        self._command(f"Hg{cpu:x}")
        word = value.to_bytes(_WORD, "little").hex()
        self._command(f"P{self._number(name):x}={word}")

    def memory(self, cpu: int, address: int, size: int) -> bytes:
        """Read memory as a CPU sees it."""
        self._address_by(physical=False)
        self._command(f"Hg{cpu:x}")
        read = bytearray()
        while len(read) < size:
            count = min(size - len(read), _CHUNK)
            read += self._read(address + len(read), count)
        return bytes(read)

    def word(self, cpu: int, address: int) -> int:
        """Read 64 bits of memory as a CPU sees it."""
        (word,) = struct.unpack("<Q", self.memory(cpu, address, _WORD))
        return int(word)

    def set_word(self, cpu: int, address: int, value: int) -> None:
        """Write 64 bits of memory as a CPU sees it."""
        self.set_memory(cpu, address, struct.pack("<Q", value))

    def set_memory(self, cpu: int, address: int, what: bytes) -> None:
        """Write memory as a CPU sees it."""
        self._address_by(physical=False)
        self._command(f"Hg{cpu:x}")
        for at in range(0, len(what), _WRITTEN):
            self._write(address + at, what[at : at + _WRITTEN])

    def device(self, address: int) -> int:
        """Read 32 bits at a physical address, such as of a device's register."""
        self._address_by(physical=True)
        (value,) = struct.unpack("<I", self._read(address, 4))
        return int(value)

    def set_device(self, address: int, value: int) -> None:
        """Write 32 bits at a physical address."""
        self._address_by(physical=True)
        self._write(address, struct.pack("<I", value))

    def _address_by(self, *, physical: bool) -> None:
        if physical is not self._physical:
            self._command(f"Qqemu.PhyMemMode:{physical:d}")
            self._physical = physical

    def _read(self, address: int, size: int) -> bytes:
        found = self._ask(f"m{address:x},{size:x}")
        try:
            read = bytes.fromhex(found)
        except ValueError:
            read = b""
        if len(read) != size:
            raise InfraError(f"QEMU cannot read {size} bytes at {address:#x}: {found}")
        return read

    def _write(self, address: int, what: bytes) -> None:
        self._command(f"M{address:x},{len(what):x}:{what.hex()}")

    def _number(self, name: str) -> int:
        try:
            return self._numbers[name]
        except KeyError:
            raise InfraError(f"QEMU's debugger knows no register {name}") from None

    def _features(self, name: str) -> str:
        text = ""
        while True:
            query = f"qXfer:features:read:{name}:{len(text):x},{_CHUNK - 4:x}"
            part = self._ask(query)
            if part[:1] not in ("m", "l"):
                raise InfraError(f"QEMU's debugger does not describe its {name}")
            text += part[1:]
            if part[0] == "l":
                break
        included = re.findall(r'<xi:include href="([^"]+)"', text)
        return text + "".join(self._features(each) for each in included)

    def _go(self, order: str, seconds: float | None) -> Stop:
        """Wait for the guest to stop; stop it after ``seconds``; None: the patience."""
        self._send(order)
        answer = self._answer(self._patience if seconds is None else seconds)
        reached = answer is not None
        if answer is None:
            self._deliver(_INTERRUPT)
            answer = self._needed()
        found = _STOPPED.match(answer)
        if not found:
            raise InfraError(f"QEMU's debugger does not say who stopped: {answer}")
        return Stop(int(found[1], 16), reached)

    def _command(self, order: str) -> None:
        if (answer := self._ask(order)) != "OK":
            raise InfraError(f"QEMU's debugger refuses {order}: {answer or 'unknown'}")

    def _ask(self, order: str) -> str:
        self._send(order)
        while _STOPPED.match(answer := self._needed()):
            # QEMU 7.2 also says so, unasked, when the debugger comes.
            pass
        return answer

    def _needed(self) -> str:
        answer = self._answer(self._patience)
        if answer is None:
            raise InfraError("QEMU's debugger gives no answer")
        return answer

    def _send(self, order: str) -> None:
        data = order.encode()
        self._deliver(b"$%s#%02x" % (data, sum(data) % 256))

    def _deliver(self, what: bytes) -> None:
        try:
            self._socket.sendall(what)
        except OSError as error:
            raise self._ended() from error

    def _answer(self, seconds: float) -> str | None:
        """Wait for a packet; None: there was none in time."""
        end = time.monotonic() + seconds
        while not (found := _PACKET.search(self._unread)):
            if self._watcher.stop.is_set():
                raise StoppedError
            if time.monotonic() > end:
                return None
            if select.select([self._socket], [], [], _POLL)[0]:
                self._unread += self._received()
        self._unread = self._unread[found.end() :]
        if sum(found[1]) % 256 != int(found[2], 16):
            raise InfraError(f"QEMU's debugger garbles its answer: {found[0]!r}")
        self._deliver(b"+")
        whole = _ESCAPED.sub(lambda at: bytes([at[1][0] ^ 0x20]), found[1])
        answer = whole.decode("latin-1")
        if _EXITED.fullmatch(answer):
            raise self._ended()
        return answer

    def _received(self) -> bytes:
        try:
            received = self._socket.recv(1 << 16)
        except OSError as error:
            raise self._ended() from error
        if not received:
            raise self._ended()
        return received

    def _ended(self) -> BootError:
        return BootError("the guest ended under the debugger")


def _numbered(text: str) -> Iterator[tuple[str, int]]:
    """Yield each register and its number, from descriptions one after the other."""
    number = 0
    for written in re.findall(r"<reg\s[^>]*>", text):
        element = ElementTree.fromstring(re.sub(r"/?>$", "/>", written))
        number = int(element.get("regnum", number))
        yield element.get("name", ""), number
        number += 1
