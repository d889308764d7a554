"""What must hold when an exception splits a section: the CPU is asked what it may."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, cast

import pytest

from temper.catalog import feature_named
from temper.extension import loaded
from temper.kernel import Debugged
from temper.kernel.symbols import Symbols
from temper.machine import Gdb
from temper.run.attacking import Target
from temper.run.exceptions import Cpu

SECTION = loaded(feature_named("kpkeys").folder / "outside" / "section.py")
HANDLED, NOT_LOOKED, LOST, KEPT = 1, 2, 4, 8

HERE, PHYSICAL, OFFSET_AT = 0x9000_4000, 0x4000, 0x9000_8000
ENTERED, HANDLER, LEFT = HANDLERS = (0x9000_5000, 0x9000_6000, 0x9000_5800)
ENTRY, CALLER, STACK = 0xA000_0010, 0x9000_7000, 0xB000_0000
NOP, ASK, ANSWER = 0xD503_201F, 0xD508_7820, 0xD538_7400
FAULT = 0b1001


@dataclass
class Guest:
    """In the place of Gdb: a CPU whose register is open, or not."""

    writable: bool = False
    registers: dict[str, int] = field(
        default_factory=lambda: {**{"pc": HERE, "x0": 22, "x30": CALLER, "sp": STACK}}
    )
    code: dict[int, int] = field(default_factory=lambda: {PHYSICAL: NOP})
    result: int = 0

    def register(self, _cpu: int, name: str) -> int:
        return self.registers[name]

    def set_register(self, _cpu: int, name: str, value: int) -> None:
        self.registers[name] = value

    def word(self, _cpu: int, address: int) -> int:
        assert address == OFFSET_AT
        return self.registers["pc"] - PHYSICAL

    def device(self, address: int) -> int:
        return self.code[address]

    def set_device(self, address: int, value: int) -> None:
        self.code[address] = value

    def step(self, _cpu: int) -> None:
        if self.code[PHYSICAL] == ASK:
            assert self.registers["x0"] == ENTRY
            self.result = 0xFF00 if self.writable else FAULT
        else:
            assert self.code[PHYSICAL] == ANSWER
            self.registers["x0"] = self.result
        self.registers["pc"] += 4


class Call(Protocol):
    open_at: int

    def taken(self) -> int: ...
    def at_nested(self) -> int: ...
    def resumed(self) -> None: ...
    def returned(self) -> int: ...


def call(guest: Guest) -> Call:
    symbols = Symbols(((OFFSET_AT, "D", "kimage_voffset"),))
    target = Target(cast(Gdb, guest), Debugged(symbols, {}), samples=1)
    found: Call = SECTION.SectionCall.of(Cpu(target, 1), "writing", HANDLERS, ENTRY)
    return found


def handled(
    guest: Guest,
    began: Call,
    at: Sequence[int] = HANDLERS,
    writable: Sequence[int] = (),
) -> int:
    """Run the event's handler; ``writable``: where in it the table can be written."""
    wrong = 0
    for guest.registers["pc"] in at:
        guest.writable = guest.registers["pc"] in writable
        wrong |= began.at_nested()
    guest.registers["pc"] = HERE
    return wrong


# Whether the table can be written: where the exception comes, where the function goes
# on, and in its caller; and in which parts of the handler it can.
@pytest.mark.parametrize(
    ("rights", "within", "open_at", "wrong"),
    [
        ((False, False, False), (), 0, 0),
        ((True, True, False), (), 1, 0),
        ((True, True, False), HANDLERS, 1, HANDLED),
        ((True, True, False), (ENTERED,), 1, HANDLED),
        ((True, True, False), (HANDLER,), 1, HANDLED),
        ((True, True, False), (LEFT,), 1, HANDLED),
        ((True, False, False), (), 1, LOST),
        ((False, True, False), (), 0, LOST),
        ((True, True, True), (), 1, KEPT),
        ((False, False, True), HANDLERS, 0, HANDLED | KEPT),
    ],
)
def test_rights_that_are_where_they_must_not_be_are_told(
    rights: tuple[bool, bool, bool], within: Sequence[int], open_at: int, wrong: int
) -> None:
    guest = Guest()
    began = call(guest)
    taken, resumed, returned = rights
    guest.writable = taken
    found = began.taken() | handled(guest, began, writable=within)
    guest.writable = resumed
    began.resumed()
    guest.writable = returned
    found |= began.returned()
    assert (began.open_at, found) == (open_at, wrong)
    assert (guest.registers["pc"], guest.registers["x0"]) == (HERE, 22)
    assert guest.code == {PHYSICAL: NOP}


def test_an_interrupt_that_comes_later_does_not_hide_where_the_first_one_came() -> None:
    guest = Guest(writable=True)
    began = call(guest)
    began.taken()
    handled(guest, began)
    began.taken()
    began.resumed()
    assert (began.open_at, began.returned()) == (1, 0)


@pytest.mark.parametrize("seen", [(), (ENTERED, LEFT), (HANDLER, LEFT), (ENTERED,)])
def test_an_exception_whose_handler_nobody_saw_whole_is_told(
    seen: Sequence[int],
) -> None:
    guest = Guest()
    began = call(guest)
    began.taken()
    handled(guest, began, seen)
    assert began.returned() == NOT_LOOKED


def test_where_no_exception_came_nothing_is_missing() -> None:
    began = call(Guest())
    assert began.returned() == 0
    assert began.open_at == -1


def test_a_call_knows_where_it_ends_and_what_its_handler_is() -> None:
    began = vars(call(Guest()))
    assert (began["returns_to"], began["stack"]) == (CALLER, STACK)
    assert (began["nested"], began["entry"]) == (HANDLERS, ENTRY)
