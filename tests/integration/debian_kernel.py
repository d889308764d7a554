"""Kernels as Debian ships them, built by others: fetched by apt, not installed."""

import hashlib
import os
import re
import tempfile
from pathlib import Path

from temper.errors import InfraError
from temper.kernel import Cache
from temper.kernel.cache import EntryFacts, Make
from temper.process import call
from temper.progress import Quiet
from vgetrandom_bench.debian import apt_of

_TIMEOUT = 300.0


# The release that has a series which this machine's may be too new for.
_OTHERS = {"6.1": "bookworm"}

_CURE = "apt-get update"

Environment = dict[str, str]


def debian_kernel(series: str) -> Path:
    """Return the image of ``debian_package(series)``; raise as that does."""
    archive = debian_package(series)

    def make(result: Path, work: Path) -> EntryFacts:
        _call("dpkg-deb", "-x", archive, work / "files", cwd=work, env=_own())
        (image,) = (work / "files" / "boot").glob("vmlinuz-*")
        image.rename(result / "vmlinuz")
        return {"package": archive.name}

    return _kept(f"the kernel in {archive.name}", make) / "vmlinuz"


def debian_package(series: str) -> Path:
    """Return the newest package of Linux ``series`` (``6.12``) for x86-64 clouds.

    All that QEMU emulates at its simplest is built in. Raises InfraError when apt
    serves none, or cannot fetch it.
    """
    with tempfile.TemporaryDirectory() as folder:
        apt = _own()
        packages = _packages(series, apt)
        if not packages and series in _OTHERS:
            apt = apt_of(_OTHERS[series], Path(folder))
            packages = _packages(series, apt)
        if not packages:
            raise InfraError(f"apt serves no kernel of the series {series}", _CURE)
        return _archive(max(packages, key=_numbers), apt)


def _archive(package: str, apt: Environment) -> Path:
    version = _field(package, "Version", apt)

    def make(result: Path, work: Path) -> EntryFacts:
        wanted = f"{package}={version}"
        _call("apt-get", "-oAcquire::Retries=3", "download", wanted, cwd=work, env=apt)
        (archive,) = work.glob("*.deb")
        archive.rename(result / archive.name)
        return {"package": package, "version": version}

    (archive,) = _kept(f"Debian's {package} {version}", make).glob("*.deb")
    return archive


def _kept(title: str, make: Make) -> Path:
    """Return the folder in the cache of what ``title`` names, which ``make`` makes."""
    key = hashlib.sha256(title.encode()).hexdigest()
    return Cache().entry("programs", key, title, make, Quiet()).folder


def _own() -> Environment:
    return dict(os.environ)


def _packages(series: str, apt: Environment) -> list[str]:
    name = rf"^linux-image-{re.escape(series)}\.[0-9].*-cloud-amd64$"
    words = ("apt-cache", "search", "--names-only", name)
    return [line.split()[0] for line in _call(*words, cwd=Path("/"), env=apt)]


def _numbers(name: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", name)]


def _field(package: str, name: str, apt: Environment) -> str:
    words = ("apt-cache", "show", "--no-all-versions", package)
    shown = _call(*words, cwd=Path("/"), env=apt)
    (value,) = (line.split(": ")[1] for line in shown if line.startswith(f"{name}: "))
    return value


def _call(*command: str | Path, cwd: Path, env: Environment) -> list[str]:
    done = call(command, cwd, _TIMEOUT, env=env)
    if done.status:
        raise InfraError(f"{command[0]} failed: {done.tail(3)}", _CURE)
    return done.lines
