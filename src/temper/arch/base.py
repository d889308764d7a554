"""The fields every architecture fills in."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Arch:
    """One architecture, as the kernel, the compiler and QEMU know it."""

    name: str
    """As ``uname -m`` says it."""
    kernel_arch: str
    """ARCH= of the kernel's make."""
    image: str
    """The kernel image, relative to the build folder."""
    magic: tuple[tuple[int, bytes], ...]
    """Offset in a file -> bytes; any of them says that it is a kernel."""
    image_target: str
    """The make target that builds ``image``."""
    compiler: str
    """The C compiler for the target."""
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
    channel: str
    """The device that carries records from the target."""
