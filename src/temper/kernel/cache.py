"""Keeps what took long to make, under a key made of all inputs.

One mechanism serves sources, kernels, modules and target programs: an entry is a
folder ``<root>/<kind>/<key>/`` with a manifest of its files. It appears complete or
not at all, is checked on each use, and is made again if it is damaged.
"""

import errno
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from temper.digest import file_digest
from temper.errors import InfraError
from temper.paths import cache_home
from temper.process import DISK_FULL_HINT
from temper.progress import Progress

KINDS = ("sources", "kernels", "images", "modules", "programs")

BULKY = frozenset({"sources"})
"""Kinds larger than a gigabyte: each use checks only the sizes of their files."""

EntryFacts = dict[str, Any]
"""Facts about an entry, in a form that JSON can hold."""

Make = Callable[[Path, Path], EntryFacts]
"""Fills the first folder, uses the second for scratch files, returns the facts."""

_MANIFEST = "manifest.json"
_SECONDS_A_DAY = 86_400


@dataclass(frozen=True)
class Entry:
    """An intact entry of the cache."""

    kind: str
    key: str
    title: str
    folder: Path
    facts: EntryFacts
    made: bool = False
    """True if it was just made, False if it was already there."""


@dataclass(frozen=True)
class Item:
    """One line of the cache's inventory."""

    kind: str
    key: str
    title: str
    size: int
    """Bytes."""
    last_used: float
    """Seconds since the epoch."""
    damage: str = ""
    """What is wrong with it; empty: nothing that the check would find."""


class _DamagedError(Exception):
    """An entry is not what its manifest says."""


