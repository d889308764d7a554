"""Raises an event at every instruction that switches stacks."""

import struct
from collections.abc import Callable, Iterator, Sequence

from temper.errors import BootError
from temper.run.attacking import Target
from temper.run.exceptions import (
    Breakpoint,
    Interrupt,
    SError,
    end_program,
    unless_fatal,
)
from temper.run.injection import Event, Function, Injector

from .calls import (
    DIED,
    IN_KERNEL,
    IN_USER,
    SOFTIRQ,
    SWITCH,
    SwitchCall,
    SwitchingCpu,
    of_call_on_irq_stack,
    of_cpu_switch_to,
)
from .code import reachable

_ATTACKED = {
    "cpu_switch_to": (of_cpu_switch_to, (SWITCH,)),
    "call_on_irq_stack": (of_call_on_irq_stack, (IN_USER, IN_KERNEL, SOFTIRQ)),
}
"""Function -> what its calls are looked at by, and their kinds."""

_Found = Iterator[tuple[str, Sequence[int]]]


def nmi(target: Target) -> _Found:
    """Yield what became of each NMI: see judges/README.md for the rows.

    Nothing, if the kernel has no shadow call stacks.
    """
    return _raised_everywhere(target, Interrupt(target))


def debug(target: Target) -> _Found:
    """Yield what became of each breakpoint, in the same way."""
    return _raised_everywhere(target, Breakpoint(target))


def serror(target: Target) -> _Found:
    """Yield what became of each SError, in the same way.

    Nothing, if the CPU has no SErrors that a kernel survives.
    """
    return unless_fatal(target, _raised_everywhere(target, SError(target)))


def _raised_everywhere(target: Target, event: Event) -> _Found:
    if "TSK_TI_SCS_SP" in target.kernel.constants:
        injector = Injector(target.gdb, event, pc="pc", sp="sp")
        for name, (call, kinds) in _ATTACKED.items():
            function, code = _function(target, name, call)
            for kind in kinds:
                for row in _rows(injector, function, code, kind, target.samples):
                    yield f"{name} for {kind}", row
    end_program(target)


def _rows(
    injector: Injector,
    function: Function,
    code: Sequence[int],
    kind: str,
    samples: int,
) -> Iterator[Sequence[int]]:
    words = dict(zip(function.instructions, code, strict=True))
    for _ in range(samples):
        for visit in injector.visits(function, kind):
            at = _offset(function, visit.address)
            taken_at = _offset(function, visit.taken_at)
            wrong = visit.wrong | DIED * visit.died
            yield (
                *(at, words[visit.address], visit.masked),
                *(taken_at, visit.taken, wrong),
            )


def _function(
    target: Target, name: str, call: Callable[[SwitchingCpu], SwitchCall]
) -> tuple[Function, Sequence[int]]:
    """Return all of a function, and its code as it was patched."""
    start = target.kernel.symbols.address(name)
    end = min(at for at in target.kernel.symbols.functions if at > start)
    with target.gdb.breakpoint(start):
        # In user mode, a CPU does not see the kernel's memory.
        stop = target.gdb.run()
    if not stop.reached:
        raise BootError(f"nobody calls {name}")
    memory = target.gdb.memory(stop.cpu, start, end - start)
    code = [word for (word,) in struct.iter_unpack("<I", memory)]
    run = reachable(code)
    addresses = [start + 4 * at for at in run]
    function = Function(name, addresses, lambda cpu: call(SwitchingCpu(target, cpu)))
    return function, [code[at] for at in run]


def _offset(function: Function, address: int | None) -> int:
    """Return the offset of an instruction; -1: it is elsewhere; -2: nobody knows."""
    if address is None:
        return -2
    if address not in function.instructions:
        return -1
    return address - function.instructions[0]
