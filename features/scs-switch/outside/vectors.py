"""Where the kernel takes exceptions that come from itself, and what masks them."""

from temper.run.attacking import Target

from .calls import Cpu

# In bytes from the exception vectors; the kernel uses the stack pointer of its own.
SYNCHRONOUS, INTERRUPT, SERROR = 0x200, 0x280, 0x380

# Bits of PSTATE.
INTERRUPTS_MASKED, SERRORS_MASKED, DEBUG_MASKED = (1 << bit for bit in (7, 8, 9))


def vector(target: Target, cpu: int, which: int) -> int:
    """Return the address of one of a CPU's vectors."""
    # The kernel chooses between several tables by what a CPU is vulnerable to.
    return Cpu(target, cpu).own("this_cpu_vector") + which


def came_from(target: Target, cpu: int) -> int:
    """Return the address of the instruction before which a CPU took an exception."""
    return target.gdb.register(cpu, "ELR_EL1")


def masks(target: Target, cpu: int, which: int) -> bool:
    """Say whether a CPU masks a kind of exceptions."""
    return bool(target.gdb.register(cpu, "cpsr") & which)
