# SPDX-License-Identifier: MIT OR Apache-2.0
"""Debian 13's libc, whose getrandom() uses the vDSO, next to an older one."""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from vgetrandom_bench.debian import apt_get, apt_of
from vgetrandom_bench.host import InfraError, call

VERSION = "2.41"
_CODENAME = "trixie"
_TIMEOUT = 300.0


@dataclass(frozen=True)
class Loader:
    """A libc to run programs with, whatever libc the system has."""

    program: Path
    libraries: Path

    def command(self, program: Path) -> tuple[str, ...]:
        """Return the command that runs ``program`` with this libc."""
        return (
            *(str(self.program), "--library-path", str(self.libraries)),
            str(program),
        )


def find_glibc(folder: Path) -> Loader:
    """Return glibc 2.41 in ``folder``; apt fetches it if it is not there yet.

    Raises InfraError if it is not available.
    """
    unpacked = folder / "libc6"
    if not unpacked.is_dir():
        part = folder / "libc6.part"
        shutil.rmtree(part, ignore_errors=True)
        _fetch(folder, part)
        part.rename(unpacked)
    found = sorted(unpacked.glob("usr/lib/*/ld-linux-*.so.*"))
    if not found:
        raise InfraError(f"Debian's libc6 has no dynamic loader in {unpacked}")
    return Loader(found[0], found[0].parent)


def _fetch(folder: Path, unpacked: Path) -> None:
    apt_get(folder, apt_of(_CODENAME, folder), "download", "libc6")
    (package,) = folder.glob("libc6_*.deb")
    if not re.match(rf"libc6_{re.escape(VERSION)}\b", package.name):
        raise InfraError(f"Debian's {_CODENAME} has {package.name}, not {VERSION}")
    done = call(["dpkg-deb", "-x", package, unpacked], folder, _TIMEOUT)
    if done.status:
        raise InfraError(f"{package.name} could not be unpacked: {done.tail(1)}")
