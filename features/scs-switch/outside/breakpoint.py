"""The event: a debug exception, by a breakpoint of the CPU's own.

The kernel's own code writes the registers, an instruction at a time: QEMU's debugger
can only read them. Nobody has set a breakpoint by the kernel's means, so its handler
does nothing. Unlike an interrupt, one that is masked where it is does not wait.
"""

import struct
from dataclasses import dataclass, field

from temper.errors import BootError
from temper.run.attacking import Target

from .vectors import SYNCHRONOUS, came_from, vector

# Instructions that write a register, without the one that they write it from, and the
# function of Linux 6.12 that has each.
_ADDRESS = 0xD510_0080, "write_wb_reg"  # msr dbgbvr0_el1, x
_CONTROL = 0xD510_00A0, "write_wb_reg"  # msr dbgbcr0_el1, x
_MONITOR = 0xD510_0240, "mdscr_write"  # msr mdscr_el1, x
_SOURCE = 0x1F
_MOST_BYTES = 4096

# Arm ARM, DBGBCR<n>_EL1: enabled, for EL1 alone, at all bytes of the instruction.
_OFF, _ON = 0, 1 | 1 << 1 | 0xF << 5
# MDSCR_EL1: breakpoints at all, and in the kernel.
_ENABLED = 1 << 15 | 1 << 13


@dataclass
class Breakpoint:
    """A breakpoint at an instruction; ``Event`` says what each part is."""

    target: Target
    _set_on: set[int] = field(default_factory=set, init=False)
    """CPUs that have it."""

    def raised(self, cpu: int) -> None:
        """Set it where the CPU is."""
        gdb = self.target.gdb
        self._write(cpu, _ADDRESS, gdb.register(cpu, "pc"))
        self._write(cpu, _CONTROL, _ON)
        self._write(cpu, _MONITOR, gdb.register(cpu, "MDSCR_EL1") | _ENABLED)
        self._set_on.add(cpu)

    def entry(self, cpu: int) -> int:
        """Return the vector of what an instruction causes."""
        return vector(self.target, cpu, SYNCHRONOUS)

    def back(self, cpu: int) -> int:
        """Return the address of the instruction that has the breakpoint."""
        return came_from(self.target, cpu)

    def taken(self, cpu: int) -> None:
        """Take it away, or else the CPU comes no further."""
        self.withdrawn(cpu)

    def withdrawn(self, cpu: int) -> bool:
        """Take it away; return whether it was still there."""
        if cpu not in self._set_on:
            return False
        self._write(cpu, _CONTROL, _OFF)
        self._set_on.remove(cpu)
        return True

    def _write(self, cpu: int, what: tuple[int, str], value: int) -> None:
        """Have the CPU run the one instruction that writes a register."""
        gdb = self.target.gdb
        address, source = self._instruction(cpu, *what)
        borrowed = {name: gdb.register(cpu, name) for name in (source, "pc")}
        gdb.set_register(cpu, source, value)
        gdb.set_register(cpu, "pc", address)
        gdb.step(cpu)
        for name, before in borrowed.items():
            gdb.set_register(cpu, name, before)

    def _instruction(self, cpu: int, word: int, function: str) -> tuple[int, str]:
        """Return the address of an instruction, and the register that it reads."""
        start = self.target.kernel.symbols.address(function)
        code = self.target.gdb.memory(cpu, start, _MOST_BYTES)
        for n, (found,) in enumerate(struct.iter_unpack("<I", code)):
            source = found & _SOURCE
            if found & ~_SOURCE == word and source != _SOURCE:
                return start + 4 * n, f"x{source}"
        raise BootError(f"{function} does not write the registers of breakpoints")
