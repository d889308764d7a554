"""The event: an interrupt of NMI priority, on QEMU's virt machine."""

from temper.run.attacking import Target
from temper.run.injection import Event

from .calls import Cpu

# The set-pending register of a CPU's own interrupts, GICR_ISPENDR0, in the GICv3 that
# QEMU's hw/arm/virt.c maps. Each CPU has two frames of 64 KiB; it is in the second one.
_REDISTRIBUTORS = 0x080A_0000
_EACH = 0x2_0000
_PENDING = 0x1_0200

# IPI_CPU_BACKTRACE, which Linux 6.12 requests as an NMI: its handler does nothing for a
# CPU that nobody has asked for a backtrace.
_BACKTRACE = 1 << 6

_FROM_KERNEL = 0x280
"""Where the exception vectors have interrupts of the kernel, in bytes."""


def interrupt(target: Target) -> Event:
    """Return the event."""

    def raised(cpu: int) -> None:
        target.gdb.set_device(_pending_at(cpu), _BACKTRACE)

    def pending(cpu: int) -> bool:
        return bool(target.gdb.device(_pending_at(cpu)) & _BACKTRACE)

    def back(cpu: int) -> int:
        return target.gdb.register(cpu, "ELR_EL1")

    def entry(cpu: int) -> int:
        # The kernel chooses between several vectors by what a CPU is vulnerable to.
        return Cpu(target, cpu).own("this_cpu_vector") + _FROM_KERNEL

    return Event(raised, pending, entry, back)


def _pending_at(cpu: int) -> int:
    return _REDISTRIBUTORS + (cpu - 1) * _EACH + _PENDING
