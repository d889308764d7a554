"""What must hold when a function that switches stacks has returned."""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

from temper.run.exceptions import Cpu

# What is wrong, a bit for each; judges/injection.py has their names.
SCS, STACK, PREV_SCS, PREV_SAVED, CURRENT, SAVED, DIED, FRAMES, MASKS = (
    1 << n for n in range(9)
)

SWITCH = "a task's switch"
IN_USER, IN_KERNEL = "an interrupt in user mode", "an interrupt in the kernel"
SOFTIRQ = "softirqs"

_POISON = 0x5A
# What a function leaves as it finds it, beside the stack pointer.
_KEPT = tuple(map("x{}".format, range(19, 30)))
# In struct cpu_context, which begins with these: its sp and pc.
_SAVED_SP, _SAVED_PC = 11 * 8, 12 * 8

_STACK_SIZE = 1 << 14
"""Bytes of a stack, unless a page has more: MIN_THREAD_SHIFT of Linux 6.12."""
_STACK_END = 16
"""Bytes at the end of a task's stack, in which the kernel has a mark."""
_ALIGNED = 16
_FRAME = 64
"""Bytes above a stack pointer that are compared: of the caller's frame."""

_DAIF = 0xF << 6
"""Of PSTATE: what masks exceptions."""

# PSTATE of what was interrupted comes after its PC; 0 is user mode.
_MODE = 0xF


@dataclass(frozen=True)
class SwitchingCpu(Cpu):
    """A CPU that switches stacks."""

    def offset(self, name: str) -> int:
        """Return one of the kernel's offsets."""
        return self.target.kernel.constants[name]

    @property
    def current(self) -> int:
        """The task that the kernel takes for running."""
        return self.register("SP_EL0")

    def poison(self, tasks: Iterable[int]) -> bool:
        """Overwrite what an exception may overwrite: the free part of the stack.

        Return False if there is not enough, on the stacks of ``tasks`` and interrupts.
        """
        top = self.register("sp")
        size = max(_STACK_SIZE, self.offset("PAGE_SZ"))
        bases = [self.word(task + self.offset("TSK_STACK")) for task in tasks]
        bases.append(self.own("irq_stack_ptr"))
        free = [
            range(base + _STACK_END, top) for base in bases if base < top <= base + size
        ]
        if not free or len(free[0]) < self.offset("PT_REGS_SIZE") or top % _ALIGNED:
            return False
        poison = bytes([_POISON]) * len(free[0])
        self.target.gdb.set_memory(self.number, free[0].start, poison)
        return True

    @property
    def masks(self) -> int:
        """What PSTATE masks."""
        return self.register("cpsr") & _DAIF

    def task_scs(self, task: int) -> range:
        """Return the addresses of a task's shadow call stack."""
        return self._scs_at(self.word(task + self.offset("TSK_TI_SCS_BASE")))

    def irq_scs(self) -> range:
        """Return those of the shadow call stack for interrupts."""
        return self._scs_at(self.own("irq_shadow_call_stack_ptr"))

    def _scs_at(self, base: int) -> range:
        # A page each: SCS_ORDER of Linux 6.12 is 0.
        return range(base, base + self.offset("PAGE_SZ"))


@dataclass(frozen=True)
class Place:
    """A register, or a word of memory, and what must be there in the end."""

    bit: int
    value: int
    register: str = ""
    address: int = 0

    def is_right(self, cpu: SwitchingCpu) -> bool:
        """Say whether it is there."""
        there = cpu.register(self.register) if self.register else cpu.word(self.address)
        return there == self.value

    def repair(self, cpu: SwitchingCpu) -> None:
        """Put it there."""
        if self.register:
            cpu.set_register(self.register, self.value)
        else:
            cpu.set_word(self.address, self.value)


@dataclass(frozen=True)
class Span:
    """Memory, and what must be there in the end."""

    bit: int
    address: int
    content: bytes

    def is_right(self, cpu: SwitchingCpu) -> bool:
        """Say whether it is there."""
        return cpu.memory(self.address, len(self.content)) == self.content

    def repair(self, cpu: SwitchingCpu) -> None:
        """Put it there."""
        cpu.target.gdb.set_memory(cpu.number, self.address, self.content)


@dataclass(frozen=True)
class Masks:
    """The exceptions that must be masked in the end, and no others."""

    bit: int
    value: int

    def is_right(self, cpu: SwitchingCpu) -> bool:
        """Say whether they are."""
        return cpu.masks == self.value

    def repair(self, cpu: SwitchingCpu) -> None:
        """Mask them."""
        cpu.set_register("cpsr", cpu.register("cpsr") & ~_DAIF | self.value)


