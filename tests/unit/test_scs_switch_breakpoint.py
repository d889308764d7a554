"""A breakpoint of the CPU's own, set by the kernel's code, an instruction at a time."""

import struct
from dataclasses import dataclass, field
from typing import cast

import pytest

from temper.catalog import feature_named
from temper.errors import BootError
from temper.extension import loaded
from temper.kernel import Debugged
from temper.kernel.symbols import Symbols
from temper.machine import Gdb
from temper.run.attacking import Target

OUTSIDE = loaded(feature_named("scs-switch").folder / "outside" / "__init__.py")
Breakpoint = OUTSIDE.attacks.Breakpoint

SETTERS, MONITOR, HERE = 0x10000, 0x20000, 0x4000
VALUE, CONTROL, MDSCR = 0xD510_0080, 0xD510_00A0, 0xD510_0240
NOP, FROM_ZERO = 0xD503_201F, 0x1F
X2, X7 = 2, 7
CODE = {
    SETTERS: (NOP, CONTROL | FROM_ZERO, CONTROL | X2, VALUE | X7),
    MONITOR: (MDSCR | X2,),
}
NAMES = {VALUE: "value", CONTROL: "control", MDSCR: "monitor"}


@dataclass
class Cpu:
    """In the place of Gdb: one CPU that can only write registers of breakpoints."""

    code: dict[int, tuple[int, ...]] = field(default_factory=lambda: dict(CODE))
    registers: dict[str, int] = field(
        default_factory=lambda: {"pc": HERE, "x2": 22, "x7": 77, "MDSCR_EL1": 1}
    )
    written: list[tuple[str, int]] = field(default_factory=list)

    def register(self, _cpu: int, name: str) -> int:
        return self.registers[name]

    def set_register(self, _cpu: int, name: str, value: int) -> None:
        self.registers[name] = value

    def memory(self, _cpu: int, address: int, size: int) -> bytes:
        words = self.code[address]
        return struct.pack(f"<{len(words)}I", *words).ljust(size, b"\0")

    def step(self, _cpu: int) -> None:
        at = self.registers["pc"]
        start = max(each for each in self.code if each <= at)
        word = self.code[start][(at - start) // 4]
        name = NAMES[word & ~0x1F]
        self.written.append((name, self.registers[f"x{word & 0x1F}"]))
        self.registers["pc"] += 4


def target(cpu: Cpu) -> Target:
    rows = ((SETTERS, "t", "write_wb_reg"), (MONITOR, "t", "mdscr_write"))
    return Target(cast(Gdb, cpu), Debugged(Symbols(rows), {}), samples=1)


def test_it_is_set_where_the_cpu_is_and_taken_away() -> None:
    cpu = Cpu()
    event = Breakpoint(target(cpu))
    event.raised(1)
    assert cpu.written == [
        ("value", HERE),
        # Enabled, in the kernel alone, at four bytes.
        ("control", 0b1_1110_0011),
        # Breakpoints, also in the kernel, beside what was on.
        ("monitor", 1 << 15 | 1 << 13 | 1),
    ]
    assert event.withdrawn(1)
    assert cpu.written[3:] == [("control", 0)]


def test_the_cpu_notices_nothing() -> None:
    cpu = Cpu()
    before = dict(cpu.registers)
    event = Breakpoint(target(cpu))
    event.raised(1)
    event.taken(1)
    assert cpu.registers == before


def test_one_that_was_taken_is_no_longer_there() -> None:
    cpu = Cpu()
    event = Breakpoint(target(cpu))
    assert not event.withdrawn(1)
    event.raised(1)
    event.taken(1)
    event.taken(1)
    assert not event.withdrawn(1)
    assert not event.withdrawn(2)
    assert [name for name, _ in cpu.written].count("control") == 2


@pytest.mark.parametrize("missing", [SETTERS, MONITOR])
def test_a_kernel_that_cannot_set_any_is_told(missing: int) -> None:
    cpu = Cpu()
    cpu.code[missing] = (NOP, VALUE | FROM_ZERO)
    with pytest.raises(BootError, match="does not write the registers of breakpoints"):
        Breakpoint(target(cpu)).raised(1)
