"""The event: an SError, as a hypervisor gives a guest one.

It waits where it is masked. That it was corrected makes its handler do nothing more;
only CPUs with the RAS extension can say so.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import ClassVar, TypeVar

from temper.run.attacking import Target
from temper.run.exceptions.exception import KernelException
from temper.run.exceptions.instruction import Place
from temper.run.exceptions.program import end_program

_Found = TypeVar("_Found")

_SET_SYNDROME, _CONFIGURE = 0xD51C_5260, 0xD51C_1100  # msr vsesr_el2, x0; hcr_el2
_GET_FEATURES = 0xD538_0400  # mrs x0, id_aa64pfr0_el1
_GET_SAVED, _SET_SAVED = 0xD538_4000, 0xD518_4000  # mrs, msr: x0, spsr_el1

# Of PSTATE, and of what is saved of it.
_INTERRUPTS = 1 << 7

# Of these features: 0 if there is no RAS extension.
_RAS = 0xF << 28

# HCR_EL2: SErrors go to EL2, and one is pending for EL1.
_ROUTED, _PENDING = 1 << 5, 1 << 8
# As VSESR_EL2 has it: an asynchronous SError, which was corrected.
_CORRECTED = 6 << 10 | 0x11


class FatalError(Exception):
    """Any SError ends a kernel on this CPU: it has no RAS extension."""


def unless_fatal(target: Target, found: Iterator[_Found]) -> Iterator[_Found]:
    """Yield what SErrors find; nothing, if every kernel would end by them."""
    with suppress(FatalError):
        yield from found
        return
    end_program(target)


@dataclass
class SError(KernelException):
    """An SError for a kernel at EL1; ``Event`` says what each part is."""

    VECTOR: ClassVar[int] = 0x380
    MASK: ClassVar[int] = 1 << 8
    _uninterrupted: set[int] = field(default_factory=set, init=False)
    """CPUs that take no interrupt until it comes: QEMU has them take one first."""

    def raised(self, cpu: int) -> None:
        """Make it pending; raise FatalError if every kernel would end by it."""
        place = Place.of(self.target, cpu)
        features = place.run(_GET_FEATURES)
        place.restore()
        if not features & _RAS:
            raise FatalError
        self._configure(cpu, self._configured(cpu) | _ROUTED | _PENDING)
        state = self.target.gdb.register(cpu, "cpsr")
        if not state & (self.MASK | _INTERRUPTS):
            self.target.gdb.set_register(cpu, "cpsr", state | _INTERRUPTS)
            self._uninterrupted.add(cpu)

    def taken(self, cpu: int) -> None:
        """Have the kernel come back to where it takes interrupts, if it did there."""
        if cpu in self._uninterrupted:
            self._uninterrupted.remove(cpu)
            place = Place.of(self.target, cpu)
            place.run(_SET_SAVED, place.run(_GET_SAVED) & ~_INTERRUPTS)
            place.restore()

    def withdrawn(self, cpu: int) -> bool:
        """Return whether it was still pending."""
        found = self._configured(cpu)
        if not found & _PENDING:
            return False
        self._configure(cpu, found & ~_PENDING)
        if cpu in self._uninterrupted:
            self._uninterrupted.remove(cpu)
            state = self.target.gdb.register(cpu, "cpsr")
            self.target.gdb.set_register(cpu, "cpsr", state & ~_INTERRUPTS)
        return True

    def _configured(self, cpu: int) -> int:
        return self.target.gdb.register(cpu, "HCR_EL2")

    def _configure(self, cpu: int, value: int) -> None:
        place = Place.of(self.target, cpu)
        place.run_at_el2((_SET_SYNDROME, _CORRECTED), (_CONFIGURE, value))
        place.restore()
