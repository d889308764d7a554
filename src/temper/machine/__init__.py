"""Where kernels run: one small interface, one file per kind of machine."""

from temper.machine.base import (
    BootRequest,
    BootResult,
    Clock,
    Limits,
    Machine,
    Needs,
    StoppedError,
    Watcher,
)
from temper.machine.kinds import DEFAULT_KIND, KINDS, kind_named

__all__ = [
    "DEFAULT_KIND",
    "KINDS",
    "BootRequest",
    "BootResult",
    "Clock",
    "Limits",
    "Machine",
    "Needs",
    "StoppedError",
    "Watcher",
    "kind_named",
]
