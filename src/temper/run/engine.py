"""What carries out the boots of a campaign, wherever they run."""

from concurrent.futures import Future
from typing import Protocol

from temper.record.boot import StoredBoot
from temper.record.plan import RunPlan, Slot


class Told(Protocol):
    """Is told how far boots are, from any thread."""

    def show(self, slot: Slot, done: int, where: str = "") -> None:
        """Hear how many programs of a boot have ended, and where it runs."""

    def note(self, slot: Slot, text: str, where: str = "") -> None:
        """Hear in words what keeps a boot waiting."""


class Engine(Protocol):
    """Boots slots of a plan, several at once."""

    @property
    def plan(self) -> RunPlan:
        """What is booted."""

    @property
    def option(self) -> str:
        """The words of the command line that chose it; empty: it needs none."""

    def room(self) -> int:
        """Return how many boots fit at once now; 0 while there is nobody to boot.

        Raises InfraError if nothing can be booted any more.
        """

    def submit(self, slot: Slot, told: Told) -> Future[StoredBoot]:
        """Begin a boot; its future has the result, or why there is none."""

    def stop(self) -> None:
        """Have all boots end now; afterwards each future is done or cancelled."""
