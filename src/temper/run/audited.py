"""Does a job whose attacks may end the kernel, in as many boots as that takes."""

from collections.abc import Callable, Sequence

from temper.errors import BootError, InfraError
from temper.machine import BootResult
from temper.record.wire import AnyRecord, Died, unended
from temper.run.audit_boots import LOADS


def boot_on(
    boot: Callable[[Sequence[str], int], BootResult], job: Sequence[str]
) -> BootResult:
    """Return the records and consoles of all boots that ``job`` takes, as of one.

    ``boot`` has the lines of a job done in a boot, whose number it gets as well. The
    program that ends a kernel gets a record of that, and the next boot goes on with
    the line after it. Raises BootError if the kernel ends before any attack.
    """
    left, number = list(job), 0
    records: list[AnyRecord] = []
    consoles: list[str] = []
    while True:
        try:
            result = boot(left, number)
        except BootError as error:
            found = error.records
            died = unended(found)
            if died is None or died.startswith(LOADS):
                raise
            found.append(Died(n=0, type="died", program=died, how=error.message))
            console, left = error.console, _after(left, died)
        else:
            found, console, left = result.records, result.console, []
        records += found
        consoles.append(console)
        number += 1
        if not any(not line.startswith(f"run {LOADS}") for line in left):
            return BootResult(_renumbered(records), "".join(consoles))


def _after(lines: Sequence[str], program: str) -> list[str]:
    """Return the lines that load modules, and those after a program's."""
    if f"run {program}" not in lines:
        raise InfraError(f"the target ran '{program}', which its job does not have")
    begun = lines.index(f"run {program}") + 1
    loads = [line for line in lines[:begun] if line.startswith(f"run {LOADS}")]
    return [*loads, *lines[begun:]]


def _renumbered(records: Sequence[AnyRecord]) -> list[AnyRecord]:
    """Number records of several boots as if they were of one."""
    return [each.model_copy(update={"n": n}) for n, each in enumerate(records)]
