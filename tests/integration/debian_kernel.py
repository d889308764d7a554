"""Kernels as Debian ships them, built by others: fetched by apt, not installed."""

import hashlib
import re
from pathlib import Path

from temper.errors import InfraError
from temper.kernel import Cache
from temper.kernel.cache import EntryFacts
from temper.process import run
from temper.progress import Quiet

_TIMEOUT = 300.0


def debian_kernel(series: str) -> Path:
    """Return the newest image of Linux ``series`` (``6.12``) for x86-64 clouds.

    All that QEMU emulates at its simplest is built in. Raises InfraError when apt
    serves none, or cannot fetch it.
    """
    package = _newest(series)
    version = _field(package, "Version")

    def make(result: Path, work: Path) -> EntryFacts:
        wanted = f"{package}={version}"
        _call("apt-get", "-oAcquire::Retries=3", "download", wanted, cwd=work)
        (archive,) = work.glob("*.deb")
        _call("dpkg-deb", "-x", archive, work / "files", cwd=work)
        (image,) = (work / "files" / "boot").glob("vmlinuz-*")
        image.rename(result / "vmlinuz")
        return {"package": package, "version": version}

    key = hashlib.sha256(f"{package} {version}".encode()).hexdigest()
    title = f"Debian's {package} {version}"
    return Cache().entry("programs", key, title, make, Quiet()).folder / "vmlinuz"


def _newest(series: str) -> str:
    name = rf"linux-image-{re.escape(series)}\.[0-9].*-cloud-amd64"
    found = _call("apt-cache", "search", "--names-only", f"^{name}$", cwd=Path("/"))
    packages = [line.split()[0] for line in found]
    if not packages:
        raise InfraError(
            f"apt serves no kernel of the series {series}",
            "apt-get update; this one is in Debian 12",
        )
    return max(packages, key=_numbers)


def _numbers(name: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", name)]


def _field(package: str, name: str) -> str:
    shown = _call("apt-cache", "show", "--no-all-versions", package, cwd=Path("/"))
    (value,) = (line.split(": ")[1] for line in shown if line.startswith(f"{name}: "))
    return value


def _call(*command: str | Path, cwd: Path) -> list[str]:
    done = run(command, cwd, _TIMEOUT)
    if done.status:
        raise InfraError(f"{command[0]} failed: {done.tail(3)}", "apt-get update")
    return done.lines
