"""What must hold in a switch of stacks: all that does not is told and repaired."""

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

import pytest

from temper.catalog import feature_named
from temper.extension import loaded
from temper.kernel import Debugged
from temper.kernel.symbols import Symbols
from temper.machine import Gdb
from temper.run.attacking import Target

OUTSIDE = loaded(feature_named("scs-switch").folder / "outside" / "__init__.py")
CALLS = OUTSIDE.attacks

PREV, NEXT, PER_CPU = 0x10000, 0x20000, 0x1000
CONTEXT, SCS_BASE, SCS_SP, TASK_STACK, REGISTERS = 0x100, 0x10, 0x18, 0x30, 336
OFFSETS = {
    "THREAD_CPU_CONTEXT": CONTEXT,
    "TSK_TI_SCS_BASE": SCS_BASE,
    "TSK_TI_SCS_SP": SCS_SP,
    "TSK_STACK": TASK_STACK,
    "PT_REGS_SIZE": REGISTERS,
    "PAGE_SZ": 4096,
    "S_PC": 256,
}
PREV_STACK, NEXT_STACK, IRQ_STACK = 0x100000, 0x200000, 0x300000
PREV_SP, NEXT_SP = PREV_STACK + 0x3000, NEXT_STACK + 0x2000
PREV_SCS, NEXT_SCS, IRQ_SCS = 0x400100, 0x500200, 0x600000
IRQ_STACK_AT, IRQ_SCS_AT, CALL_AT = 0x700000, 0x700008, 0x800000
CALLER, HANDLER = 0x900000, 0xA00000
KEPT = [f"x{number}" for number in range(19, 30)]
IRQS_MASKED = 0x80


@dataclass
class Cpu:
    """In the place of Gdb: one CPU with its memory."""

    registers: dict[str, int] = field(default_factory=dict)
    content: dict[int, int] = field(default_factory=dict)

    def register(self, _cpu: int, name: str) -> int:
        return self.registers[name]

    def set_register(self, _cpu: int, name: str, value: int) -> None:
        self.registers[name] = value

    def memory(self, _cpu: int, address: int, size: int) -> bytes:
        return bytes(self.content.get(address + n, 0) for n in range(size))

    def set_memory(self, _cpu: int, address: int, what: bytes) -> None:
        self.content.update(enumerate(what, address))

    def word(self, cpu: int, address: int) -> int:
        (word,) = struct.unpack("<Q", self.memory(cpu, address, 8))
        return int(word)

    def set_word(self, cpu: int, address: int, value: int) -> None:
        self.set_memory(cpu, address, struct.pack("<Q", value))


def switching() -> Cpu:
    """Return a CPU that is about to switch from one task to the next."""
    cpu = Cpu()
    words = {
        PREV + TASK_STACK: PREV_STACK,
        NEXT + TASK_STACK: NEXT_STACK,
        PREV + SCS_BASE: PREV_SCS & ~0xFFF,
        NEXT + SCS_BASE: NEXT_SCS & ~0xFFF,
        NEXT + SCS_SP: NEXT_SCS,
        IRQ_STACK_AT + PER_CPU: IRQ_STACK,
        IRQ_SCS_AT + PER_CPU: IRQ_SCS,
        PREV_SP: 11,
        NEXT_SP: 22,
    }
    saved = [*range(700, 711), NEXT_SP, CALLER]
    words |= {NEXT + CONTEXT + 8 * n: each for n, each in enumerate(saved)}
    for address, word in words.items():
        cpu.set_word(1, address, word)
    cpu.registers = {
        **{name: 100 + n for n, name in enumerate(KEPT)},
        **{"x0": PREV, "x1": NEXT, "x18": PREV_SCS, "x30": CALLER},
        **{"sp": PREV_SP, "pc": CALL_AT, "SP_EL0": PREV, "TPIDR_EL1": PER_CPU},
        "cpsr": 0x5 | IRQS_MASKED,
    }
    return cpu


def switch(cpu: Cpu) -> None:
    """Do what cpu_switch_to() does."""
    registers = [cpu.registers[name] for name in (*KEPT, "sp", "x30")]
    for n, value in enumerate(registers):
        cpu.set_word(1, PREV + CONTEXT + 8 * n, value)
    cpu.set_word(1, PREV + SCS_SP, cpu.registers["x18"])
    for n, name in enumerate((*KEPT, "sp")):
        cpu.registers[name] = cpu.word(1, NEXT + CONTEXT + 8 * n)
    cpu.registers |= {"x18": NEXT_SCS, "SP_EL0": NEXT}


def interrupted() -> Cpu:
    """Return a CPU that is about to call a handler on the stack for interrupts."""
    cpu = switching()
    cpu.registers |= {"x0": 0, "x1": HANDLER}
    return cpu


def cpu_of(cpu: Cpu) -> object:
    symbols = Symbols(
        (
            (IRQ_STACK_AT, "D", "irq_stack_ptr"),
            (IRQ_SCS_AT, "D", "irq_shadow_call_stack_ptr"),
            (CALL_AT, "T", "call_on_irq_stack"),
        )
    )
    target = Target(cast(Gdb, cpu), Debugged(symbols, OFFSETS), samples=1)
    return CALLS.SwitchingCpu(target, 1)


