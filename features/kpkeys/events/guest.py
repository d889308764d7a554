"""A guest whose init is told from outside what to do."""

from pathlib import Path

from temper.errors import BootError
from temper.machine.qemu import Led, console_words, monitor_words, port_words

PATIENCE = 180.0
"""Seconds, for whatever a guest is asked for. On an idle host it takes a few."""


class Guest(Led):
    """A running guest with that init; it ends with the ``with`` block."""

    def __init__(self, command: list[str], work: Path) -> None:
        outside = (*console_words(work), *port_words(work), *monitor_words(work))
        super().__init__([*command, *outside], work, PATIENCE)
        self._rest = b""

    def ready(self) -> None:
        """Wait for an init that has just come up."""
        while self._line() != "ready":
            pass

    def tell(self, order: str) -> None:
        """Give an order to init."""
        self.send(order.encode() + b"\n")

    def answer(self) -> str:
        """Wait for what init has to say to the last order."""
        line = self._line()
        if not line.startswith("ok"):
            raise BootError(f"init: {line}")
        return line.removeprefix("ok").strip()

    def do(self, order: str) -> str:
        """Have an order carried out; return what there is to tell."""
        self.tell(order)
        try:
            return self.answer()
        except BootError as error:
            raise BootError(f"{order}: {error}") from error

    def _line(self) -> str:
        while b"\n" not in self._rest:
            self._rest += self.receive(1 << 16)
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode(errors="replace").strip()
