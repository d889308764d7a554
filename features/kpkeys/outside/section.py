"""What must hold when an exception splits a section."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from temper.run.exceptions import Cpu, Place

# What is wrong, a bit for each; judges/README.md says what each is.
HANDLED, NOT_LOOKED, LOST, KEPT, DIED = (1 << n for n in range(5))

_TRANSLATE_FOR_WRITE = 0xD508_7820  # at s1e1w, x0
_GET_RESULT = 0xD538_7400  # mrs x0, par_el1
_FAULT = 1
"""Of PAR_EL1: the CPU would not write there."""


@dataclass
class SectionCall:
    """A call of a function that writes to a table; ``Call`` says what each part is.

    The CPU itself is asked what it may write, by the instruction that translates an
    address as a write would: no register is taken for the rights that it stands for.
    """

    cpu: Cpu
    kind: str
    returns_to: int
    stack: int
    nested: Sequence[int]
    """What the event's handler runs that must not have the rights: all of it does."""
    entry: int
    """Address of the entry that the function writes to."""
    open_at: int = field(default=-1, init=False)
    """1: the table could be written where the event came first; 0: it could not."""
    _rights: bool = field(default=False, init=False)
    """Whether it could be where an event came last: others come late in a guest that
    stands still so often."""
    _looked_at: set[int] = field(default_factory=set, init=False)
    """Of ``nested``."""
    _lost: int = field(default=0, init=False)

    @classmethod
    def of(
        cls, cpu: Cpu, kind: str, handler: Sequence[int], entry: int
    ) -> "SectionCall":
        """Look at a call by a CPU that has just begun; ``handler``: see ``nested``."""
        returns_to, stack = cpu.register("x30"), cpu.register("sp")
        return cls(cpu, kind, returns_to, stack, handler, entry)

    def taken(self) -> int:
        """See whether the event came in a section; nothing is wrong with either."""
        self._rights = self._writable()
        if self.open_at < 0:
            self.open_at = int(self._rights)
        return 0

    def at_nested(self) -> int:
        """See whether the handler could write to the table."""
        self._looked_at.add(self.cpu.register("pc"))
        return HANDLED if self._writable() else 0

    def resumed(self) -> None:
        """See whether the function has the rights that it had."""
        if self._writable() != self._rights:
            self._lost |= LOST

    def returned(self) -> int:
        """See whether the caller could write to the table."""
        taken, seen = self.open_at >= 0, self._looked_at >= set(self.nested)
        unseen = NOT_LOOKED if taken and not seen else 0
        return self._lost | unseen | (KEPT if self._writable() else 0)

    def _writable(self) -> bool:
        place = Place.of(self.cpu.target, self.cpu.number)
        place.run(_TRANSLATE_FOR_WRITE, self.entry)
        result = place.run(_GET_RESULT)
        place.restore()
        return not result & _FAULT
