"""What every machine can do, and what it says about itself."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, Self

from temper.arch import Arch
from temper.kernel import Watched
from temper.machine.qemu import Gdb, Guest
from temper.machine.watcher import Watcher
from temper.record.boot import MachineFacts
from temper.record.wire import AnyRecord, Samples

Attack = Callable[[Gdb], Iterable[Samples]]
"""Attacks a guest that stands still; yields what it finds."""


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
    seed: int = 42
    """What the machine's random numbers start from, if its clock is exact."""
    memory: int = 0
    """In MiB; 0: the machine's own."""
    in_turn: bool = True
    """False: exact counts without the cure for their race; see docs/exact-counts.md."""
    led: bool = False
    """True: it is led from outside instead of having a job, and may restart."""
    hardware: tuple[str, ...] = ()
    """More options of the machine."""
    watched: Watched | None = None
    """The register whose open stretches to measure, if its clock is exact."""
    attacks: Mapping[str, Attack] = field(default_factory=dict, hash=False)
    """Program of the job -> what attacks by a debugger while it runs."""
    enough: "Enough | None" = None
    """None: only the end of its job ends it."""


@dataclass(frozen=True)
class BootResult:
    """What a boot brought back."""

    records: list[AnyRecord]
    """All that came, by their sequence numbers without a gap."""
    console: str
    early: bool = False
    """Whether it was ended before its job was done, since there was enough."""


Enough = Callable[[BootResult], bool]
"""Asked whether what came so far is enough.

When a program of a job has ended, and when the guest has said nothing for a while."""


@dataclass(frozen=True)
class Clock:
    """What tells the time in a guest."""

    title: str
    """In words."""
    unit: str
    """Of a difference of two readings."""
    exact: bool
    """True when it counts instructions."""


@dataclass(frozen=True)
class Needs:
    """What a kernel must have so that it can be heard."""

    cmdline: str
    config: tuple[str, ...]
    """``CONFIG_X=y`` lines."""


@dataclass(frozen=True)
class Limits:
    """How long a boot may take, in seconds of the host."""

    silence: float = 180.0
    """Without a word on console or channel."""
    total: float = 1800.0

    @classmethod
    def for_calls(cls, calls: int, arch: Arch, programs: int = 0) -> Self:
        """Allow for workloads that say nothing until so many calls are timed.

        Twenty times as long as they take on an idle host: hosts are shared. So many
        real ``programs`` take up to three minutes each.
        """
        slack = 20 * calls / arch.calls_per_second
        silence = 600.0 if programs else 0.0
        total = cls.total + 10 * slack + programs * silence
        return cls(cls.silence + slack + silence, total)

    @classmethod
    def for_attacks(cls) -> Self:
        """Allow for attacks that end the kernel without a word, one after the other.

        One that does not end is given up by the target after half a minute.
        """
        return cls(silence=90)

    @classmethod
    def for_proofs(cls) -> Self:
        """Allow for proofs that say nothing until they end.

        More than ten times as long as the longest, ``seeds`` of kstack, takes on an
        idle host: a boot that others slowed down must not look like a kernel that hung.
        """
        return cls(silence=600, total=2 * cls.total)

    @classmethod
    def for_mutants(cls) -> Self:
        """Allow for proofs of kernels of which many hang.

        More than three times as long as the longest, ``seeds`` of kstack, takes on an
        idle host. A busy one has to be so twice: what seems to hang boots again.
        """
        return cls(total=2 * cls.total)

    @classmethod
    def for_stress(cls, seconds: int) -> Self:
        """Allow for a kernel that checks all it does, on a busy host."""
        return cls(silence=600, total=1800 + 10 * seconds)


class Machine(Protocol):
    """Somewhere a kernel can be started."""

    name: str
    """Its kind, as in the registry."""
    channel: str
    """The device in the target that carries records out of it."""

    def clock(self, exact: bool) -> Clock:
        """Return the clock of boots with or without exact counts."""

    def needs(self, exact: bool) -> Needs:
        """Return what boots with or without exact counts need of a kernel."""

    def boots_at_once(self, cpus: int, memory: int) -> int:
        """Say how many boots fit; each has ``cpus`` and MiB as in a BootRequest."""

    def boot_memory(self, memory: int) -> int:
        """Return the MiB that a boot takes here; ``memory`` as in a BootRequest."""

    def tools(self) -> Mapping[str, str]:
        """Return what its results depend on, by name; raise InfraError without it."""

    def check_cpu(self, model: str) -> None:
        """Raise InputError if the machine has no such CPU model; it builds nothing."""

    def prepare(self) -> None:
        """Make what boots need and do not make themselves; call it before them."""

    def facts(self, request: BootRequest) -> MachineFacts:
        """Say what ``request`` will run with; raise InfraError if it cannot."""

    def boot(self, request: BootRequest, work: Path, watcher: Watcher) -> BootResult:
        """Start a kernel and wait for the end of its job, or until there is enough.

        ``work`` is an empty folder for what the machine writes meanwhile. Raises
        BootError if the kernel failed, InfraError if the machine did, and
        StoppedError when the watcher asked for it.
        """

    def lead(self, request: BootRequest, work: Path, watcher: Watcher) -> Guest:
        """Return a guest that is started by a ``with`` and then does as it is told.

        Its init must be target/led.c. Raises InfraError if the machine cannot.
        """