@dataclass
class SwitchCall:
    """A call of a function that changes the stacks; ``Call`` says what each part is."""

    cpu: SwitchingCpu
    kind: str
    returns_to: int
    stack: int
    scs: int
    """The SCS pointer when it returns."""
    places: list[Place | Span | Masks]
    tasks: dict[int, int]
    """The tasks whose stacks are in use meanwhile, and their SCS pointers."""
    nested: Sequence[int] = field(init=False)
    _harmful: int | None = field(default=None, init=False)
    """What was in the register of the SCS pointer, but is none."""

    def __post_init__(self) -> None:
        self.nested = (self.cpu.symbol("call_on_irq_stack"),)

    def taken(self) -> int:
        """Have handlers save return addresses in the free part of a shadow stack."""
        if not self.cpu.poison(self.tasks):
            return STACK
        found = self.cpu.register("x18")
        free = [
            range(scs, self.cpu.task_scs(task).stop) for task, scs in self.tasks.items()
        ]
        if any(found in stack for stack in (self.cpu.irq_scs(), *free)):
            return 0
        self._harmful = found
        self.cpu.set_register("x18", self.scs)
        return SCS

    def at_nested(self) -> int:
        """Have current's SCS pointer saved for current, or no pointer at all.

        In the second case, the handler is called where it is.
        """
        if self.cpu.register("x18") in self.cpu.task_scs(self.cpu.current):
            return 0
        self.cpu.set_register("pc", self.cpu.register("x1"))
        return SCS

    def resumed(self) -> None:
        """Put back what ``taken`` took away."""
        if self._harmful is not None:
            self.cpu.set_register("x18", self._harmful)
        self._harmful = None

    def returned(self) -> int:
        """Compare everything with what it must be."""
        wrong = [place for place in self.places if not place.is_right(self.cpu)]
        for place in wrong:
            place.repair(self.cpu)
        return reduce(or_, (place.bit for place in wrong), 0)


def of_cpu_switch_to(cpu: SwitchingCpu) -> SwitchCall:
    """Expect the next task's stacks, and those of the previous one saved."""
    prev, task = cpu.register("x0"), cpu.register("x1")
    context = cpu.offset("THREAD_CPU_CONTEXT")
    stack = cpu.word(task + context + _SAVED_SP)
    scs = cpu.word(task + cpu.offset("TSK_TI_SCS_SP"))
    registers = [cpu.register(name) for name in (*_KEPT, "sp", "x30")]
    return SwitchCall(
        cpu=cpu,
        kind=SWITCH,
        returns_to=cpu.word(task + context + _SAVED_PC),
        stack=stack,
        scs=scs,
        places=[
            *_stacks_of(task, stack, scs),
            Place(
                PREV_SCS,
                cpu.register("x18"),
                address=prev + cpu.offset("TSK_TI_SCS_SP"),
            ),
            Span(
                PREV_SAVED,
                prev + context,
                struct.pack(f"<{len(registers)}Q", *registers),
            ),
            *(
                Place(SAVED, cpu.word(task + context + 8 * n), name)
                for n, name in enumerate(_KEPT)
            ),
            Place(SAVED, prev, "x0"),
            Span(FRAMES, stack, cpu.memory(stack, _FRAME)),
            Span(FRAMES, cpu.register("sp"), cpu.memory(cpu.register("sp"), _FRAME)),
            Masks(MASKS, cpu.masks),
        ],
        tasks={prev: cpu.register("x18"), task: scs},
    )


def of_call_on_irq_stack(cpu: SwitchingCpu) -> SwitchCall:
    """Expect the task's stacks again.

    What is masked then is for the handler to say, which it calls.
    """
    stack, scs, task = cpu.register("sp"), cpu.register("x18"), cpu.current
    return SwitchCall(
        cpu=cpu,
        kind=_cause(cpu),
        returns_to=cpu.register("x30"),
        stack=stack,
        scs=scs,
        places=[
            *_stacks_of(task, stack, scs),
            *(Place(SAVED, cpu.register(name), name) for name in _KEPT),
            Span(FRAMES, stack, cpu.memory(stack, _FRAME)),
        ],
        tasks={task: scs},
    )


def _stacks_of(task: int, stack: int, scs: int) -> list[Place]:
    """Expect a task to be current, on these stacks."""
    return [
        Place(SCS, scs, "x18"),
        Place(STACK, stack, "sp"),
        Place(CURRENT, task, "SP_EL0"),
    ]


def _cause(cpu: SwitchingCpu) -> str:
    """Say what a call of call_on_irq_stack() is for."""
    if not (regs := cpu.register("x0")):
        return SOFTIRQ
    state = cpu.word(regs + cpu.offset("S_PC") + 8)
    return IN_KERNEL if state & _MODE else IN_USER
