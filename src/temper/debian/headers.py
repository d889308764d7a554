"""Debian's packages of what modules for its kernels are built against."""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from temper.arch import ARCHES, Arch
from temper.debian.root import apt_for, unpack
from temper.digest import key_of
from temper.errors import InfraError, InputError
from temper.kernel.cache import Cache, EntryFacts
from temper.kernel.headers import WITHOUT_BTF
from temper.progress import Progress
from temper.record.plan import Headers

RECIPE = 1
"""Raise it if a change to this file changes the headers that it unpacks."""

_ROOT = "root"
_COMMON = re.compile(r"linux-headers-\S+-common\S*")
_TOOLS = re.compile(r"linux-kbuild-\S+")


@dataclass(frozen=True)
class Packaged:
    """Headers out of packages, unpacked."""

    key: str
    arch: Arch
    release: str
    root: Path

    def ready(self, work: Path) -> tuple[Path, tuple[str, ...]]:
        """Return where they are; see ``temper.kernel.module.Devel``.

        Debian's Makefile of a flavour includes that of all flavours by the path where
        it would be installed, so make starts there.
        """
        sources = self.root / "usr" / "src"
        (common,) = sources.glob("linux-headers-*-common*")
        return common, (f"O={sources / f'linux-headers-{self.release}'}", *WITHOUT_BTF)


def plan_headers(release: str, arch: Arch, cache: Cache) -> Headers:
    """Find the packages that have the headers of a kernel of Debian's.

    Raises InputError if Debian has none, InfraError if its lists cannot be fetched.
    """
    name = f"linux-headers-{release}"
    apt = apt_for(arch, cache)
    depends = apt.depends(name)
    common = _named(_COMMON, depends, name)
    tools = _named(_TOOLS, depends, name)
    return Headers(
        release=release,
        packages=(*apt.only([name]), *apt.only([common])),
        tools=apt_for(_host(), cache).only([tools]),
    )


def ready_headers(
    headers: Headers, arch: Arch, cache: Cache, progress: Progress
) -> Packaged:
    """Fetch and unpack headers, unless they are in the cache.

    Raises InputError if a package is no longer to be had, InfraError without a network.
    """

    def make(result: Path, work: Path) -> EntryFacts:
        tree = result / _ROOT
        tree.mkdir()
        with progress.task(f"Fetching the headers of Linux {headers.release}"):
            for name, whose, packages in (
                ("headers", arch, headers.packages),
                ("tools", _host(), headers.tools),
            ):
                folder = work / name
                folder.mkdir()
                for archive in apt_for(whose, cache).fetch(packages, folder):
                    unpack(archive, tree)
        return {"release": headers.release, "arch": arch.name}

    key = key_of({"recipe": RECIPE, **headers.model_dump(mode="json")})
    title = f"headers of Linux {headers.release}"
    entry = cache.entry("headers", key, title, make, progress)
    return Packaged(key, arch, headers.release, entry.folder / _ROOT)


def _named(pattern: re.Pattern[str], names: Iterable[str], what: str) -> str:
    for name in names:
        if pattern.fullmatch(name):
            return name
    raise InputError(f"{what} depends on no package like {pattern.pattern}")


def _host() -> Arch:
    machine = os.uname().machine
    for arch in ARCHES.values():
        if arch.target == machine:
            return arch
    raise InfraError(f"Temper builds no modules on a host of type {machine}")
