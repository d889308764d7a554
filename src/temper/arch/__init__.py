"""What differs between architectures: one small file each."""

from temper.arch.arm64 import ARM64
from temper.arch.base import Arch
from temper.arch.x86_64 import X86_64
from temper.errors import InputError

ARCHES: dict[str, Arch] = {arch.name: arch for arch in (X86_64, ARM64)}
DEFAULT_ARCH = X86_64
"""The architecture to use if the user names none."""


def arch_named(name: str) -> Arch:
    """Return the architecture called ``name``; raise InputError if unknown."""
    try:
        return ARCHES[name]
    except KeyError:
        known = ", ".join(ARCHES)
        raise InputError(f"unknown architecture '{name}'", f"one of: {known}") from None


__all__ = ["ARCHES", "DEFAULT_ARCH", "Arch", "arch_named"]
