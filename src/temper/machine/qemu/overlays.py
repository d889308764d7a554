"""Checks permission overlays of an arm64 QEMU against the architecture."""

import re
from dataclasses import dataclass
from pathlib import Path

from temper.errors import BootError, BuildError
from temper.paths import REPOSITORY
from temper.process import call
from temper.scratch import scratch_folder

CHECK = REPOSITORY / "emulator" / "check"

_COMPILE = (
    *("aarch64-linux-gnu-gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-ffreestanding"),
    *("-nostdlib", "-static", "-fno-pic", "-fno-stack-protector"),
    *("-mgeneral-regs-only", "-Wl,--build-id=none,--no-warn-rwx-segments"),
)
_MACHINE = ("-M", "virt", "-cpu", "max", "-m", "128M", "-nodefaults", "-no-reboot")
_SERIAL = ("-display", "none", "-serial", "stdio")
_TIMEOUT = 60.0
"""Seconds; the check takes one or two."""
_RESULT = re.compile(r"(\d+) accesses, (\d+) differ")


@dataclass(frozen=True)
class OverlayCheck:
    """What a check found."""

    tries: int
    """Accesses."""
    differences: int
    """How many of them did not do what the architecture says."""
    shown: tuple[str, ...]
    """The first of these, in words."""


def check_overlays(qemu: Path) -> OverlayCheck:
    """Try every access under every overlay on a machine of the program ``qemu``.

    Raises BuildError if the check does not compile, BootError if it does not end.
    """
    with scratch_folder() as work:
        program = work / "overlay_check"
        sources = [str(each) for each in sorted(CHECK.glob("*.[cS]"))]
        layout = str(CHECK / "overlay_check.ld")
        words = (*_COMPILE, "-T", layout, *sources, "-o", str(program))
        done = call(words, work, _TIMEOUT)
        if done.status:
            raise BuildError(f"the check of overlays does not compile:\n{done.tail(9)}")
        command = (str(qemu), *_MACHINE, *_SERIAL, "-kernel", str(program))
        lines = call(command, work, _TIMEOUT).lines
    result = _RESULT.fullmatch(lines[-1]) if lines else None
    if result is None:
        said = lines[-1] if lines else "nothing"
        raise BootError(f"the check of overlays did not end; it said: {said}")
    return OverlayCheck(int(result[1]), int(result[2]), tuple(lines[:-1]))
