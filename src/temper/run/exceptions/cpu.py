"""A CPU of an arm64 guest, and what it sees."""

from dataclasses import dataclass

from temper.run.attacking import Target

_WORD = (1 << 64) - 1


@dataclass(frozen=True)
class Cpu:
    """A CPU that stands still; what talks to it raises what ``Gdb`` does."""

    target: Target
    number: int

    def register(self, name: str) -> int:
        """Read a register."""
        return self.target.gdb.register(self.number, name)

    def set_register(self, name: str, value: int) -> None:
        """Write one."""
        self.target.gdb.set_register(self.number, name, value)

    def word(self, address: int) -> int:
        """Read memory."""
        return self.target.gdb.word(self.number, address)

    def set_word(self, address: int, value: int) -> None:
        """Write memory."""
        self.target.gdb.set_word(self.number, address, value)

    def memory(self, address: int, size: int) -> bytes:
        """Read memory."""
        return self.target.gdb.memory(self.number, address, size)

    def symbol(self, name: str) -> int:
        """Return the address of a symbol."""
        return self.target.kernel.symbols.address(name)

    def own(self, name: str) -> int:
        """Return the value of a variable that each CPU has one of."""
        return self.word((self.symbol(name) + self.register("TPIDR_EL1")) & _WORD)
