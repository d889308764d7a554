"""Exceptions that a debugger raises in an arm64 guest."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import cast

import pytest

from temper.errors import BootError
from temper.kernel import Debugged
from temper.kernel.symbols import Symbols
from temper.machine import Gdb
from temper.machine.qemu import Stop
from temper.run.attacking import Target
from temper.run.exceptions import (
    Breakpoint,
    FatalError,
    Interrupt,
    Nmi,
    SError,
    end_program,
)

HERE, PHYSICAL, HYPERVISOR = 0x9000_4000, 0x4000, 0x800
OFFSET_AT = 0x9000_8000
NOP, CALL, BACK = 0xD503_201F, 0xD400_0002, 0xD69F_03E0
FEATURES = 0xD538_0400
WRITES = {
    0xD510_0080: "DBGBVR0_EL1",
    0xD510_00A0: "DBGBCR0_EL1",
    0xD510_0240: "MDSCR_EL1",
    0xD51C_5260: "VSESR_EL2",
    0xD51C_1100: "HCR_EL2",
    0xD518_4000: "SPSR_EL1",
}
READS = {0xD538_4000: "SPSR_EL1"}
ROUTED, PENDING = 1 << 5, 1 << 8


@dataclass
class Cpu:
    """In the place of Gdb: one CPU that can only read registers of the system."""

    registers: dict[str, int] = field(
        default_factory=lambda: {
            **{"pc": HERE, "x0": 22, "cpsr": 0x3C5, "MDSCR_EL1": 1, "HCR_EL2": 2}
        }
    )
    code: dict[int, int] = field(default_factory=lambda: {PHYSICAL: NOP})
    written: list[tuple[str, int]] = field(default_factory=list)
    level: int = 1
    features: int = 1 << 28

    def register(self, _cpu: int, name: str) -> int:
        return self.registers[name]

    def set_register(self, _cpu: int, name: str, value: int) -> None:
        assert name in ("x0", "pc", "cpsr")
        self.registers[name] = value

    def word(self, _cpu: int, address: int) -> int:
        assert address == OFFSET_AT
        return HERE - PHYSICAL

    def device(self, address: int) -> int:
        return self.code[address]

    def set_device(self, address: int, value: int) -> None:
        self.code[address] = value

    def step(self, _cpu: int) -> None:
        """Run the one instruction, where its addresses are those of the level."""
        assert self.registers["pc"] == (HERE if self.level == 1 else PHYSICAL)
        word = self.code[PHYSICAL]
        self.registers["pc"] += 4
        if word == CALL:
            assert self.level == 1
            self.level, self.registers["pc"] = 2, HYPERVISOR
        elif word == FEATURES:
            self.registers["x0"] = self.features
        elif word in READS:
            self.registers["x0"] = self.registers[READS[word]]
        elif word == BACK:
            assert self.level == 2
            self.level = 1
        else:
            name = WRITES[word]
            assert name.endswith("EL1") or self.level == 2
            self.registers[name] = self.registers["x0"]
            self.written.append((name, self.registers["x0"]))


def target(cpu: Cpu) -> Target:
    symbols = Symbols(((OFFSET_AT, "D", "kimage_voffset"),))
    return Target(cast(Gdb, cpu), Debugged(symbols, {}), samples=1)


def notices_nothing(cpu: Cpu) -> bool:
    """Whether a CPU has its own program again, and stands where it stood."""
    own = {name: cpu.registers[name] for name in ("pc", "x0")}
    here = {"pc": HERE, "x0": 22}
    return (own, cpu.code, cpu.level) == (here, {PHYSICAL: NOP}, 1)


def test_a_breakpoint_is_set_where_the_cpu_is_and_taken_away() -> None:
    cpu = Cpu()
    event = Breakpoint(target(cpu))
    event.raised(1)
    assert notices_nothing(cpu)
    assert cpu.written == [
        ("DBGBVR0_EL1", HERE),
        # Enabled, in the kernel alone, at four bytes.
        ("DBGBCR0_EL1", 0b1_1110_0011),
        # Breakpoints, also in the kernel, beside what was on.
        ("MDSCR_EL1", 1 << 15 | 1 << 13 | 1),
    ]
    assert event.withdrawn(1)
    assert cpu.written[3:] == [("DBGBCR0_EL1", 0)]
    assert notices_nothing(cpu)


def test_a_breakpoint_that_was_taken_is_no_longer_there() -> None:
    cpu = Cpu()
    event = Breakpoint(target(cpu))
    assert not event.withdrawn(1)
    event.raised(1)
    event.taken(1)
    event.taken(1)
    assert not event.withdrawn(1)
    assert not event.withdrawn(2)
    assert [name for name, _ in cpu.written].count("DBGBCR0_EL1") == 2


def test_an_serror_is_pending_and_was_corrected() -> None:
    """Or else its handler ends the kernel."""
    cpu = Cpu()
    event = SError(target(cpu))
    event.raised(1)
    assert notices_nothing(cpu)
    assert cpu.written == [
        ("VSESR_EL2", 0b110 << 10 | 0x11),
        ("HCR_EL2", 2 | ROUTED | PENDING),
    ]


def test_a_cpu_on_which_any_serror_ends_a_kernel_is_not_attacked() -> None:
    cpu = Cpu()
    cpu.features = 0x1111_0FFF_FFFF
    with pytest.raises(FatalError):
        SError(target(cpu)).raised(1)
    assert cpu.written == []


def test_an_serror_that_is_masked_is_withdrawn() -> None:
    cpu = Cpu()
    event = SError(target(cpu))
    event.raised(1)
    assert event.withdrawn(1)
    assert notices_nothing(cpu)
    assert cpu.registers["HCR_EL2"] == 2 | ROUTED
    assert not event.withdrawn(1)


def test_an_serror_that_was_taken_needs_no_end() -> None:
    """The CPU itself has cleared what made it pending."""
    cpu = Cpu()
    event = SError(target(cpu))
    event.raised(1)
    cpu.registers["HCR_EL2"] &= ~PENDING
    written = list(cpu.written)
    event.taken(1)
    assert not event.withdrawn(1)
    assert cpu.written == written


def test_an_interrupt_that_is_due_does_not_come_before_an_serror() -> None:
    """QEMU has that order; the kernel comes back to where it takes interrupts."""
    cpu = Cpu()
    cpu.registers["cpsr"] = 0x6000_0005
    event = SError(target(cpu))
    event.raised(1)
    assert cpu.registers["cpsr"] == 0x6000_0085
    cpu.registers["SPSR_EL1"] = cpu.registers["cpsr"]
    event.taken(1)
    assert cpu.registers["SPSR_EL1"] == 0x6000_0005
    assert notices_nothing(cpu)
    written = list(cpu.written)
    event.taken(1)
    assert cpu.written == written


def test_an_serror_that_never_came_leaves_interrupts_as_they_were() -> None:
    cpu = Cpu()
    cpu.registers["cpsr"] = 5
    event = SError(target(cpu))
    event.raised(1)
    assert event.withdrawn(1)
    assert cpu.registers["cpsr"] == 5
    event.taken(1)
    assert "SPSR_EL1" not in cpu.registers


@pytest.mark.parametrize("masked", [0x80, 0x100, 0x180])
def test_what_masks_interrupts_or_an_serror_stays_as_it_is(masked: int) -> None:
    cpu = Cpu()
    cpu.registers["cpsr"] = 5 | masked
    event = SError(target(cpu))
    event.raised(1)
    assert cpu.registers["cpsr"] == 5 | masked
    event.taken(1)
    assert "SPSR_EL1" not in cpu.registers


@pytest.mark.parametrize(
    ("event", "bit"), [(Interrupt, 7), (SError, 8), (Breakpoint, 9)]
)
def test_each_event_is_masked_by_its_own_bit(event: type, bit: int) -> None:
    cpu = Cpu()
    raised = event(target(cpu))
    cpu.registers["cpsr"] = 0x3C5 & ~(1 << bit)
    assert not raised.masked(1)
    cpu.registers["cpsr"] = 0x5 | 1 << bit
    assert raised.masked(1)


class Gic(Cpu):
    """The registers of two CPUs' own interrupts: writing 1 sets, or clears."""

    FIRST, EACH, SET, CLEAR = 0x080B_0000, 0x2_0000, 0x200, 0x280

    def __init__(self) -> None:
        super().__init__()
        self.code = {self.FIRST + self.EACH * n + self.SET: 0 for n in range(2)}

    def set_device(self, address: int, value: int) -> None:
        if address in self.code:
            self.code[address] |= value
        else:
            self.code[address - self.CLEAR + self.SET] &= ~value


