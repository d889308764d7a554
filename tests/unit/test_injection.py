"""An event at every instruction of a function, on CPUs that are made up."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import cast

import pytest

from temper.errors import BootError
from temper.machine import Gdb
from temper.machine.qemu import Stop
from temper.run import injection
from temper.run.injection import Function, Injector, Visit

CALLER, FUNCTION, HELPER, HANDLER, IDLE = 0x100, 0x200, 0x300, 0x400, 0x500
STACK = 0x8000
HARM, BROKEN = 1, 2

RUN = 1000
"""Instructions after which nothing will be reached."""


@dataclass
class Cpu:
    """A CPU, and the little that a kernel has of its own on it."""

    pc: int = CALLER
    sp: int = STACK
    links: list[int] = field(default_factory=list)
    """Addresses to return to."""
    masked: bool = False
    pending: bool = False
    insistent: bool = False
    """Whether it is pending again as soon as it was taken."""
    interrupted: list[int] = field(default_factory=list)
    calls: int = 0
    kind: str = "work"
    open: bool = False
    """Whether its state is one that nobody else may see."""
    broken: bool = False
    harmed: int = 0
    """Times that something happened that was to be prevented."""


Instruction = Callable[[Cpu], int | None]
"""Has its effect; returns where to go on, or None: at the next one."""
Code = dict[int, Instruction]


@dataclass
class Machine:
    """In the place of Gdb: CPUs that take turns, and that stand still otherwise."""

    code: Code
    cpus: Sequence[Cpu]
    breakpoints: Counter[int] = field(default_factory=Counter)
    stepped: Counter[int] = field(default_factory=Counter)
    """CPU -> how often it was stepped."""
    patience: float | None = None
    """That of the last run."""

    @contextmanager
    def breakpoint(self, address: int) -> Iterator[None]:
        self.breakpoints[address] += 1
        yield
        self.breakpoints[address] -= 1

    def run(self, seconds: float | None = None) -> Stop:
        self.patience = seconds
        for _ in range(RUN):
            for number, each in enumerate(self.cpus, 1):
                if each.pending and not each.masked:
                    each.pending, each.masked = each.insistent, True
                    each.interrupted.append(each.pc)
                    each.pc = HANDLER
                if self.breakpoints[each.pc]:
                    return Stop(number, reached=True)
                self._execute(each)
        return Stop(1, reached=False)

    def step(self, cpu: int) -> None:
        self.stepped[cpu] += 1
        self._execute(self.cpus[cpu - 1])

    def register(self, cpu: int, name: str) -> int:
        return int(getattr(self.cpus[cpu - 1], name))

    def _execute(self, cpu: Cpu) -> None:
        to = self.code[cpu.pc](cpu)
        cpu.pc = cpu.pc + 4 if to is None else to


def does(**changes: object) -> Instruction:
    """Return an instruction that sets fields of a CPU."""

    def do(cpu: Cpu) -> None:
        for name, value in changes.items():
            setattr(cpu, name, value)

    return do


nothing = does()


def call(address: int) -> Instruction:
    def do(cpu: Cpu) -> int:
        cpu.links.append(cpu.pc + 4)
        return address

    return do


def back(cpu: Cpu) -> int:
    return cpu.links.pop()


def begin_call(cpu: Cpu) -> None:
    cpu.calls += 1


def to(address: int) -> Instruction:
    return lambda cpu: address


def push(cpu: Cpu) -> None:
    cpu.sp -= 0x10


def pop(cpu: Cpu) -> None:
    cpu.sp += 0x10


def look(cpu: Cpu) -> None:
    """Have an interrupt see what it must not."""
    cpu.harmed += cpu.open


def resume(cpu: Cpu) -> int:
    cpu.masked = False
    return cpu.interrupted.pop()


def listing(start: int, *instructions: Instruction) -> Code:
    return {start + 4 * n: each for n, each in enumerate(instructions)}


CALLS = listing(CALLER, begin_call, call(FUNCTION), to(CALLER))
HANDLES = listing(HANDLER, push, call(HELPER), pop, resume)
HELPS = listing(HELPER, look, back)
GUARDED = (
    nothing,
    does(masked=True),
    does(open=True),
    does(open=False),
    does(masked=False),
    back,
)
"""A function that is open only where no event is taken."""
UNGUARDED = (nothing, does(open=True), does(open=False), back)


def machine(*function: Instruction, cpus: int = 1, **parts: Code) -> Machine:
    """Have a function called again and again; ``parts``: code that is not as usual."""
    code = CALLS | HANDLES | HELPS | listing(FUNCTION, *function)
    for part in parts.values():
        code |= part
    return Machine(code, [Cpu(sp=STACK + 0x1000 * n) for n in range(cpus)])


@dataclass
class FakeCall:
    """A call of the function, and what happened in it."""

    cpu: Cpu
    kept_out: bool = False
    """Whether a CPU does not get into the code that would do harm."""
    log: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.kind = self.cpu.kind
        self.returns_to = self.cpu.links[-1]
        self.stack = self.cpu.sp
        self.nested: Sequence[int] = (HELPER,)
        self._opened = False

    def taken(self) -> int:
        self.log.append("taken")
        self._opened = self.cpu.open
        return HARM * self._opened

    def at_nested(self) -> int:
        self.log.append("at nested")
        if self.kept_out:
            self.cpu.pc = self.cpu.links.pop()
        else:
            self.cpu.open = False
        return 0

    def resumed(self) -> None:
        self.log.append("resumed")
        self.cpu.open = self._opened

    def returned(self) -> int:
        assert self.cpu.sp == self.stack
        self.log.append("returned")
        wrong, self.cpu.broken = BROKEN * self.cpu.broken, False
        return wrong


@dataclass
class FakeEvent:
    """An interrupt, or, if it is ``stubborn``, one that comes until it is ended."""

    machine: Machine
    stubborn: bool = False

    def masked(self, cpu: int) -> bool:
        return self._cpu(cpu).masked

    def raised(self, cpu: int) -> None:
        self._cpu(cpu).pending = True
        self._cpu(cpu).insistent = self.stubborn

    def entry(self, cpu: int) -> int:
        return HANDLER

    def back(self, cpu: int) -> int:
        return self._cpu(cpu).interrupted[-1]

    def taken(self, cpu: int) -> None:
        if self._cpu(cpu).insistent:
            self._cpu(cpu).insistent = self._cpu(cpu).pending = False

    def withdrawn(self, cpu: int) -> bool:
        was, self._cpu(cpu).pending = self._cpu(cpu).pending, False
        return was

    def _cpu(self, number: int) -> Cpu:
        return self.machine.cpus[number - 1]


class Bench:
    """An injector of events into a machine."""

    def __init__(
        self,
        machine: Machine,
        length: int,
        entered: Callable[[Cpu], FakeCall] = FakeCall,
    ) -> None:
        self.machine = machine
        self.calls: list[FakeCall] = []
        self.event = FakeEvent(machine)

        def enter(number: int) -> FakeCall:
            self.calls.append(entered(machine.cpus[number - 1]))
            return self.calls[-1]

        addresses = range(FUNCTION, FUNCTION + 4 * length, 4)
        self.function = Function("switch", addresses, enter)

    def visits(self, kind: str = "work") -> list[Visit]:
        return list(self.visiting(kind))

    def visiting(self, kind: str = "work") -> Iterator[Visit]:
        gdb = cast(Gdb, self.machine)
        injector = Injector(gdb, self.event, pc="pc", sp="sp")
        return injector.visits(self.function, kind)

    def until_death(self) -> tuple[list[Visit], str]:
        """Return what was found, and how the guest ended."""
        found: list[Visit] = []
        visiting = self.visiting()
        with pytest.raises(BootError) as caught:
            while True:
                found.append(next(visiting))
        return found, caught.value.message


def offsets(visits: Sequence[Visit]) -> list[tuple[int, int | None]]:
    """Return where events were raised, and where they were taken."""
    return [
        (
            visit.address - FUNCTION,
            None if visit.taken_at is None else visit.taken_at - FUNCTION,
        )
        for visit in visits
    ]


def test_an_event_is_raised_at_each_instruction_and_taken_there() -> None:
    bench = Bench(machine(*UNGUARDED), 4)
    visits = bench.visits()
    assert offsets(visits) == [(0, 0), (4, 4), (8, 8), (12, 12)]
    assert all(visit.taken for visit in visits)
    assert bench.machine.cpus[0].calls == 4


def test_what_is_wrong_where_it_is_taken_is_told_and_no_harm_done() -> None:
    bench = Bench(machine(*UNGUARDED), 4)
    assert [visit.wrong for visit in bench.visits()] == [0, 0, HARM, 0]
    assert bench.machine.cpus[0].harmed == 0
    assert bench.calls[2].log == ["taken", "at nested", "resumed", "returned"]


def test_an_event_that_is_masked_is_taken_later() -> None:
    visits = Bench(machine(*GUARDED), 6).visits()
    assert offsets(visits) == [(0, 0), (4, 4), (8, 20), (12, 20), (16, 20), (20, 20)]
    assert [visit.masked for visit in visits] == [False, False, True, True, True, False]
    assert all(visit.taken for visit in visits)
    assert not any(visit.wrong for visit in visits)


MASKED_CALLS = listing(
    CALLER,
    begin_call,
    does(masked=True),
    call(FUNCTION),
    does(masked=False),
    to(CALLER),
)


def test_an_event_that_is_not_taken_is_told() -> None:
    """It is, once the function has returned, and that counts for no call."""
    bench = Bench(machine(*UNGUARDED, calls=MASKED_CALLS), 4)
    visits = bench.visits()
    assert offsets(visits) == [(0, None), (4, None), (8, None), (12, None)]
    assert not any(visit.taken for visit in visits)
    assert [each.log for each in bench.calls] == [["returned"]] * 4


def test_what_is_wrong_in_the_end_is_told_and_repaired() -> None:
    """An interrupt in the open part leaves something broken behind."""

    def breaks(cpu: Cpu) -> None:
        cpu.broken |= cpu.open

    handles = listing(HANDLER, breaks, call(HELPER), nothing, resume)
    bench = Bench(machine(*UNGUARDED, handles=handles), 4)
    assert [visit.wrong for visit in bench.visits()] == [0, 0, HARM | BROKEN, 0]


def test_a_handler_that_is_kept_out_goes_on_where_it_was_sent() -> None:
    """The code that does harm never comes back, so no step of it may be made."""

    def kept_out(cpu: Cpu) -> FakeCall:
        return FakeCall(cpu, kept_out=True)

    bench = Bench(machine(*UNGUARDED, helps=listing(HELPER, to(HELPER))), 4, kept_out)
    assert all(visit.taken for visit in bench.visits())
    assert [each.log.count("at nested") for each in bench.calls] == [1] * 4
    assert bench.machine.stepped[1] == 0


def test_whatever_is_taken_before_the_return_is_looked_at() -> None:
    """Here the function itself has the event come again, which counts as no visit."""
    bench = Bench(machine(nothing, does(pending=True), nothing, back), 4)
    visits = bench.visits()
    assert offsets(visits) == [(0, 0), (4, 4), (8, 8), (12, 12)]
    assert [each.log.count("taken") for each in bench.calls] == [2, 2, 1, 1]


def test_an_event_that_would_come_again_is_ended_where_it_is_taken() -> None:
    bench = Bench(machine(*UNGUARDED), 4)
    bench.event.stubborn = True
    visits = bench.visits()
    assert offsets(visits) == [(0, 0), (4, 4), (8, 8), (12, 12)]
    assert all(visit.taken for visit in visits)
    assert [each.log.count("taken") for each in bench.calls] == [1] * 4


def test_an_event_that_was_not_taken_does_not_come_later() -> None:
    bench = Bench(machine(*UNGUARDED, calls=MASKED_CALLS), 4)
    bench.visits()
    assert bench.machine.cpus[0].interrupted == []
    assert not bench.machine.cpus[0].pending


def dies(cpu: Cpu) -> int | None:
    """Have a handler hang where it finds what it must not see."""
    return HANDLER + 0x40 if cpu.open else None


DEAD = listing(HANDLER + 0x40, to(HANDLER + 0x40))


def test_a_guest_that_dies_of_an_event_is_told_with_what_came_before() -> None:
    handles = listing(HANDLER, dies, resume) | DEAD

    class Open(FakeCall):
        def taken(self) -> int:
            return HARM * self.cpu.open

        def resumed(self) -> None:
            pass

    bench = Bench(machine(*UNGUARDED, handles=handles), 4, Open)
    visits, end = bench.until_death()
    assert [visit.died for visit in visits] == [False, False, True]
    assert [visit.wrong for visit in visits] == [0, 0, HARM]
    assert offsets(visits)[2] == (8, 8)
    assert visits[2].taken
    assert end == f"a call for work does not return: pc was {HANDLER + 0x40:#x}"


def test_a_guest_that_dies_before_an_event_is_raised_is_no_finding() -> None:
    def hangs(cpu: Cpu) -> int | None:
        return FUNCTION if cpu.calls == 2 else None

    bench = Bench(machine(hangs, nothing, back), 3)
    visits, end = bench.until_death()
    assert offsets(visits) == [(0, 0)]
    assert not visits[0].died
    assert end.startswith("a call for work does not return")


def test_what_is_wrong_is_added_up() -> None:

    class Odd(FakeCall):
        def taken(self) -> int:
            super().taken()
            return 8 if "resumed" in self.log else 4

        def at_nested(self) -> int:
            return 16 | super().at_nested()

        def returned(self) -> int:
            return 32 | super().returned()

    bench = Bench(machine(does(pending=True), back), 1, Odd)
    assert [visit.wrong for visit in bench.visits()] == [4 | 8 | 16 | 32]


class Lasting(FakeEvent):
    """One that is pending whatever was taken."""

    def withdrawn(self, cpu: int) -> bool:
        return super().withdrawn(cpu) or True


def test_an_event_that_is_still_pending_has_not_been_taken() -> None:
    """Something else was, by the same code."""
    bench = Bench(machine(back, handles=listing(HANDLER, nothing, resume)), 1)
    bench.event = Lasting(bench.machine)
    (visit,) = bench.visits()
    assert (visit.taken_at, visit.taken) == (FUNCTION, False)


def test_instructions_that_some_calls_leave_out_are_waited_for() -> None:
    def skips(cpu: Cpu) -> int | None:
        return FUNCTION + 8 if cpu.calls % 5 else None

    bench = Bench(machine(skips, nothing, back), 3)
    assert offsets(bench.visits()) == [(0, 0), (4, 4), (8, 8)]
    assert bench.machine.cpus[0].calls == 6


def test_an_instruction_that_is_never_reached_is_told() -> None:
    bench = Bench(machine(to(FUNCTION + 8), nothing, back), 3)
    with pytest.raises(BootError) as caught:
        bench.visits()
    assert caught.value.message == "64 calls of switch for work never reach +0x4"
    assert bench.machine.cpus[0].calls == 1 + 64


def test_only_calls_of_one_kind_are_attacked() -> None:
    def alternates(cpu: Cpu) -> None:
        cpu.calls += 1
        cpu.kind = "rest" if cpu.calls % 3 else "work"

    calls = listing(CALLER, alternates, call(FUNCTION), to(CALLER))
    bench = Bench(machine(*UNGUARDED, calls=calls), 4)
    bench.visits()
    attacked = [each.kind for each in bench.calls if each.log]
    assert attacked == ["work"] * 4
    assert len(bench.calls) == 3 * 4


def test_calls_of_no_such_kind_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(injection, "_CALLS_OF_A_KIND", 20)
    bench = Bench(machine(*UNGUARDED), 4)
    with pytest.raises(BootError, match="nobody calls switch for rest"):
        bench.visits("rest")
    assert bench.machine.cpus[0].calls == 20


def test_a_function_that_is_never_called_is_told() -> None:
    bench = Bench(machine(*UNGUARDED, calls=listing(CALLER, to(CALLER))), 4)
    with pytest.raises(BootError, match="nobody calls switch for work"):
        bench.visits()
    assert bench.calls == []


def test_a_call_that_does_not_return_is_told() -> None:
    bench = Bench(machine(nothing, to(FUNCTION + 4), back), 3)
    with pytest.raises(BootError) as caught:
        bench.visits()
    assert caught.value.message == (
        f"a call for work does not return: pc was {FUNCTION + 4:#x}"
    )
    patience = bench.machine.patience
    assert patience and patience <= injection._RETURN_S


def test_a_handler_that_does_not_return_is_told() -> None:
    handles = listing(HANDLER, nothing, to(HANDLER + 4))
    bench = Bench(machine(*UNGUARDED, handles=handles), 4)
    with pytest.raises(BootError) as caught:
        bench.visits()
    assert caught.value.message == (
        f"a call for work does not return: pc was {HANDLER + 4:#x}"
    )


def test_a_host_that_stood_still_is_no_guest_that_hangs() -> None:
    """It runs nothing until time is up, once."""
    bench = Bench(machine(*UNGUARDED), 4)
    stops = iter([Stop(1, reached=False)])
    usual = bench.machine.run

    def stands_still(seconds: float | None = None) -> Stop:
        stop = next(stops, None) if seconds else None
        return stop or usual(seconds)

    bench.machine.run = stands_still  # type: ignore[method-assign]
    visits = bench.visits()
    assert offsets(visits) == [(0, 0), (4, 4), (8, 8), (12, 12)]
    assert not any(visit.died for visit in visits)


def recursive(cpu: Cpu) -> FakeCall:
    """Return a call in which handlers make a call, too: that may do harm."""
    call = FakeCall(cpu)
    call.nested = (FUNCTION,)
    return call


def test_a_handler_may_call_the_function_itself() -> None:
    """The nested call has another stack; so it is neither the way back nor the end."""
    handles = listing(HANDLER, push, call(FUNCTION), pop, resume)
    bench = Bench(machine(*UNGUARDED, handles=handles), 4, recursive)
    visits = bench.visits()
    assert offsets(visits) == [(0, 0), (4, 4), (8, 8), (12, 12)]
    assert [each.log for each in bench.calls] == [
        ["taken", "at nested", "resumed", "returned"]
    ] * 4
    assert bench.machine.cpus[0].calls == 4


def test_a_call_that_returns_in_a_nested_call_has_not_returned() -> None:
    """The function calls itself, from the same place as it is called itself."""

    def deeper(cpu: Cpu) -> int | None:
        if cpu.sp < STACK:
            return None
        cpu.sp -= 0x10
        cpu.links.append(CALLER + 8)
        return FUNCTION

    def leaves(cpu: Cpu) -> int:
        if cpu.sp == STACK:
            return CALLER
        cpu.sp += 0x10
        return FUNCTION + 4

    calls = listing(CALLER, begin_call, call(FUNCTION), leaves)
    bench = Bench(machine(deeper, nothing, back, calls=calls), 3)
    visits = bench.visits()
    assert [visit.taken for visit in visits] == [True] * 3
    assert all(each.log[-1] == "returned" for each in bench.calls)
    assert bench.machine.cpus[0].sp == STACK


def test_other_cpus_run_meanwhile_and_are_not_mistaken_for_it() -> None:
    """They come to the same places, and take events of their own."""

    def disturbed(cpu: Cpu) -> None:
        cpu.calls += 1
        if cpu.sp != STACK:
            cpu.kind, cpu.pending = "rest", True

    calls = listing(CALLER, disturbed, call(FUNCTION), to(CALLER))
    bench = Bench(machine(*GUARDED, calls=calls, cpus=2), 6)
    visits = bench.visits()
    assert offsets(visits) == [(0, 0), (4, 4), (8, 20), (12, 20), (16, 20), (20, 20)]
    assert [visit.wrong for visit in visits] == [0] * 6
    one, other = bench.machine.cpus
    assert all(each.log == [] for each in bench.calls if each.cpu is other)
    assert one.calls == 6
    assert other.calls > 1
    assert bench.machine.stepped[2] > 6


def test_any_cpu_may_make_the_call_that_is_attacked() -> None:
    bench = Bench(machine(*UNGUARDED, cpus=2, idles=listing(IDLE, to(IDLE))), 4)
    bench.machine.cpus[0].pc = IDLE
    assert offsets(bench.visits()) == [(0, 0), (4, 4), (8, 8), (12, 12)]
    assert bench.machine.cpus[0].calls == 0


def test_breakpoints_are_gone_when_they_are_not_needed() -> None:
    bench = Bench(machine(*UNGUARDED), 4)
    bench.visits()
    assert not any(bench.machine.breakpoints.values())


@pytest.mark.timeout(30)
def test_a_call_that_hangs_is_told_though_other_cpus_stop_at_breakpoints(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(injection, "_RETURN_S", 0.2)

    def disturbed(cpu: Cpu) -> None:
        cpu.calls += 1
        if cpu.sp != STACK:
            cpu.kind, cpu.pending = "rest", True

    def hangs(cpu: Cpu) -> int | None:
        return None if cpu.kind == "rest" else FUNCTION + 4

    calls = listing(CALLER, disturbed, call(FUNCTION), to(CALLER))
    bench = Bench(machine(nothing, hangs, back, calls=calls, cpus=2), 3)
    with pytest.raises(BootError, match="does not return"):
        bench.visits()
