"""How much memory a kernel takes, before it allocates any."""

from temper.errors import InputError
from temper.kernel.builder import Kernel
from temper.kernel.payload import Elf, Section, elf_of
from temper.kernel.symbols import Symbols

_ALLOC, _EXEC = 2, 4
_PADDING = 0xCC
"""int3, which fills what is left of a page of code, or of a large page."""


def footprint(kernel: Kernel) -> dict[str, int]:
    """Return the bytes of a kernel by their use; empty if its image does not tell."""
    try:
        elf = elf_of(kernel.image)
    except InputError:
        return {}
    symbols = Symbols.of(kernel.folder / "System.map")
    ends = map(symbols.address, ("__init_begin", "__init_end"))
    return by_use(elf, range(*ends))


def by_use(elf: Elf, freed: range) -> dict[str, int]:
    """Return the bytes of an x86-64 kernel by their use.

    ``freed`` are the addresses from ``__init_begin`` to ``__init_end``, which the
    kernel gives back when it has started. What is only cleared (``.bss``) is not
    counted, and of code no padding: both end with a large page anyway.
    """
    sizes = dict.fromkeys(("code", "data", "data per CPU", "freed after the start"), 0)
    for section in elf.sections():
        if section.flags & _ALLOC:
            sizes[_use(section, freed)] += _size(section)
    return sizes


def _use(section: Section, freed: range) -> str:
    if section.name == ".data..percpu":
        return "data per CPU"
    if section.address in freed:
        return "freed after the start"
    return "code" if section.flags & _EXEC else "data"


def _size(section: Section) -> int:
    padding = section.data.count(_PADDING) if section.flags & _EXEC else 0
    return len(section.data) - padding
