"""The event: a debug exception, by a breakpoint of the CPU's own.

Nobody has set a breakpoint by the kernel's means, so its handler does nothing. Unlike
an interrupt, one that is masked where it is does not wait.
"""

from dataclasses import dataclass, field

from temper.run.attacking import Target

from .instruction import Place
from .vectors import DEBUG_MASKED, SYNCHRONOUS, came_from, masks, vector

# msr dbgbvr0_el1, x0; dbgbcr0_el1; mdscr_el1
_SET_ADDRESS, _CONTROL, _MONITOR = 0xD510_0080, 0xD510_00A0, 0xD510_0240

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

    def masked(self, cpu: int) -> bool:
        """Return whether PSTATE masks it."""
        return masks(self.target, cpu, DEBUG_MASKED)

    def raised(self, cpu: int) -> None:
        """Set it where the CPU is."""
        monitored = self.target.gdb.register(cpu, "MDSCR_EL1") | _ENABLED
        place = Place.of(self.target, cpu)
        place.run(_SET_ADDRESS, place.pc)
        place.run(_CONTROL, _ON)
        place.run(_MONITOR, monitored)
        place.restore()
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
        place = Place.of(self.target, cpu)
        place.run(_CONTROL, _OFF)
        place.restore()
        self._set_on.remove(cpu)
        return True
