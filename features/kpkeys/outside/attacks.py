"""Raises an exception at every instruction of functions that write to page tables."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from temper.errors import BootError
from temper.run.attacking import Target
from temper.run.exceptions import (
    Breakpoint,
    Cpu,
    Interrupt,
    Nmi,
    SError,
    end_program,
    unless_fatal,
)
from temper.run.injection import Event, Function, Injector

from .section import DIED, SectionCall

_FUNCTIONS = {
    "__ptep_set_access_flags": "x2",
    "ptep_clear_flush": "x2",
    "pmd_install": "x1",
}
"""Function -> the register of the argument that points to the entry it writes to.

The first two count their sections, and the last one has a section of a single store.
"""
_LONGEST = 10_000
"""Instructions that a call runs, with all that it calls."""

_Found = Iterator[tuple[str, Sequence[int]]]
_Handler = Callable[[Cpu], Sequence[int]]
"""Returns addresses of what a handler runs that is no entry code, on both ways."""


def debug(target: Target) -> _Found:
    """Yield what became of each breakpoint: see judges/README.md for the rows."""
    return _raised_everywhere(target, Breakpoint(target), _as_nmi("do_breakpoint"))


def irq(target: Target) -> _Found:
    """Yield what became of each interrupt, in the same way."""
    return _raised_everywhere(
        target, Interrupt(target), lambda cpu: (_irq_handler(cpu),)
    )


def nmi(target: Target) -> _Found:
    """Yield what became of each NMI that finds interrupts masked, in the same way."""
    return _raised_everywhere(target, Nmi(target), _as_nmi(_irq_handler))


def serror(target: Target) -> _Found:
    """Yield what became of each SError, in the same way.

    Nothing, if the CPU has no SErrors that a kernel survives.
    """
    found = _raised_everywhere(target, SError(target), _as_nmi("do_serror"))
    return unless_fatal(target, found)


def _as_nmi(handler: str | Callable[[Cpu], int]) -> _Handler:
    """Add what tells RCU of an NMI, and of what comes like one, to its handler."""

    def addresses(cpu: Cpu) -> Sequence[int]:
        first = cpu.symbol(handler) if isinstance(handler, str) else handler(cpu)
        return cpu.symbol("ct_nmi_enter"), first, cpu.symbol("ct_nmi_exit")

    return addresses


def _irq_handler(cpu: Cpu) -> int:
    return cpu.word(cpu.symbol("handle_arch_irq"))


def _raised_everywhere(target: Target, event: Event, handler: _Handler) -> _Found:
    injector = Injector(target.gdb, event, pc="pc", sp="sp")
    for name, argument in _FUNCTIONS.items():
        run = _traced(target, name)
        calls = _Calls(target, name, argument, handler)
        function = Function(name, run, calls.entered)
        for _ in range(target.samples):
            for number, visit in enumerate(injector.visits(function, name)):
                yield (
                    name,
                    (
                        *(number, visit.address - run[0], visit.masked),
                        *(visit.taken_at == visit.address, calls.last.open_at),
                        visit.wrong | DIED * visit.died,
                    ),
                )
        yield f"{name} runs", [address - run[0] for address in run]
    end_program(target)


@dataclass
class _Calls:
    """Looks at the calls of a function."""

    target: Target
    name: str
    argument: str
    handler: _Handler
    last: SectionCall = field(init=False)

    def entered(self, cpu: int) -> SectionCall:
        """Look at one that a CPU has just begun."""
        stopped = Cpu(self.target, cpu)
        entry = stopped.register(self.argument)
        handler = self.handler(stopped)
        self.last = SectionCall.of(stopped, self.name, handler, entry)
        return self.last


def _traced(target: Target, name: str) -> Sequence[int]:
    """Return the addresses of the instructions that a call of a function runs.

    Those of what it calls are among them; each is there once, in the order in which it
    comes to them.
    """
    gdb = target.gdb
    start = target.kernel.symbols.address(name)
    with gdb.breakpoint(start):
        stop = gdb.run()
    if not stop.reached:
        raise BootError(f"nobody calls {name}")
    cpu = Cpu(target, stop.cpu)
    back, stack = cpu.register("x30"), cpu.register("sp")
    run: dict[int, None] = {}
    for _ in range(_LONGEST):
        here = cpu.register("pc")
        if here == back and cpu.register("sp") == stack:
            return list(run)
        run[here] = None
        gdb.step(stop.cpu)
    raise BootError(f"a call of {name} does not end in {_LONGEST} instructions")
