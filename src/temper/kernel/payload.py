"""The ELF file of a kernel, which its image holds compressed."""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from temper.errors import InputError

_MAGIC = b"HdrS"
_LOADED = 1
"""The type of a program header whose bytes are loaded."""
_EMPTY = 8
"""The type of a section that the file has no bytes of."""


@dataclass(frozen=True)
class Section:
    """A section of an ELF file."""

    name: str
    flags: int
    """SHF_ALLOC 2, SHF_EXECINSTR 4."""
    address: int
    data: bytes
    """Empty if memory is only cleared."""


@dataclass(frozen=True)
class Elf:
    """A 64-bit ELF file, as far as it is loaded."""

    data: bytes

    def read(self, start: int, end: int) -> bytes:
        """Return what is at the addresses from ``start`` on, up to ``end``.

        Raises InputError if the file does not hold them.
        """
        (offset,) = struct.unpack_from("<Q", self.data, 32)
        size, count = struct.unpack_from("<HH", self.data, 54)
        for number in range(count):
            kind, _, at, address, _, held = struct.unpack_from(
                "<IIQQQQ", self.data, offset + number * size
            )
            if kind == _LOADED and address <= start <= end <= address + held:
                return self.data[at + start - address : at + end - address]
        raise InputError(f"the kernel holds nothing at {start:#x}")

    def sections(self) -> Iterator[Section]:
        """Yield its sections, in the file's order."""
        (offset,) = struct.unpack_from("<Q", self.data, 40)
        size, count, of_names = struct.unpack_from("<HHH", self.data, 58)
        headers = [
            struct.unpack_from("<IIQQQQ", self.data, offset + number * size)
            for number in range(count)
        ]
        names = headers[of_names][4]
        for name, kind, flags, address, at, length in headers:
            start = names + name
            yield Section(
                name=self.data[start : self.data.index(0, start)].decode("ascii"),
                flags=flags,
                address=address,
                data=b"" if kind == _EMPTY else self.data[at : at + length],
            )


def elf_of(image: Path) -> Elf:
    """Return the ELF file in a bzImage; raise InputError if it cannot be had."""
    data = image.read_bytes()
    if data[0x202:0x206] != _MAGIC:
        raise InputError(f"{image} is no bzImage")
    sectors = data[0x1F1]
    offset, length = struct.unpack_from("<II", data, 0x248)
    start = (sectors + 1) * 512 + offset
    try:
        # Four bytes of size follow what gzip made.
        unpacked = zlib.decompressobj(wbits=31).decompress(data[start : start + length])
    except zlib.error as error:
        raise InputError(f"{image} is not compressed by gzip") from error
    return Elf(unpacked)
