"""What a debugger has to know of a kernel."""

import re
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from temper.errors import BuildError
from temper.kernel.builder import Kernel
from temper.kernel.symbols import Symbols

_OFFSETS = "./include/generated/asm-offsets.h"
_DEFINITION = re.compile(r"^#define (\w+) (-?\d+)\b", re.MULTILINE)


@dataclass(frozen=True)
class Debugged:
    """Where a kernel has its code and data, at the addresses it was linked for."""

    symbols: Symbols
    constants: Mapping[str, int]
    """What its assembler code knows of C, such as the offsets of fields."""

    @classmethod
    def of(cls, kernel: Kernel) -> Self:
        """Read both from a built kernel; raise BuildError if it has no constants."""
        try:
            with tarfile.open(kernel.devel) as archive:
                file = archive.extractfile(_OFFSETS)
                text = file.read().decode() if file else ""
        except (OSError, EOFError, KeyError, tarfile.TarError) as error:
            raise BuildError(f"{kernel.devel} has no {_OFFSETS}: {error}") from error
        return cls._read(kernel.folder / "System.map", text)

    @classmethod
    def in_tree(cls, out: Path) -> Self:
        """Read both from a folder in which a kernel was built."""
        return cls._read(out / "System.map", (out / _OFFSETS).read_text("utf-8"))

    @classmethod
    def _read(cls, system_map: Path, offsets: str) -> Self:
        """Read both; ``offsets``: the text of the header with constants."""
        constants = {name: int(value) for name, value in _DEFINITION.findall(offsets)}
        return cls(Symbols.of(system_map), constants)
