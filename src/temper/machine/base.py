"""What every machine can do."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from temper.record.boot import MachineFacts
from temper.record.wire import AnyRecord


@dataclass(frozen=True)
class BootRequest:
    """One start of a kernel with a job to do."""

    image: Path
    """A file that the architecture's QEMU boots."""
    initramfs: Path
    cmdline: str
    """What the variant wants; the machine adds what it needs itself."""
    cpu: str
    """CPU model; empty: the machine's own."""
    exact: bool
    """True: the clock counts instructions, and classes are counted too."""
    cpus: int
    memory: str = ""
    """How much of it, as QEMU's ``-m`` takes it; empty: the machine's own."""


@dataclass(frozen=True)
class BootResult:
    """What a boot that came to its end brought back."""

    records: list[AnyRecord]
    """All of them, by their sequence numbers without a gap."""
    console: str
    wall_seconds: float


class Machine(Protocol):
    """Somewhere a kernel can be started."""

    name: str
    channel: str
    """The device in the target that carries records out of it."""

    def prepare(self) -> None:
        """Make what boots need and do not make themselves; call it once, first."""

    def facts(self, request: BootRequest) -> MachineFacts:
        """Say what ``request`` will run with; raise InfraError if it cannot."""

    def boot(self, request: BootRequest, work: Path, watcher: "Watcher") -> BootResult:
        """Start a kernel and wait for the end of its job.

        ``work`` is an empty folder for what the machine writes meanwhile. Raises
        BootError if the kernel failed, InfraError if the machine did, and
        StoppedError when the watcher asked for it.
        """


@dataclass(frozen=True)
class Watcher:
    """Who waits for a boot, from another thread."""

    stop: threading.Event
    """Set it, and the boot is given up."""
    on_program: Callable[[int], None] = lambda done: None
    """Told how many programs of the job have ended."""


class StoppedError(Exception):
    """Somebody asked for the boot to be stopped."""
