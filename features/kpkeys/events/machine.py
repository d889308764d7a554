"""What guests are started with."""

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from guest import Guest

from temper.analysis.console import complaints
from temper.arch import Arch
from temper.catalog import feature_named
from temper.errors import BootError
from temper.machine.qemu import Launch
from temper.run.initramfs import pack
from temper.stress import stress_of

CPUS = 2
_MEMORY = "512M,slots=2,maxmem=72G"
# To RAM, q35 goes only once.
_HARDWARE = ("-M", "pc")
_DISK = "-drive file={},if=none,format=raw,id=disk -device virtio-blk-pci,drive=disk"


@dataclass(frozen=True)
class Machine:
    """A kernel, its files, and a CPU model."""

    arch: Arch
    image: Path
    files: tuple[Path, ...]
    """Init and modules."""
    cpu: str
    cmdline: str

    @contextmanager
    def boot(
        self,
        cmdline: str = "",
        expected: str = "",
        disk: Path | None = None,
        firmware: Path | None = None,
    ) -> Iterator[Guest]:
        """Start it, and end it with the ``with`` block.

        The ``disk`` is /dev/vda, the ``firmware`` another than QEMU's BIOS. Raises
        BootError if the kernel complained, unless that is ``expected``, a regular
        expression.
        """
        with tempfile.TemporaryDirectory(prefix="temper-") as folder:
            work = Path(folder)
            launch = Launch(
                arch=replace(self.arch, machine=_HARDWARE),
                image=self.image,
                initramfs=self._initramfs(work),
                cmdline=f"{self.full_cmdline()} {cmdline}",
                cpu=self.cpu,
                cpus=CPUS,
                memory=_MEMORY,
                restarts=True,
            )
            command = [
                *launch.words(),
                *(_DISK.format(disk).split() if disk else ()),
                *(("-bios", str(firmware)) if firmware else ()),
            ]
            with Guest(command, work) as guest:
                yield guest
                for line in self._complaints(guest.console):
                    if not expected or not re.search(expected, line):
                        raise BootError(line)

    def _complaints(self, console: str) -> list[str]:
        """Find what is wrong in a log by the rules of the stress."""
        feature = feature_named("kpkeys")
        own = (*feature.complaints, *stress_of(feature).complaints)
        return complaints(console, own=own)

    def full_cmdline(self) -> str:
        """Return what every boot has on its command line."""
        return f"{self.arch.cmdline} {self.cmdline}"

    def _initramfs(self, work: Path) -> Path:
        """Pack the files, and once more with all that a kexec needs."""
        inner, outer = work / "inner", work / "outer"
        for folder in (inner, outer):
            folder.mkdir()
        initramfs = pack([], list(self.files), inner)
        kernel = work / "kernel"
        kernel.symlink_to(self.image)
        return pack([], [*self.files, kernel, initramfs], outer)
