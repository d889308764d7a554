"""The events: an interrupt, on QEMU's virt machine, and one where others are masked."""

from dataclasses import dataclass, field
from typing import ClassVar

from temper.run.exceptions.exception import KernelException
from temper.run.exceptions.instruction import Place

# The registers of a CPU's own interrupts that make one pending, GICR_ISPENDR0, and no
# longer, in the GICv3 that QEMU's hw/arm/virt.c maps. Each CPU has two frames of
# 64 KiB; they are in the second one.
_REDISTRIBUTORS = 0x080A_0000
_EACH = 0x2_0000
_PENDING, _PENDING_NO_MORE = 0x1_0200, 0x1_0280

# IPI_CPU_BACKTRACE, which Linux 6.12 requests as an NMI if it has pseudo-NMIs: its
# handler does nothing for a CPU that nobody has asked for a backtrace.
_BACKTRACE = 1 << 6

_GET_PRIORITIES, _SET_PRIORITIES = 0xD538_4600, 0xD518_4600  # mrs, msr: x0, ICC_PMR_EL1
_NMIS_ALONE = 0xC0


@dataclass
class Interrupt(KernelException):
    """One of NMI priority, if the kernel has pseudo-NMIs; it waits where it is masked.

    ``Event`` says what each part is.
    """

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


@dataclass
class Nmi(Interrupt):
    """The same, in a CPU that has masked all interrupts of less than NMI priority.

    Where it has not, the kernel takes an NMI for an interrupt, which has other entry
    code. Linux 6.12 masks by GICV3_PRIO_IRQ, and has GICV3_PRIO_UNMASKED otherwise.
    """

    _unmasked: dict[int, int] = field(default_factory=dict, init=False)
    """CPU -> the priority mask that it had."""

    def raised(self, cpu: int) -> None:
        """Mask what the kernel would, and make it pending."""
        place = Place.of(self.target, cpu)
        self._unmasked[cpu] = place.run(_GET_PRIORITIES)
        place.run(_SET_PRIORITIES, _NMIS_ALONE)
        place.restore()
        super().raised(cpu)

    def withdrawn(self, cpu: int) -> bool:
        """Return whether it was still pending; let the CPU take other interrupts."""
        pending = super().withdrawn(cpu)
        place = Place.of(self.target, cpu)
        place.run(_SET_PRIORITIES, self._unmasked.pop(cpu))
        place.restore()
        return pending


def _register(cpu: int, which: int) -> int:
    return _REDISTRIBUTORS + (cpu - 1) * _EACH + which
