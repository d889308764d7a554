"""Writes machine code as assembly."""

import struct

from capstone import CS_ARCH_ARM64, CS_MODE_ARM, Cs  # type: ignore[import-untyped]


def arm64_assembly(word: int) -> str:
    """Return the arm64 instruction that a word of code is."""
    disassembler = Cs(CS_ARCH_ARM64, CS_MODE_ARM)
    for instruction in disassembler.disasm(struct.pack("<I", word), 0):
        return f"{instruction.mnemonic} {instruction.op_str}".strip()
    return f".inst {word:#010x}"
