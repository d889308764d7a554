"""Has a CPU run an instruction that is not the kernel's.

QEMU's debugger can only read the registers of breakpoints and of EL2. So it puts the
instruction that writes one in the place of the kernel's next one, for a step.
"""

from dataclasses import dataclass

from temper.run.attacking import Target
from temper.run.exceptions.cpu import Cpu

_HYPERVISOR_CALL, _RETURN = 0xD400_0002, 0xD69F_03E0  # hvc #0; eret


@dataclass(frozen=True)
class Place:
    """Where a CPU stands, and what it had there."""

    target: Target
    cpu: int
    pc: int
    physical: int
    word: int
    x0: int

    @classmethod
    def of(cls, target: Target, cpu: int) -> "Place":
        """Look at a CPU."""
        gdb = target.gdb
        pc = gdb.register(cpu, "pc")
        physical = pc - gdb.word(cpu, Cpu(target, cpu).symbol("kimage_voffset"))
        word = gdb.device(physical)
        return cls(target, cpu, pc, physical, word, gdb.register(cpu, "x0"))

    def run(self, word: int, x0: int = 0) -> int:
        """Have the CPU run an instruction where it is; return what is in x0 then."""
        self._step(self.pc, word, x0)
        return self.target.gdb.register(self.cpu, "x0")

    def run_at_el2(self, *steps: tuple[int, int]) -> None:
        """Have it run instructions at EL2, each with a value of x0, and come back."""
        self.run(_HYPERVISOR_CALL)
        for word, x0 in (*steps, (_RETURN, 0)):
            # There, it sees physical memory.
            self._step(self.physical, word, x0)

    def restore(self) -> None:
        """Put back what it had."""
        gdb = self.target.gdb
        gdb.set_device(self.physical, self.word)
        gdb.set_register(self.cpu, "x0", self.x0)
        gdb.set_register(self.cpu, "pc", self.pc)

    def _step(self, pc: int, word: int, x0: int) -> None:
        gdb = self.target.gdb
        gdb.set_device(self.physical, word)
        gdb.set_register(self.cpu, "x0", x0)
        gdb.set_register(self.cpu, "pc", pc)
        gdb.step(self.cpu)
