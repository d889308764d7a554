"""Raises an event at every instruction of a function, and sees what it does there.

A debugger stops the guest before an instruction, so an interrupt comes exactly there,
which no program could time. What must hold when the function returns is for the caller
to say: this module knows no function, no event and no register but two.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Protocol

from temper.errors import BootError
from temper.machine.qemu import Gdb

_CALLS = 64
"""Calls in which an instruction of a function has to be reached."""
_CALLS_OF_A_KIND = 10_000
"""Calls among which is one of the kind that is attacked."""
_RETURN_S = 30.0
"""Seconds in which a call returns, which takes milliseconds on an idle host."""


class Event(Protocol):
    """Something that comes in between two instructions of a CPU."""

    def masked(self, cpu: int) -> bool:
        """Say whether the CPU would not take it where it is."""

    def raised(self, cpu: int) -> None:
        """Have it come before the instruction that the CPU is at, or when it may."""

    def entry(self, cpu: int) -> int:
        """Say with which code a CPU that takes it goes on."""

    def back(self, cpu: int) -> int:
        """Say there what a CPU will come back to."""

    def taken(self, cpu: int) -> None:
        """End there what would have it come again."""

    def withdrawn(self, cpu: int) -> bool:
        """Have it come no more; say whether that was still to do."""


class Call(Protocol):
    """One call of the function, by a CPU.

    What is not as it must be is a number with a bit for each thing.
    """

    kind: str
    """What it is for; each kind is attacked by itself."""
    returns_to: int
    """Address of the code that it returns to."""
    stack: int
    """The stack pointer there."""
    nested: Sequence[int]
    """Addresses of code by which a handler of the event may do harm."""

    def taken(self) -> int:
        """Say what is wrong where the CPU takes the event, and prevent harm by it.

        Not all harm can be repaired, and the guest is to live on.
        """

    def at_nested(self) -> int:
        """Do the same where the handler has got to one of ``nested``."""

    def resumed(self) -> None:
        """Undo what prevents harm, once the CPU is back in the function."""

    def returned(self) -> int:
        """Say what is wrong when the function has returned, and repair it."""


@dataclass(frozen=True)
class Function:
    """The function that events are raised in."""

    name: str
    instructions: Sequence[int]
    """Their addresses; the first one is where it is entered."""
    entered: Callable[[int], Call]
    """Looks at a call by a CPU that has just begun."""


@dataclass(frozen=True)
class Visit:
    """What became of an event that was raised at an instruction."""

    address: int
    masked: bool
    """Whether the CPU did not have to take it there."""
    taken_at: int | None
    """Address of the instruction before which the CPU took it first; None: nowhere."""
    taken: bool
    """Whether the CPU has taken it by the time that the function has returned."""
    wrong: int
    """What was not as it must be; see ``Call``."""
    died: bool = False
    """Whether the function did not return: the guest has ended, or hangs."""


@dataclass(frozen=True)
class End:
    """A place that a CPU is to come to."""

    address: int
    stack: int | None = None
    """The stack pointer there; None: any, for a nested call may get there, too."""


@dataclass
class _Begun:
    """A call that a CPU has begun."""

    cpu: int
    call: Call
    deadline: float = field(init=False)
    """Until when it has to return, by ``time.monotonic``."""
    _doubted: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._wait()

    def is_over(self) -> bool:
        """Say whether it hangs, when time is up for the second time.

        The first time, it may be the host that stood still.
        """
        doubted, self._doubted = self._doubted, True
        self._wait()
        return doubted

    def _wait(self) -> None:
        self.deadline = time.monotonic() + _RETURN_S

    @property
    def end(self) -> End:
        """Where it returns to."""
        return End(self.call.returns_to, self.call.stack)


@dataclass(frozen=True)
class Injector:
    """Raises an event in a guest that a debugger holds."""

    gdb: Gdb
    event: Event
    pc: str
    """The register that says which instruction is next."""
    sp: str
    """The stack pointer."""

    def visits(self, function: Function, kind: str) -> Iterator[Visit]:
        """Raise the event once at each instruction, in calls of one kind.

        Raises BootError if the guest makes no such calls, if an instruction is never
        reached, if a call does not return or if the guest ends; if an event was raised
        in the call, after the visit that says so.
        """
        for address in function.instructions:
            begun = self._call_to(function, kind, address)
            yield from self._attacked(begun, address)

    def _call_to(self, function: Function, kind: str, address: int) -> _Begun:
        """Let the guest run to an instruction."""
        for _ in range(_CALLS):
            begun = self._next_call(function, kind)
            if self._runs_to(begun, End(address), begun.end) == End(address):
                return begun
        at = address - function.instructions[0]
        raise BootError(
            f"{_CALLS} calls of {function.name} for {kind} never reach +{at:#x}"
        )

    def _next_call(self, function: Function, kind: str) -> _Begun:
        """Let the guest run to the beginning of a call."""
        for _ in range(_CALLS_OF_A_KIND):
            with self.gdb.breakpoint(function.instructions[0]):
                stop = self.gdb.run()
            if not stop.reached:
                break
            call = function.entered(stop.cpu)
            if call.kind == kind:
                return _Begun(stop.cpu, call)
            self.gdb.step(stop.cpu)
        raise BootError(f"nobody calls {function.name} for {kind}")

    def _attacked(self, begun: _Begun, address: int) -> Iterator[Visit]:
        """Raise the event here, and let the call return."""
        cpu, call = begun.cpu, begun.call
        taken_at = None
        wrong = 0
        entry = End(self.event.entry(cpu))
        masked = self.event.masked(cpu)
        self.event.raised(cpu)
        try:
            while self._runs_to(begun, entry, begun.end) == entry:
                back = End(self.event.back(cpu), self._sp(cpu))
                taken_at = taken_at or back.address
                self.event.taken(cpu)
                wrong |= call.taken()
                wrong |= self._handled(begun, back)
        except BootError:
            taken = taken_at is not None
            yield Visit(address, masked, taken_at, taken, wrong, died=True)
            raise
        wrong |= call.returned()
        taken = not self.event.withdrawn(cpu)
        yield Visit(address, masked, taken_at, taken, wrong)

    def _handled(self, begun: _Begun, back: End) -> int:
        """Let the handler return to where it came; say what was wrong meanwhile."""
        cpu, call = begun.cpu, begun.call
        wrong = 0
        while self._runs_to(begun, back, *map(End, call.nested)) != back:
            wrong |= call.at_nested()
            if self._pc(cpu) in call.nested:
                self.gdb.step(cpu)
        call.resumed()
        return wrong

    def _runs_to(self, begun: _Begun, *ends: End) -> End:
        """Let the CPU run to the first of ``ends`` that it comes to; return that.

        The other CPUs run, too: a call may wait for one of them.
        """
        addresses = {end.address for end in ends}
        stopped = begun.cpu
        while True:
            here = End(self._pc(begun.cpu), self._sp(begun.cpu))
            for end in ends:
                if end in (here, End(here.address)):
                    return end
            if self._pc(stopped) in addresses:
                self.gdb.step(stopped)
            with ExitStack() as stack:
                for address in addresses:
                    stack.enter_context(self.gdb.breakpoint(address))
                left = begun.deadline - time.monotonic()
                stop = self.gdb.run(seconds=max(0.0, left))
            if (not stop.reached or left < 0) and begun.is_over():
                raise BootError(
                    f"a call for {begun.call.kind} does not return: {self.pc} was "
                    f"{here.address:#x}"
                )
            stopped = stop.cpu

    def _pc(self, cpu: int) -> int:
        return self.gdb.register(cpu, self.pc)

    def _sp(self, cpu: int) -> int:
        return self.gdb.register(cpu, self.sp)
