"""The names of a kernel's addresses."""

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

from temper.errors import InputError

_CODE = "tTwW"
_MODULES = 0xFFFF_FFFF_A000_0000
"""On x86-64 there are modules from here on, and none of the kernel's own code; on arm64
they are before it."""
_KERNEL = 1 << 63


@dataclass(frozen=True)
class Symbols:
    """A kernel's System.map, for a kernel at the address it was linked for."""

    rows: tuple[tuple[int, str, str], ...]
    """Address, kind as nm has it, and name; static functions may share a name."""

    @classmethod
    def of(cls, system_map: Path) -> Self:
        """Read a System.map."""
        lines = system_map.read_text(encoding="utf-8").splitlines()
        fields = (line.split() for line in lines)
        return cls(tuple((int(at, 16), kind, name) for at, kind, name in fields))

    @cached_property
    def functions(self) -> dict[int, str]:
        """Address -> the first name of the code there, in ascending order."""
        names: dict[int, str] = {}
        for at, kind, name in sorted(self.rows):
            if kind in _CODE:
                names.setdefault(at, name)
        return names

    @cached_property
    def _starts(self) -> list[int]:
        return list(self.functions)

    def function(self, address: int) -> str:
        """Return the function that the code at an address belongs to."""
        before = _KERNEL <= address < self._starts[0]
        if address >= _MODULES or before:
            return "(a module)"
        at = bisect_right(self._starts, address)
        return self.functions[self._starts[at - 1]] if at else f"({address:#x})"

    def address(self, name: str) -> int:
        """Return the address of a symbol; raise InputError if there is none."""
        for at, _, found in self.rows:
            if found == name:
                return at
        raise InputError(f"the kernel has no symbol {name}")
