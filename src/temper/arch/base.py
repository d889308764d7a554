"""The fields every architecture fills in."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from temper.errors import InputError


@dataclass(frozen=True)
class Arch:
    """One architecture, as the kernel, the compiler and QEMU know it."""

    name: str
    """As tuxmake and ``--arch`` say it."""
    kernel_arch: str
    """ARCH= of the kernel's make."""
    image: str
    """The kernel image, relative to the build folder."""
    magic: tuple[tuple[int, bytes], ...]
    """Offset in a file -> bytes; any of them says that it is a kernel."""
    images: str
    """In words, the kernel files that QEMU boots."""
    image_target: str
    """The make target that builds ``image``."""
    compiler: str
    """The C compiler for the target."""
    target: str
    """The CPU that ``compiler`` says it compiles for."""
    libc: str
    """Debian's package of the static C library for the target."""
    qemu: str
    """The QEMU program."""
    machine: tuple[str, ...]
    """QEMU's machine arguments."""
    cpu: str
    """The CPU model used unless a variant names another."""
    cmdline: str
    """Kernel command line that every variant needs to talk to us."""
    exact_cmdline: str
    """Kernel command line for exact counts, on top of ``cmdline``."""
    machine_config: tuple[str, ...]
    """``CONFIG_X=y`` lines without which nothing is heard of a kernel there."""
    free_clock: str
    """In words, what the guest's clock is without exact counts."""
    free_unit: str
    """What that clock counts, as in the records."""
    channel: str
    """The device that carries records from the target."""
    channel_port: tuple[str, ...]
    """QEMU's arguments that connect it to the character device ``records``."""
    calls_per_second: int
    """System calls timed under exact counts on a slow host that is idle."""
    settings: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Ways to run any kernel -> kernel command line, on top of a variant's."""

    def setting_cmdline(self, setting: str) -> str:
        """Return what ``setting`` adds; nothing for none.

        Raises InputError for a setting that the architecture is without.
        """
        if not setting:
            return ""
        try:
            return self.settings[setting]
        except KeyError:
            known = ", ".join(self.settings) or "none"
            raise InputError(
                f"{self.name} has no setting '{setting}'", f"known: {known}"
            ) from None
