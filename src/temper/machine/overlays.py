"""TCG in a QEMU of our own: arm64 with permission overlays."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

from temper.arch import Arch
from temper.errors import InputError
from temper.machine.qemu.own import OwnQemu, own_qemu
from temper.machine.tcg import Tcg


class Overlays(Tcg):
    """Emulated CPUs with FEAT_S1POE, which no packaged QEMU has.

    The program is built when it is needed for the first time: minutes, once.
    """

    name = "overlays"

    def _check_arch(self) -> None:
        if self._arch.name != "arm64":
            raise InputError(f"{self._arch.name} has no permission overlays")

    @cached_property
    def _qemu(self) -> OwnQemu:
        return own_qemu(self._cache, self._progress)

    @property
    def _emulated(self) -> Arch:
        return replace(self._arch, qemu=str(self._qemu.program))

    def tools(self) -> Mapping[str, str]:
        """Return the versions of QEMU and of the plugins, and QEMU's patches."""
        return {**super().tools(), "QEMU's patches": ", ".join(self._qemu.patches)}
