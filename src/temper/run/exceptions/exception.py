"""Exceptions that the kernel takes from itself: where, and what masks them."""

from dataclasses import dataclass
from typing import ClassVar

from temper.run.attacking import Target
from temper.run.exceptions.cpu import Cpu


@dataclass
class KernelException:
    """What all events have in common; ``Event`` says what each part is."""

    VECTOR: ClassVar[int]
    """In bytes from the exception vectors, for a kernel on its own stack pointer."""
    MASK: ClassVar[int]
    """The bit of PSTATE."""

    target: Target

    def masked(self, cpu: int) -> bool:
        """Return whether PSTATE masks it."""
        return bool(self.target.gdb.register(cpu, "cpsr") & self.MASK)

    def entry(self, cpu: int) -> int:
        """Return the address of its vector."""
        # The kernel chooses between several tables by what a CPU is vulnerable to.
        return Cpu(self.target, cpu).own("this_cpu_vector") + self.VECTOR

    def back(self, cpu: int) -> int:
        """Return the address of the instruction before which it was taken."""
        return self.target.gdb.register(cpu, "ELR_EL1")

    def taken(self, cpu: int) -> None:
        """Do nothing: most are over once they were taken."""
