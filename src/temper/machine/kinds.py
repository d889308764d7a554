"""The kinds of machine there are.

A new kind is a module beside ``tcg`` whose class is a ``Machine``, and an entry here.
Plans, the command line and stored runs name a machine by its kind and nothing else.
"""

from typing import Protocol

from temper.arch import Arch
from temper.errors import InputError
from temper.kernel import Cache
from temper.machine.base import Limits, Machine
from temper.machine.overlays import Overlays
from temper.machine.tcg import Tcg
from temper.progress import Progress


class MachineKind(Protocol):
    """What makes machines of one kind."""

    def __call__(
        self, arch: Arch, cache: Cache, progress: Progress, limits: Limits | None = None
    ) -> Machine:
        """Return a machine for kernels of ``arch``."""


KINDS: dict[str, MachineKind] = {Tcg.name: Tcg, Overlays.name: Overlays}
"""Name -> the kind."""

DEFAULT_KIND = Tcg.name
"""The one that is meant when none is named."""


def kind_named(name: str) -> MachineKind:
    """Return the kind called ``name``; raise InputError if there is none."""
    try:
        return KINDS[name]
    except KeyError:
        known = ", ".join(KINDS)
        raise InputError(f"unknown machine '{name}'", f"known: {known}") from None
