"""Leads guests through an event, as a feature's script says."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from temper.errors import BootError
from temper.extension import script_named
from temper.machine import (
    BootRequest,
    BootResult,
    Guest,
    Machine,
    Watcher,
)
from temper.paths import absolute
from temper.record.plan import Scripts
from temper.record.wire import AnyRecord, Samples
from temper.run.scripts import blaming


@dataclass
class Leader:
    """What a script boots its guests with, one after the other."""

    machine: Machine
    request: BootRequest
    work: Path
    """A folder for the script's own files, such as disks."""
    watcher: Watcher
    _consoles: list[str] = field(default_factory=list)

    @property
    def cpus(self) -> int:
        """How many CPUs each guest has."""
        return self.request.cpus

    @property
    def cmdline(self) -> str:
        """What every guest has on its kernel command line."""
        needed = self.machine.needs(exact=False).cmdline
        return _joined(needed, self.request.cmdline)

    @property
    def console(self) -> str:
        """What the kernels of all guests have said so far."""
        # A guest that was ended may have been in the middle of a line.
        return "".join(f"{console.rstrip()}\n" for console in self._consoles)

    @contextmanager
    def boot(self, cmdline: str = "", hardware: Sequence[str] = ()) -> Iterator[Guest]:
        """Start a guest, and end it with the ``with`` block.

        ``cmdline`` and ``hardware`` are added to those of all guests.
        """
        work = self.work / f"boot-{len(self._consoles) + 1}"
        work.mkdir()
        request = replace(
            self.request,
            cmdline=_joined(self.request.cmdline, cmdline),
            hardware=(*self.request.hardware, *hardware),
        )
        guest = self.machine.lead(request, work, self.watcher)
        try:
            with guest:
                yield guest
        finally:
            self._consoles.append(guest.console)


def lead(
    machine: Machine,
    scripts: Scripts,
    variant: str,
    request: BootRequest,
    work: Path,
    watcher: Watcher,
) -> BootResult:
    """Call the script of a variant; return what it found as samples.

    Raises BootError, with the console, if the guest did not do as the script wants,
    InfraError if the machine is to blame, OSError if the host is, and InputError for a
    script with a bug.
    """
    name = scripts.by_variant[variant]
    script = script_named(absolute(scripts.folder), name)
    own = work / "script"
    own.mkdir()
    leader = Leader(machine, request, own, watcher)
    try:
        with blaming(f"the event '{name}'", Path(scripts.folder)):
            records = _samples(script(leader))
    except BootError as error:
        error.console = leader.console
        raise
    return BootResult(records, leader.console)


def _samples(found: Mapping[str, int]) -> list[AnyRecord]:
    return [
        Samples(n=n, type="samples", name=name, values=[value])
        for n, (name, value) in enumerate(found.items())
    ]


def _joined(*words: str) -> str:
    return " ".join(filter(None, words))
