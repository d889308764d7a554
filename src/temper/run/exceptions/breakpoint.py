"""The event: a debug exception, by a breakpoint of the CPU's own.

Nobody has set a breakpoint by the kernel's means, so its handler does nothing. Unlike
an interrupt, one that is masked where it is does not wait.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from temper.run.exceptions.exception import KernelException
from temper.run.exceptions.instruction import Place

# msr dbgbvr0_el1, x0; dbgbcr0_el1; mdscr_el1
_SET_ADDRESS, _CONTROL, _MONITOR = 0xD510_0080, 0xD510_00A0, 0xD510_0240

# Arm ARM, DBGBCR<n>_EL1: enabled, for EL1 alone, at all bytes of the instruction.
_OFF, _ON = 0, 1 | 1 << 1 | 0xF << 5
# MDSCR_EL1: breakpoints at all, and in the kernel.
_ENABLED = 1 << 15 | 1 << 13


@dataclass
class Breakpoint(KernelException):
    """A breakpoint at an instruction; ``Event`` says what each part is."""

    VECTOR: ClassVar[int] = 0x200
    MASK: ClassVar[int] = 1 << 9
    _set_on: set[int] = field(default_factory=set, init=False)
    """CPUs that have it."""

    def raised(self, cpu: int) -> None:
        """Set it where the CPU is."""
        monitored = self.target.gdb.register(cpu, "MDSCR_EL1") | _ENABLED
        place = Place.of(self.target, cpu)
        place.run(_SET_ADDRESS, place.pc)
        place.run(_CONTROL, _ON)
        place.run(_MONITOR, monitored)
        place.restore()
        self._set_on.add(cpu)

    def taken(self, cpu: int) -> None:
        """Take it away, or else the CPU comes no further."""
        self.withdrawn(cpu)

    def withdrawn(self, cpu: int) -> bool:
        """Take it away; return whether it was still there."""
        if cpu not in self._set_on:
            return False
        place = Place.of(self.target, cpu)
        place.run(_CONTROL, _OFF)
        place.restore()
        self._set_on.remove(cpu)
        return True
