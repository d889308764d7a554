"""Where kernels run: one small interface, one file per kind of machine."""

from temper.machine.base import (
    BootRequest,
    BootResult,
    Machine,
    StoppedError,
    Watcher,
)
from temper.machine.tcg import Tcg

__all__ = [
    "BootRequest",
    "BootResult",
    "Machine",
    "StoppedError",
    "Tcg",
    "Watcher",
]