SCS, STACK, SAVED_SCS, SAVED, CURRENT, KEPT_BIT, _, FRAMES, MASKS = (
    1 << n for n in range(9)
)


def sets(name: str, value: int) -> Callable[[Cpu], None]:
    return lambda cpu: cpu.set_register(1, name, value)


def writes(address: int) -> Callable[[Cpu], None]:
    return lambda cpu: cpu.set_word(1, address, 0x5A5A)


def test_a_switch_that_is_right_is_not_told_of() -> None:
    cpu = switching()
    call = CALLS.of_cpu_switch_to(cpu_of(cpu))
    assert (call.kind, call.returns_to, call.stack) == (CALLS.SWITCH, CALLER, NEXT_SP)
    switch(cpu)
    assert call.returned() == 0


@pytest.mark.parametrize(
    ("harm", "bit"),
    [
        (sets("x18", PREV_SCS), SCS),
        (sets("sp", NEXT_SP + 16), STACK),
        (sets("SP_EL0", PREV), CURRENT),
        (sets("x0", NEXT), KEPT_BIT),
        *((sets(name, 1), KEPT_BIT) for name in KEPT),
        (writes(PREV + SCS_SP), SAVED_SCS),
        *((writes(PREV + CONTEXT + 8 * n), SAVED) for n in range(13)),
        (writes(PREV_SP), FRAMES),
        (writes(NEXT_SP), FRAMES),
        (writes(NEXT_SP + 56), FRAMES),
        (sets("cpsr", 0x5), MASKS),
        (sets("cpsr", 0x5 | IRQS_MASKED | 0x200), MASKS),
    ],
)
def test_what_is_wrong_after_a_switch_is_told_and_repaired(
    harm: Callable[[Cpu], None], bit: int
) -> None:
    cpu, right = switching(), switching()
    call = CALLS.of_cpu_switch_to(cpu_of(cpu))
    switch(cpu)
    switch(right)
    harm(cpu)
    assert call.returned() == bit
    assert cpu.registers == right.registers
    assert {at: one for at, one in cpu.content.items() if one} == {
        at: one for at, one in right.content.items() if one
    }


@pytest.mark.parametrize(
    ("harm", "bit"),
    [
        (sets("x18", IRQ_SCS), SCS),
        (sets("sp", PREV_SP - 16), STACK),
        (sets("SP_EL0", NEXT), CURRENT),
        (sets("x29", 1), KEPT_BIT),
        (writes(PREV_SP), FRAMES),
        # That is for the handler to say.
        (sets("cpsr", 0x5), 0),
    ],
)
def test_what_is_wrong_after_a_handler_is_told(
    harm: Callable[[Cpu], None], bit: int
) -> None:
    cpu = interrupted()
    call = CALLS.of_call_on_irq_stack(cpu_of(cpu))
    assert (call.kind, call.returns_to, call.stack) == (
        *(CALLS.SOFTIRQ, CALLER, PREV_SP),
    )
    harm(cpu)
    assert call.returned() == bit


@pytest.mark.parametrize(
    ("stack", "top"), [(PREV_STACK, PREV_SP), (NEXT_STACK, NEXT_SP), (IRQ_STACK, 0)]
)
def test_all_that_a_handler_may_overwrite_is_overwritten(stack: int, top: int) -> None:
    """And nothing above, nor the mark at the end of a task's stack."""
    cpu = switching()
    top = top or IRQ_STACK + 0x4000
    call = CALLS.of_cpu_switch_to(cpu_of(cpu))
    cpu.registers["sp"] = top
    before = dict(cpu.content)
    assert call.taken() == 0
    changed = {at for at, one in cpu.content.items() if before.get(at) != one}
    assert changed == set(range(stack + 16, top))


@pytest.mark.parametrize(
    "sp",
    [
        PREV_SP - 8,
        PREV_STACK + REGISTERS,
        IRQ_STACK,
        IRQ_STACK + 0x4100,
        PREV_STACK - 16,
    ],
)
def test_a_stack_on_which_no_handler_could_run_is_told(sp: int) -> None:
    cpu = switching()
    call = CALLS.of_cpu_switch_to(cpu_of(cpu))
    cpu.registers["sp"] = sp
    before = dict(cpu.content)
    assert call.taken() == STACK
    assert cpu.content == before


@pytest.mark.parametrize("scs", [PREV_SCS, PREV_SCS + 8, NEXT_SCS, IRQ_SCS, 0x600FF8])
def test_a_handler_may_push_to_the_free_part_of_a_shadow_stack(scs: int) -> None:
    cpu = switching()
    call = CALLS.of_cpu_switch_to(cpu_of(cpu))
    cpu.registers["x18"] = scs
    assert call.taken() == 0
    assert cpu.registers["x18"] == scs


@pytest.mark.parametrize("scs", [0, PREV_SCS - 8, NEXT, 0x401000, 0x601000])
def test_a_handler_that_would_push_elsewhere_is_kept_from_it(scs: int) -> None:
    cpu = switching()
    call = CALLS.of_cpu_switch_to(cpu_of(cpu))
    cpu.registers["x18"] = scs
    assert call.taken() == SCS
    assert cpu.registers["x18"] == NEXT_SCS
    call.resumed()
    assert cpu.registers["x18"] == scs
