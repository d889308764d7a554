"""What modules are built against, for a kernel that others built."""

import re
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from temper.arch import Arch
from temper.digest import file_digest, key_of
from temper.kernel.builder import DEVEL, unpack_devel
from temper.record.plan import Headers

WITHOUT_BTF = ("CONFIG_DEBUG_INFO_BTF_MODULES=",)
"""Modules load without it, and it takes a program and a vmlinux that few have."""

_INSTALLED = ("/usr/src/linux-headers-{}", "/lib/modules/{}/build")
_SYMBOLS = "Module.symvers"
_HEADER = 0x202
_VERSION = 0x20E
_SECTOR = 512
_LONGEST = 256
_BANNER = re.compile(rb"Linux version (\S+) ")


@dataclass(frozen=True)
class Folder:
    """Headers in a folder: of a build, or installed, or an archive of ours."""

    headers: Headers
    arch: Arch

    @property
    def key(self) -> str:
        """A hash of what modules depend on."""
        return self.headers.digest

    @property
    def release(self) -> str:
        """As ``uname -r`` prints it."""
        return self.headers.release

    def ready(self, work: Path) -> tuple[Path, tuple[str, ...]]:
        """Return the folder, unpacked if it is an archive; see ``module.Devel``."""
        place = Path(self.headers.folder)
        return (unpack_devel(place, work) if place.is_file() else place), WITHOUT_BTF


def image_release(image: Path) -> str:
    """Return what ``uname -r`` will be; empty if the image does not say.

    A bzImage points to it (Documentation/arch/x86/boot.rst, kernel_version); other
    images have it in their banner, unless they are packed.
    """
    data = image.read_bytes()
    if data[_HEADER : _HEADER + 4] == b"HdrS":
        (pointer,) = struct.unpack_from("<H", data, _VERSION)
        start = pointer + _SECTOR
        said = data[start : start + _LONGEST].partition(b"\0")[0] if pointer else b""
        return said.partition(b" ")[0].decode("ascii", "replace")
    found = _BANNER.search(data)
    return found[1].decode("ascii", "replace") if found else ""


def headers_beside(
    image: Path, release: str, folders: Iterable[Path]
) -> Headers | None:
    """Return headers in one of ``folders``, beside the image, or installed; or None."""
    installed = [Path(each.format(release)) for each in _INSTALLED]
    for folder in (*folders, image.parent, *installed):
        config = folder / ".config"
        if (folder / DEVEL).is_file():
            place, config = folder / DEVEL, folder / "config"
        elif (folder / _SYMBOLS).is_file() and (folder / "Makefile").is_file():
            place = folder
        else:
            continue
        digest = key_of(
            {
                path.name: file_digest(path)
                for path in (config, folder / _SYMBOLS)
                if path.is_file()
            }
        )
        return Headers(release=release, folder=str(place.resolve()), digest=digest)
    return None
