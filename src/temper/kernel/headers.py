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
    installed = (Path(each.format(release)) for each in _INSTALLED)
    places = (*folders, image.parent, *installed)
    return next(filter(None, (headers_in(each, release) for each in places)), None)


def headers_in(folder: Path, release: str) -> Headers | None:
    """Return the headers in a folder; None: it has none.

    They are those of a build, or the archive beside a kernel of ours.
    """
    archive = folder / DEVEL
    place, config = (
        (archive, "config") if archive.is_file() else (folder / "Makefile", ".config")
    )
    decisive = [folder / config, folder / _SYMBOLS]
    if not (place.is_file() and decisive[1].is_file()):
        return None
    known = {path.name: file_digest(path) for path in decisive if path.is_file()}
    found = archive if place == archive else folder
    return Headers(release=release, folder=str(found.resolve()), digest=key_of(known))


def config_of(headers: Headers) -> str:
    """Return the path of the configuration that headers are of; empty: it has none.

    An archive of ours has it beside it.
    """
    place = Path(headers.folder)
    config = place.parent / "config" if place.is_file() else place / ".config"
    return str(config) if headers.folder and config.is_file() else ""
