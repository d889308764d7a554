"""Reads machine code: as assembly, and where it branches to."""

import struct

from capstone import CS_ARCH_ARM64, CS_MODE_ARM, Cs  # type: ignore[import-untyped]

# Branches of arm64 to a given place: b; b.cond; cbz and cbnz; tbz and tbnz. Bits and
# value, and where and how wide the distance is.
_ARM64_BRANCHES = (
    (0xFC00_0000, 0x1400_0000, 0, 26),
    (0xFF00_0010, 0x5400_0000, 5, 19),
    (0x7E00_0000, 0x3400_0000, 5, 19),
    (0x7E00_0000, 0x3600_0000, 5, 14),
)


def arm64_branch(word: int) -> int | None:
    """Return how far an arm64 instruction branches, in instructions; None: it does not.

    Calls, and branches by a register, are none.
    """
    for bits, value, shift, width in _ARM64_BRANCHES:
        if word & bits == value:
            far = word >> shift & (1 << width) - 1
            return far - (far >> width - 1 << width)
    return None


def arm64_assembly(word: int) -> str:
    """Return the arm64 instruction that a word of code is."""
    disassembler = Cs(CS_ARCH_ARM64, CS_MODE_ARM)
    for instruction in disassembler.disasm(struct.pack("<I", word), 0):
        return f"{instruction.mnemonic} {instruction.op_str}".strip()
    return f".inst {word:#010x}"
