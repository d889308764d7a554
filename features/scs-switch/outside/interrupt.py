"""The event: an interrupt of NMI priority, on QEMU's virt machine."""

from dataclasses import dataclass
from typing import ClassVar

from .exception import KernelException

# The registers of a CPU's own interrupts that make one pending, GICR_ISPENDR0, and no
# longer, in the GICv3 that QEMU's hw/arm/virt.c maps. Each CPU has two frames of
# 64 KiB; they are in the second one.
_REDISTRIBUTORS = 0x080A_0000
_EACH = 0x2_0000
_PENDING, _PENDING_NO_MORE = 0x1_0200, 0x1_0280

# IPI_CPU_BACKTRACE, which Linux 6.12 requests as an NMI: its handler does nothing for a
# CPU that nobody has asked for a backtrace.
_BACKTRACE = 1 << 6


@dataclass
class Nmi(KernelException):
    """An interrupt that waits where it is masked; ``Event`` says what each part is."""

    VECTOR: ClassVar[int] = 0x280
    MASK: ClassVar[int] = 1 << 7

    def raised(self, cpu: int) -> None:
        """Make it pending."""
        self.target.gdb.set_device(_register(cpu, _PENDING), _BACKTRACE)

    def withdrawn(self, cpu: int) -> bool:
        """Return whether it was still pending."""
        pending = self.target.gdb.device(_register(cpu, _PENDING)) & _BACKTRACE
        self.target.gdb.set_device(_register(cpu, _PENDING_NO_MORE), _BACKTRACE)
        return bool(pending)


def _register(cpu: int, which: int) -> int:
    return _REDISTRIBUTORS + (cpu - 1) * _EACH + which
