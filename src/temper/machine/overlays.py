"""TCG in a QEMU of our own: arm64 with permission overlays."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

from temper.arch import Arch
from temper.errors import InputError
from temper.kernel import Cache
from temper.machine.base import Limits
from temper.machine.qemu.own import OwnQemu, own_qemu
from temper.machine.tcg import Tcg
from temper.progress import Progress


class Overlays(Tcg):
    """Emulated CPUs with FEAT_S1POE, which no packaged QEMU has.

    The program is built when it is needed for the first time: minutes, once.
    """

    name = "overlays"

    def __init__(
        self,
        arch: Arch,
        cache: Cache,
        progress: Progress,
        limits: Limits | None = None,
    ) -> None:
        if arch.name != "arm64":
            raise InputError(f"{arch.name} has no permission overlays")
        super().__init__(arch, cache, progress, limits)

    @cached_property
    def _qemu(self) -> OwnQemu:
        return own_qemu(self._cache, self._progress)

    @property
    def _emulated(self) -> Arch:
        return replace(self._arch, qemu=str(self._qemu.program))

    def tools(self) -> Mapping[str, str]:
        """Return the versions of QEMU and of the plugins, and QEMU's patches."""
        return {**super().tools(), "QEMU's patches": ", ".join(self._qemu.patches)}
