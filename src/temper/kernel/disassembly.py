"""The code of an x86-64 kernel: its instructions, and which come before which."""

import re
import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from temper.errors import InfraError, InputError
from temper.kernel.payload import Elf
from temper.kernel.symbols import Symbols
from temper.process import call

_TIMEOUT = 300.0
_PADDING = "int3"
_SECTIONS = (".text", ".init.text", ".exit.text", ".altinstr_aux")
_LINE = re.compile(r"([0-9a-f]{8,16}):\t(.*?)\s*(?:#.*)?$")
_TARGET = re.compile(r"j\w+ +(?:0x)?([0-9a-f]+)(?: <.*>)?$")
_TABLE = re.compile(r"notrack jmp |jmp +\*.*\(,")
_LAST = re.compile(r"(?:jmp|ret|ud2|int3|iret|sysret|sysexit|\(bad\))")


@dataclass(frozen=True)
class Code:
    """All instructions of a kernel as it is linked, in order."""

    addresses: Sequence[int]
    texts: Sequence[str]
    """Each in the assembler's AT&T syntax."""
    begins: frozenset[int]
    """Addresses that are come to from anywhere, such as those of functions."""
    more_jumps: Sequence[tuple[int, int]]
    """From where to where it jumps by code that is patched in later."""

    def __post_init__(self) -> None:
        if any(_TABLE.match(text) for text in self.texts):
            raise InputError(
                "the kernel has tables of jumps, so nobody sees where they go",
                "CONFIG_MITIGATION_RETPOLINE=y leaves none",
            )

    @cached_property
    def place(self) -> dict[int, int]:
        """Address -> the position of the instruction there."""
        return {address: at for at, address in enumerate(self.addresses)}

    @cached_property
    def _sources(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = defaultdict(list)
        jumps = _jumps(zip(self.addresses, self.texts, strict=True))
        for source, target in (*jumps, *self.more_jumps):
            if source in self.place and target in self.place:
                found[self.place[target]].append(self.place[source])
        return found

    def before(self, at: int) -> list[int]:
        """Return the positions of all that may run right before position ``at``.

        Empty if that cannot be known.
        """
        if self.addresses[at] in self.begins:
            return []
        falls = at > 0 and not _LAST.match(self.texts[at - 1])
        return [*self._sources.get(at, ()), *([at - 1] if falls else [])]


def code_of(elf: Elf, symbols: Symbols, work: Path) -> Code:
    """Disassemble a kernel; ``work`` is a folder for scratch files.

    Raises InfraError if objdump fails, InputError for a kernel with tables of jumps.
    """
    file = work / "vmlinux"
    file.write_bytes(elf.data)
    code = list(_disassembled(file, *_SECTIONS))
    patched_in = list(_disassembled(file, ".altinstr_replacement"))
    return Code(
        addresses=[address for address, _ in code],
        texts=[text for _, text in code],
        begins=frozenset(symbols.functions) | _fixups(elf, symbols),
        more_jumps=[
            *_static_keys(elf, symbols),
            *_alternatives(elf, symbols, dict(_jumps(patched_in))),
        ],
    )


def _disassembled(file: Path, *sections: str) -> Iterator[tuple[int, str]]:
    """Yield the address and the text of each instruction."""
    wanted = [word for name in sections for word in ("-j", name)]
    command = ("objdump", "-d", "--no-show-raw-insn", *wanted, str(file))
    done = call(command, file.parent, _TIMEOUT)
    if done.status:
        raise InfraError(f"objdump failed: {done.tail(1)}")
    for line in done.lines:
        # Most are padding between functions, which nothing comes to.
        if not line.endswith(_PADDING) and (found := _LINE.match(line)):
            yield int(found[1], 16), found[2]


def _static_keys(elf: Elf, symbols: Symbols) -> Iterator[tuple[int, int]]:
    """Yield the jumps that static keys patch in and out."""
    start = symbols.address("__start___jump_table")
    end = symbols.address("__stop___jump_table")
    for at, entry in _entries(elf, start, end, "<iiq"):
        yield at + entry[0], at + 4 + entry[1]


def _alternatives(
    elf: Elf, symbols: Symbols, jumps: Mapping[int, int]
) -> Iterator[tuple[int, int]]:
    """Yield the jumps of alternatives from the code that they are patched into.

    ``jumps``: address -> target, of those in the code to patch in.
    """
    start = symbols.address("__alt_instructions")
    end = symbols.address("__alt_instructions_end")
    for at, (site, other, _, _, size) in _entries(elf, start, end, "<iiIBB"):
        for address in range(at + 4 + other, at + 4 + other + size):
            if address in jumps:
                yield at + site, jumps[address]


def _jumps(code: Iterable[tuple[int, str]]) -> Iterator[tuple[int, int]]:
    """Yield from where to where instructions jump directly."""
    for address, text in code:
        if text.startswith("j") and (jump := _TARGET.match(text)):
            yield address, int(jump[1], 16)


def _fixups(elf: Elf, symbols: Symbols) -> frozenset[int]:
    """Return where the kernel goes on after a fault that it expects.

    That is where it would have gone on anyway after a WRMSR, which is no news.
    """
    start = symbols.address("__start___ex_table")
    end = symbols.address("__stop___ex_table")
    entries = _entries(elf, start, end, "<iii")
    jumps = ((at + entry[0], at + 4 + entry[1]) for at, entry in entries)
    return frozenset(to for since, to in jumps if to != since + _WRMSR_BYTES)


_WRMSR_BYTES = 2


def _entries(
    elf: Elf, start: int, end: int, form: str
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield the address of each entry of a table, and its fields."""
    size = struct.calcsize(form)
    for number, fields in enumerate(struct.iter_unpack(form, elf.read(start, end))):
        yield start + number * size, fields
