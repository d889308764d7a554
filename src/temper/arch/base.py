"""The fields that each architecture fills in."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from temper.errors import InputError


@dataclass(frozen=True)
class Arch:
    """One architecture, as the kernel, the compiler and QEMU know it."""

    name: str
    """The name for tuxmake and ``--arch``."""
    kernel_arch: str
    """ARCH= for the kernel's make."""
    image: str
    """The kernel image, relative to the build folder."""
    debian: str
    """Debian's name of the architecture."""
    magic: tuple[tuple[tuple[int, bytes], ...], ...]
    """Forms of a kernel's file: offsets, and the bytes that must be at all of them."""
    images: str
    """The kernel files that QEMU boots, in words."""
    image_target: str
    """The make target that builds ``image``."""
    compiler: str
    """The C compiler for the target."""
    target: str
    """The CPU that ``compiler`` reports as its target."""
    libc: str
    """Debian's package of the static C library for the target."""
    qemu: str
    """The QEMU program."""
    machine: tuple[str, ...]
    """QEMU's machine arguments."""
    cpu: str
    """The CPU model, unless the user or a variant names another."""
    cpu_64_bit: str
    """QEMU's property of a CPU that runs 64-bit kernels."""
    cmdline: str
    """Kernel command line that every variant needs in order to talk to us."""
    exact_cmdline: str
    """Kernel command line for exact counts, in addition to ``cmdline``."""
    as_linked_cmdline: str
    """Kernel command line for a kernel at the addresses of its System.map."""
    machine_config: tuple[str, ...]
    """``CONFIG_X=y`` lines that a kernel needs to print anything on the machine."""
    free_clock: str
    """The guest's clock without exact counts, in words."""
    free_unit: str
    """The unit of that clock, as in the records."""
    channel: str
    """The device that carries records from the target."""
    channel_port: tuple[str, ...]
    """QEMU's arguments that connect it to the character device ``records``."""
    calls_per_second: int
    """How many system calls a slow but idle host times under exact counts."""
    cpu_properties: tuple[tuple[str, str], ...] = ()
    """What exact counts need of any CPU model: QEMU's properties and their values."""
    free_cmdline: str = ""
    """Kernel command line without exact counts, in addition to ``cmdline``."""
    settings: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Setting for any kernel -> kernel command line, in addition to a variant's."""

    def cpu_model(self, given: str) -> str:
        """Return the CPU model that a user names, with the properties it needs.

        Empty for the architecture's own model. Raises InputError if ``given`` sets a
        property that exact counts depend on.
        """
        if not given:
            return ""
        name, _, properties = given.partition(",")
        for fixed, value in self.cpu_properties:
            if fixed in (each.partition("=")[0] for each in properties.split(",")):
                raise InputError(
                    f"the CPU model cannot set {fixed}",
                    f"Temper sets it to {value}, so that the clock counts instructions",
                )
        own, _, needed = self.cpu.partition(",")
        if name != own:
            needed = ",".join(f"{each}={value}" for each, value in self.cpu_properties)
        model = ",".join(filter(None, (name, needed, properties)))
        return "" if model == self.cpu else model

    def setting_cmdline(self, setting: str) -> str:
        """Return the command line that ``setting`` adds; empty for no setting.

        Raises InputError for a setting that the architecture does not have.
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