class Cache:
    """The cache in the folder ``root``, which is created on first use."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = root or cache_home()

    @property
    def ccache(self) -> Path:
        """The compiler's cache, shared by all kernels."""
        return self.root / "ccache"

    @property
    def logs(self) -> Path:
        """Logs of builds that failed."""
        return self.root / "logs"

    def entry(
        self, kind: str, key: str, title: str, make: Make, progress: Progress
    ) -> Entry:
        """Return the entry ``kind``/``key``; ``make`` it if it is not there.

        If another process is making it, this waits and returns that entry. A ``make``
        that raises leaves nothing behind. Raises InfraError if the disk is full or
        the cache is not writable.
        """
        with (
            self._clear_errors(title),
            self._locked(kind, key, lambda: progress.say(_waiting(title))),
        ):
            found = self._find(kind, key, progress)
            return found or self._make(kind, key, title, make)

    def items(self) -> list[Item]:
        """Return the inventory, most recently used first, without checking files."""
        items = [self._item(kind, folder) for kind, folder in self._folders()]
        for folder, title in (
            (self.ccache, "compiled objects"),
            (self.logs, "logs of failed builds"),
        ):
            if folder.is_dir():
                used = max(path.stat().st_mtime for path in folder.glob("**/"))
                items.append(Item(folder.name, "", title, _size(folder), used))
        return sorted(items, key=lambda item: item.last_used, reverse=True)

    def facts(self, kind: str) -> list[EntryFacts]:
        """Return the facts of all readable entries of ``kind``, newest first."""
        found = []
        for _, folder in (pair for pair in self._folders() if pair[0] == kind):
            try:
                manifest = _manifest(folder)
            except _DamagedError:
                continue
            found.append(((folder / _MANIFEST).stat().st_mtime, manifest["facts"]))
        return [facts for _, facts in sorted(found, key=lambda pair: -pair[0])]

    def keys(self, kind: str) -> set[str]:
        """Return the keys of all entries of ``kind``, without checking their files."""
        return {folder.name for found, folder in self._folders() if found == kind}

    def verify(self) -> list[Item]:
        """Check every file of every entry; remove and return the damaged ones."""
        damaged = []
        for kind, folder in self._folders():
            with self._if_idle(kind, folder.name) as idle:
                item = self._item(kind, folder, _check) if idle else None
                if item and item.damage:
                    shutil.rmtree(folder)
                    damaged.append(item)
        return damaged

    def prunable(self, days: float = 0) -> list[Item]:
        """Return what was not used for ``days``, most recently used first.

        0 returns everything, including logs and the compiler's cache, which otherwise
        limits its own size.
        """
        limit = time.time() - days * _SECONDS_A_DAY
        return [
            item
            for item in self.items()
            if item.last_used <= limit and (item.kind in KINDS or not days)
        ]

    def prune(self, days: float = 0) -> list[Item]:
        """Remove what is prunable and return it; entries that are being made stay."""
        removed = []
        for item in self.prunable(days):
            with self._if_idle(item.kind, item.key) as idle:
                if idle:
                    shutil.rmtree(self.root / item.kind / item.key)
                    removed.append(item)
        self._sweep()
        return removed

    def _find(self, kind: str, key: str, progress: Progress) -> Entry | None:
        folder = self.root / kind / key
        if not folder.exists():
            return None
        try:
            manifest = _check(folder, "size" if kind in BULKY else "sha256")
        except _DamagedError as damage:
            progress.say(f"{folder} is damaged ({damage}): making it again")
            shutil.rmtree(folder)
            return None
        os.utime(folder / _MANIFEST)
        return Entry(kind, key, manifest["title"], folder, manifest["facts"])

    def _make(self, kind: str, key: str, title: str, make: Make) -> Entry:
        scratch = self._scratch(kind, key)
        # A killed run may have left it; we hold the lock, so it is not in use.
        shutil.rmtree(scratch, ignore_errors=True)
        result, litter = scratch / "entry", scratch / "work"
        try:
            result.mkdir(parents=True)
            litter.mkdir()
            facts = make(result, litter)
            manifest = {"title": title, "facts": facts}
            manifest |= {name: check(result) for name, check in _CHECKS.items()}
            (result / _MANIFEST).write_text(json.dumps(manifest, indent=1))
            folder = self.root / kind / key
            folder.parent.mkdir(exist_ok=True)
            result.rename(folder)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        return Entry(kind, key, title, folder, facts, made=True)

    def _scratch(self, kind: str, key: str) -> Path:
        return self.root / "tmp" / f"{kind}-{key}"

    def _lock(self, kind: str, key: str) -> FileLock:
        folder = self.root / "locks"
        folder.mkdir(parents=True, exist_ok=True)
        return FileLock(folder / f"{kind}-{key}.lock")

    @contextmanager
    def _locked(self, kind: str, key: str, wait: Callable[[], None]) -> Iterator[None]:
        lock = self._lock(kind, key)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            wait()
            lock.acquire()
        try:
            yield
        finally:
            lock.release()

    @contextmanager
    def _if_idle(self, kind: str, key: str) -> Iterator[bool]:
        lock = self._lock(kind, key)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            yield False
            return
        try:
            yield True
        finally:
            lock.release()

    @contextmanager
    def _clear_errors(self, title: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise InfraError(
                    f"the disk of {self.root} is full: could not make {title}",
                    DISK_FULL_HINT,
                ) from error
            if error.errno in (errno.EACCES, errno.EROFS):
                raise InfraError(
                    f"the cache is not writable: {error}",
                    "XDG_CACHE_HOME sets the folder that contains it",
                ) from error
            raise

    def _folders(self) -> list[tuple[str, Path]]:
        return [
            (kind, folder)
            for kind in KINDS
            for folder in sorted((self.root / kind).glob("*"))
        ]

    def _item(
        self,
        kind: str,
        folder: Path,
        read: Callable[[Path], dict[str, Any]] | None = None,
    ) -> Item:
        try:
            title, damage = (read or _manifest)(folder)["title"], ""
            used = (folder / _MANIFEST).stat().st_mtime
        except _DamagedError as error:
            title, damage = "damaged", str(error)
            used = folder.stat().st_mtime
        return Item(kind, folder.name, title, _size(folder), used, damage)

    def _sweep(self) -> None:
        for scratch in (self.root / "tmp").glob("*"):
            kind, _, key = scratch.name.partition("-")
            with self._if_idle(kind, key) as idle:
                if idle:
                    shutil.rmtree(scratch, ignore_errors=True)


def _waiting(title: str) -> str:
    return f"waiting for another run, which is making {title}"


def _manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest = json.loads((folder / _MANIFEST).read_bytes())
    except (OSError, ValueError) as error:
        raise _DamagedError(f"no readable {_MANIFEST}") from error
    if not isinstance(manifest, dict) or not manifest.keys() >= _FIELDS:
        raise _DamagedError(f"{_MANIFEST} lacks fields")
    return manifest


def _check(folder: Path, how: str = "sha256") -> dict[str, Any]:
    manifest = _manifest(folder)
    wanted, found = manifest[how], _CHECKS[how](folder)
    wrong = [name for name in wanted if found.get(name) != wanted[name]]
    if wrong:
        raise _DamagedError(f"{wrong[0]} has changed")
    return manifest


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if name != _MANIFEST and path.is_file() and not path.is_symlink():
            yield name, path


def _sizes(folder: Path) -> dict[str, int]:
    return {name: path.stat().st_size for name, path in _files(folder)}


def _hashes(folder: Path) -> dict[str, str]:
    files = dict(_files(folder))
    with ThreadPoolExecutor() as pool:
        return dict(zip(files, pool.map(file_digest, files.values()), strict=True))


_CHECKS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "size": _sizes,
    "sha256": _hashes,
}
"""What a manifest says about each file -> the function that finds it out."""

_FIELDS = {"title", "facts", *_CHECKS}


def _size(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())
