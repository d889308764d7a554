"""Makes a tree of a few programs and what they load, out of Debian's packages."""

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from temper.arch import Arch
from temper.debian.apt import Apt
from temper.digest import key_of
from temper.errors import InfraError, InputError
from temper.kernel.cache import Cache, EntryFacts
from temper.process import call, need_tool
from temper.progress import Progress
from temper.record.plan import Root, place_of

_TREE = "root"
_RECIPE = 3
"""Raise it if a change to this file changes the trees that it makes."""
_MERGED = ("bin", "sbin", "lib", "lib64")
_TIMEOUT = 300.0
_MOST_LINKS = 40
_INTERPRETER = re.compile(r"\[Requesting program interpreter: (/\S+)\]")
_NEEDED = re.compile(r"\(NEEDED\)\s+Shared library: \[(\S+)\]")


def apt_for(arch: Arch, cache: Cache, sources: str = "") -> Apt:
    """Return apt for an architecture, which keeps its lists beside the cache.

    ``sources``: where packages come from, as ``Apt`` has it.
    """
    name = (
        f"{arch.debian}-{key_of({'sources': sources})[:16]}" if sources else arch.debian
    )
    folder = cache.apt / name
    if not sources:
        return Apt(arch, folder)
    return Apt(arch, folder, sources, "the file of --packages")


def root(planned: Root, arch: Arch, cache: Cache, progress: Progress) -> Path:
    """Return a folder with the programs and what they load, as a target has them.

    Raises InputError if a package or program is not to be had, InfraError if the
    packages cannot be fetched.
    """

    def make(result: Path, work: Path) -> EntryFacts:
        unpacked = work / "unpacked"
        unpacked.mkdir()
        apt = apt_for(arch, cache, planned.sources)
        title = f"Fetching {len(planned.packages)} packages for {arch.name}"
        with progress.task(title):
            for archive in apt.fetch(planned.packages, work):
                unpack(archive, unpacked)
        _merge(unpacked)
        tree = result / _TREE
        programs = {_one(unpacked, each): each for each in planned.programs}
        files = list(_files(unpacked, planned.files))
        linked = (path for path in files if _is_elf(_real(unpacked, path)))
        for path in {*files, *_closure(unpacked, (*programs, *linked), arch)}:
            place = Path(place_of(programs.get(path, str(path))))
            target = tree / place.relative_to("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(_real(unpacked, path), target)
        return {"arch": arch.name, "programs": list(planned.programs)}

    contents = planned.model_dump(mode="json")
    key = key_of({"recipe": _RECIPE, "arch": arch.name, **contents})
    names = ", ".join(Path(program).name for program in planned.programs)
    title = f"{names} for {arch.name}"
    return cache.entry("roots", key, title, make, progress).folder / _TREE


def _merge(tree: Path) -> None:
    """Merge /usr as Debian does, which packages since Debian 13 rely on."""
    for name in _MERGED:
        old, new = tree / name, tree / "usr" / name
        new.mkdir(parents=True, exist_ok=True)
        if old.is_dir() and not old.is_symlink():
            shutil.copytree(old, new, symlinks=True, dirs_exist_ok=True)
            shutil.rmtree(old)
        if not old.is_symlink():
            old.symlink_to(f"usr/{name}")


def unpack(archive: Path, tree: Path) -> None:
    """Unpack a package, without the scripts that would install it."""
    need_tool("dpkg-deb")
    done = call(["dpkg-deb", "--extract", archive, tree], tree, _TIMEOUT)
    if done.status:
        raise InfraError(f"{archive.name} cannot be unpacked: {done.tail(1)}")


def _one(tree: Path, pattern: str) -> Path:
    """Return the path in ``tree`` of the only program that ``pattern`` names."""
    if "*" not in pattern:
        return Path(pattern)
    found = list(_files(tree, [pattern]))
    if len(found) > 1:
        names = ", ".join(map(str, found))
        raise InputError(f"{pattern} is more than one program: {names}")
    return found[0]


def _is_elf(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def _closure(tree: Path, programs: Iterable[Path], arch: Arch) -> list[Path]:
    """Return programs, their dynamic loader and all libraries, as paths in ``tree``."""
    found: list[Path] = []
    left = list(programs)
    while left:
        path = left.pop()
        if path in found:
            continue
        if not _real(tree, path).is_file():
            raise InputError(f"none of the packages has {path}")
        found.append(path)
        left += _loaded(tree, path, arch)
    return found


def _files(tree: Path, patterns: Iterable[str]) -> Iterator[Path]:
    """Yield all files that ``patterns`` name, or that are in folders they name."""
    for pattern in patterns:
        found = list(tree.glob(pattern.removeprefix("/")))
        if not found:
            raise InputError(f"none of the packages has {pattern}")
        for each in found:
            inside = sorted(each.rglob("*")) if each.is_dir() else [each]
            paths = [Path("/") / path.relative_to(tree) for path in inside]
            yield from (path for path in paths if _real(tree, path).is_file())


def _loaded(tree: Path, path: Path, arch: Arch) -> Iterator[Path]:
    """Yield what the dynamic loader opens for a program or library itself."""
    need_tool("readelf")
    options = ("--wide", "--program-headers", "--dynamic")
    for line in call(["readelf", *options, _real(tree, path)], tree, _TIMEOUT).lines:
        if loader := _INTERPRETER.search(line):
            yield Path(loader[1])
        elif needed := _NEEDED.search(line):
            yield _library(tree, needed[1], path, arch)


def _library(tree: Path, name: str, user: Path, arch: Arch) -> Path:
    # Where a dynamic loader looks first.
    path = Path("/lib") / f"{arch.target}-linux-gnu" / name
    if _real(tree, path).is_file():
        return path
    raise InputError(f"{user} needs {name}, which none of the packages has")


def _real(tree: Path, path: Path) -> Path:
    """Follow links as they would be on the target, where ``tree`` is the root."""
    for _ in range(_MOST_LINKS):
        place = tree
        for number, part in enumerate(parts := path.parts[1:]):
            place /= part
            if place.is_symlink():
                rest = Path(*parts[number + 1 :])
                here = Path("/") / place.parent.relative_to(tree)
                # An absolute link starts anew at the root.
                path = _normal(here / place.readlink() / rest)
                break
        else:
            return place
    raise InputError(f"links lead in circles from {path}")


def _normal(path: Path) -> Path:
    return Path(os.path.normpath(path))
