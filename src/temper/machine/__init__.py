"""Where kernels run: one small interface, one file per kind of machine."""

from temper.machine.base import (
    Attack,
    BootRequest,
    BootResult,
    Clock,
    Enough,
    Limits,
    Machine,
    Needs,
)
from temper.machine.kinds import DEFAULT_KIND, KINDS, kind_named
from temper.machine.qemu import Gdb, Guest
from temper.machine.watcher import StoppedError, Watcher

__all__ = [
    "DEFAULT_KIND",
    "KINDS",
    "Attack",
    "BootRequest",
    "BootResult",
    "Clock",
    "Enough",
    "Gdb",
    "Guest",
    "Limits",
    "Machine",
    "Needs",
    "StoppedError",
    "Watcher",
    "kind_named",
]
