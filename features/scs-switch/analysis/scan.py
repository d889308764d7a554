"""Finds the code of a kernel that writes the stack pointer or the SCS pointer."""

import struct
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from capstone import CS_ARCH_ARM64, CS_MODE_ARM, Cs  # type: ignore[import-untyped]

from temper.kernel.symbols import Symbols

_SP, _SCS = 31, 18
_WRITTEN = {"sp": "sp", "wsp": "sp", "x18": "x18", "w18": "x18"}

# What compilers write: a function pushes its return address on the shadow call stack
# and pops it, and makes room for its frame.
_PUSH, _POP = "str x30, [x18], #8", "ldr x30, [x18, #-8]!"
_FRAME = "sp, sp, #"

_FUNCTIONS = Path(__file__).with_name("functions.toml")

_CODE = (
    ("_stext", "_etext"),
    ("__idmap_text_start", "__idmap_text_end"),
    ("_sinittext", "_einittext"),
)


@dataclass(frozen=True)
class Write:
    """An instruction that writes one of the two, or both."""

    address: int
    text: str
    registers: frozenset[str]


def writes(image: Path, symbols: Symbols) -> Mapping[str, list[Write]]:
    """Return function -> the instructions that prologues and epilogues do not have.

    ``image`` is arm64's Image: the kernel's memory from ``_text`` on.
    """
    found: dict[str, list[Write]] = defaultdict(list)
    code = image.read_bytes()
    for first, last in _CODE:
        start, end = symbols.address(first), symbols.address(last)
        at = start - symbols.address("_text")
        for write in _writes(code[at : at + end - start], start):
            found[symbols.function(write.address)].append(write)
    return found


def explained(function: str) -> str:
    """Return what is known of a function; empty: nothing is."""
    known = tomllib.loads(_FUNCTIONS.read_text("utf-8"))
    return next((why for name, why in known.items() if fnmatch(function, name)), "")


def _writes(code: bytes, start: int) -> Iterator[Write]:
    disassembler = Cs(CS_ARCH_ARM64, CS_MODE_ARM)
    disassembler.detail = True
    for number, (word,) in enumerate(struct.iter_unpack("<I", code)):
        # Disassembling all of a kernel would take minutes.
        if not {_SP, _SCS} & {word & 31, word >> 5 & 31, word >> 10 & 31}:
            continue
        for instruction in disassembler.disasm(
            struct.pack("<I", word), start + 4 * number
        ):
            _, written = instruction.regs_access()
            names = {instruction.reg_name(each) for each in written}
            registers = frozenset(_WRITTEN[name] for name in names & _WRITTEN.keys())
            text = f"{instruction.mnemonic} {instruction.op_str}"
            if registers and not _of_a_frame(text, instruction.op_str, registers):
                yield Write(instruction.address, text, registers)


def _of_a_frame(text: str, operands: str, registers: frozenset[str]) -> bool:
    if text in (_PUSH, _POP):
        return True
    return registers == {"sp"} and (operands.startswith(_FRAME) or "[sp" in operands)
