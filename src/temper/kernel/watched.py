"""What a machine has to know of a kernel to watch a register of the CPU."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from temper.kernel.builder import Kernel
from temper.kernel.disassembly import code_of
from temper.kernel.msr_writes import MsrWrite, msr_writes
from temper.kernel.payload import elf_of
from temper.kernel.symbols import Symbols
from temper.progress import Progress
from temper.record.plan import Register
from temper.scratch import scratch_folder


@dataclass(frozen=True)
class Watched:
    """Where a kernel writes registers, and which functions it has."""

    writes: Mapping[int, str]
    """Address, or value, -> what such a write does, in a word that plugin/exposure.c
    knows."""
    symbols: Symbols
    by_value: bool = False
    """Whether the machine tells writes by their values."""

    def as_lines(self) -> str:
        """Return the writes as the plugin reads them."""
        return "".join(f"{at:x} {word}\n" for at, word in self.writes.items())

    def named(self, text: str) -> str:
        """Return the plugin's records with functions instead of addresses.

        A line that is none is left as it is.
        """
        return "".join(self._named(line) + "\n" for line in text.splitlines())

    def _named(self, line: str) -> str:
        try:
            fields: dict[str, Any] = json.loads(line)
            places = [(int(at), int(count)) for at, count in fields.pop("places")]
        except (ValueError, KeyError, TypeError, AttributeError):
            return line
        functions: Counter[str] = Counter()
        for at, count in places:
            functions[self.symbols.function(at) if at else USER] += count
        return json.dumps({**fields, "functions": functions})


USER = "(user mode)"


def watched(kernel: Kernel, register: Register, progress: Progress) -> Watched:
    """Find what a kernel writes to a register, and where.

    A machine of x86-64 does not tell the values, so the kernel's code has to. Raises
    InputError for a kernel that this cannot be told of, InfraError if objdump is
    missing or fails.
    """
    symbols = Symbols.of(kernel.folder / "System.map")
    if register.msr is None:
        return Watched(_meaning(register), symbols, by_value=True)
    title = "Looking for writes of registers"
    with scratch_folder() as work, progress.task(title):
        code = code_of(elf_of(kernel.image), symbols, work)
        writes = msr_writes(code)
    return Watched(dict(_words(writes, register)), symbols)


def _words(
    writes: Mapping[int, MsrWrite], register: Register
) -> Iterator[tuple[int, str]]:
    meaning = _meaning(register)
    for at, write in writes.items():
        if write.msr is not None and write.msr != register.msr:
            yield at, "other"
        elif write.msr is not None and write.value in meaning:
            yield at, meaning[write.value]


def _meaning(register: Register) -> dict[int, str]:
    return {register.opens: "opens", register.closes: "closes"}
