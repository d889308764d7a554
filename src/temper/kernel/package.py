"""Debian packages of kernels, as they come: what they are, and the image in them."""

import re
from dataclasses import dataclass
from pathlib import Path

from temper.arch import ARCHES, Arch
from temper.errors import InputError
from temper.process import call

BOOT = "boot"
"""The folder of a package that has the image and its configuration."""

_MAGIC = b"!<arch>\ndebian-binary"
_FIELDS = "${Package}\t${Version}\t${Architecture}\t${Depends}"
_QUICK = 60.0
_TIMEOUT = 900.0

# tar's status does not count: it fails if nothing in the package is in boot/.
_UNPACK = """\
dpkg-deb --fsys-tarfile "$1" |
    tar --extract --no-same-owner --wildcards './boot/*' 'boot/*'
exit "${PIPESTATUS[0]}"
"""


@dataclass(frozen=True)
class Package:
    """What a package says about itself."""

    name: str
    version: str
    architecture: str
    """Debian's name of it."""
    depends: str
    """The field as it is."""

    @property
    def title(self) -> str:
        """Name and version."""
        return f"{self.name} {self.version}"


def is_package(file: Path) -> bool:
    """Return whether ``file`` is a Debian package, whatever its name.

    Raises OSError if it cannot be read.
    """
    with file.open("rb") as opened:
        return opened.read(len(_MAGIC)) == _MAGIC


def read_package(file: Path) -> Package:
    """Return what a package says about itself; raise InputError if it is damaged."""
    shown = ("--show", f"--showformat={_FIELDS}")
    done = call(["dpkg-deb", *shown, file.resolve()], Path("/"), _QUICK)
    if done.status:
        raise _damaged(file, done.lines)
    said = [line for line in done.lines if not line.startswith("dpkg-deb: ")]
    name, version, architecture, depends = " ".join(said).split("\t", 3)
    return Package(name, version, architecture, depends)


def check_package(file: Path, package: Package, arch: Arch) -> None:
    """Raise InputError for a package that has no kernel for ``arch``.

    It reads nothing but what the package says about itself.
    """
    if package.name.startswith("linux-headers-"):
        kernel = package.name.replace("linux-headers-", "linux-image-", 1)
        raise InputError(
            f"{file} has no kernel: {package.name} is a package of headers",
            f"the package of the kernel is {kernel}",
        )
    images = re.findall(r"\blinux-image-[^\s,|(:]+", package.depends)
    if images:
        raise InputError(
            f"{file} has no kernel: {package.name} is a meta package, which depends on "
            f"{images[0]}",
            f"apt-get download {images[0]}",
        )
    _check_architecture(file, package, arch)


def unpack_boot(file: Path, folder: Path) -> Path:
    """Unpack the folder boot/ of a package into ``folder`` and return it.

    It is empty if the package has none. Raises InputError if the package is damaged.
    """
    command = ("bash", "-c", _UNPACK, "unpack", file.resolve())
    done = call(command, folder, _TIMEOUT)
    if done.status:
        raise _damaged(file, done.lines)
    boot = folder / BOOT
    boot.mkdir(exist_ok=True)
    return boot


def _check_architecture(file: Path, package: Package, arch: Arch) -> None:
    if package.architecture == arch.debian:
        return
    for other in ARCHES.values():
        if package.architecture == other.debian:
            raise InputError(
                f"{file} is a kernel for {other.name}, not for {arch.name}",
                f"--arch {other.name}",
            )
    raise InputError(
        f"{file} is a package for {package.architecture}",
        f"Temper runs kernels for {' and '.join(ARCHES)}",
    )


def _damaged(file: Path, lines: list[str]) -> InputError:
    # The first line has the cause, after the names of programs and files.
    why = next((line for line in lines if line.startswith("dpkg-deb")), "no reason")
    return InputError(
        f"{file} cannot be unpacked: {why.rpartition(': ')[2]}",
        "download it again; it may be truncated",
    )