def test_an_interrupt_is_pending_on_one_cpu_until_it_is_taken_or_withdrawn() -> None:
    gic = Gic()
    first, second = gic.code
    event = Interrupt(target(gic))
    event.raised(2)
    assert gic.code == {first: 0, second: 1 << 6}
    assert event.withdrawn(2)
    assert gic.code == {first: 0, second: 0}
    assert not event.withdrawn(2)


class PriorityMask(Gic):
    """A CPU that takes all interrupts, and the register by which it masks some."""

    GET, SET_IT = 0xD538_4600, 0xD518_4600

    def __init__(self) -> None:
        super().__init__()
        self.code |= {PHYSICAL: NOP}
        self.mask = 0xE0

    def set_device(self, address: int, value: int) -> None:
        if address == PHYSICAL:
            self.code[address] = value
        else:
            super().set_device(address, value)

    def step(self, _cpu: int) -> None:
        if self.code[PHYSICAL] == self.GET:
            self.registers["x0"] = self.mask
        else:
            assert self.code[PHYSICAL] == self.SET_IT
            self.mask = self.registers["x0"]
        self.registers["pc"] += 4


def test_an_nmi_comes_where_other_interrupts_are_masked() -> None:
    cpu = PriorityMask()
    first, _ = (address for address in cpu.code if address != PHYSICAL)
    event = Nmi(target(cpu))
    event.raised(1)
    assert (cpu.mask, cpu.code[first]) == (0xC0, 1 << 6)
    assert (cpu.registers["pc"], cpu.registers["x0"]) == (HERE, 22)
    assert event.withdrawn(1)
    assert (cpu.mask, cpu.code[first]) == (0xE0, 0)
    assert cpu.code[PHYSICAL] == NOP


ASKS, CALLER = 0x9000_6000, 0x9000_7000


class Asking(Cpu):
    """A CPU whose program asks for its parent, or does no more."""

    reached = True

    @contextmanager
    def breakpoint(self, address: int) -> Iterator[None]:
        assert address == ASKS
        yield

    def run(self) -> Stop:
        self.registers |= {"pc": ASKS, "x30": CALLER}
        return Stop(cpu=1, reached=self.reached)


def asked(cpu: Cpu) -> Target:
    symbols = Symbols(((ASKS, "T", "__arm64_sys_getppid"),))
    return Target(cast(Gdb, cpu), Debugged(symbols, {}), samples=1)


def test_a_program_is_told_to_end_by_another_parent() -> None:
    cpu = Asking()
    end_program(asked(cpu))
    assert (cpu.registers["x0"], cpu.registers["pc"]) == (0, CALLER)


def test_a_program_that_asks_no_more_cannot_be_told() -> None:
    cpu = Asking()
    cpu.reached = False
    with pytest.raises(BootError, match="the program that is attacked has stopped"):
        end_program(asked(cpu))
