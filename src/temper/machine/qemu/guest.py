"""A guest whose init is told from outside what to do."""

import re
from collections.abc import Sequence
from pathlib import Path

from temper.errors import BootError
from temper.machine.qemu.led import Led
from temper.machine.watcher import Watcher


class Guest(Led):
    """A running guest with ``target/led.c`` as its init."""

    def __init__(
        self,
        command: Sequence[str],
        work: Path,
        patience: float,
        watcher: Watcher | None = None,
    ) -> None:
        """``command`` gives it all that it is led by, see launch."""
        super().__init__(command, work, patience, watcher)
        self._rest = b""

    def ready(self) -> None:
        """Wait for an init that has just come up."""
        self.wait_until(lambda: self._line() == "ready", "init that is ready")

    def tell(self, order: str) -> None:
        """Give an order to init."""
        self.send(order.encode() + b"\n")

    def answer(self) -> str:
        """Wait for init's reply to the last order; raise BootError if it failed."""
        line = self._line()
        if not line.startswith("ok"):
            raise BootError(f"init: {line}", console=self.console)
        return line.removeprefix("ok").strip()

    def do(self, order: str) -> str:
        """Have an order carried out; return the reply."""
        self.tell(order)
        try:
            return self.answer()
        except BootError as error:
            raise BootError(f"{order}: {error}", console=self.console) from error

    def _failed(self, why: str) -> BootError:
        """Add what init said last, such as why it cannot go on."""
        said = re.findall(r"^init: .*", self.console, re.MULTILINE)
        last = [line.strip() for line in said[-1:] if line.strip() not in why]
        return super()._failed("; ".join([why, *last]))

    def _line(self) -> str:
        while b"\n" not in self._rest:
            self._rest += self.receive(1 << 16)
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode(errors="replace").strip()
