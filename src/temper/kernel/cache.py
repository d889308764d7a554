"""Keeps what took long to make, under a key made of all inputs.

One mechanism serves sources, kernels, modules and the target's programs: an entry is a
folder ``<root>/<kind>/<key>/`` with a manifest of its files. It appears complete or
not at all, is checked on each use, and is made again if it is damaged.
"""

import errno
import json
import math
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from filelock import FileLock, Timeout

from temper.digest import file_digest
from temper.errors import InfraError
from temper.kernel.shared import SHARED, SharedCache, shared_cache, unpack
from temper.owners import Ownership, living
from temper.paths import cache_home
from temper.process import DISK_FULL_HINT
from temper.progress import Progress

Kind = Literal[
    "sources",
    "kernels",
    "images",
    "modules",
    "programs",
    "roots",
    "mutants",
    "headers",
    "objects",
]
KINDS: tuple[Kind, ...] = get_args(Kind)

BULKY = frozenset({"sources"})
"""Kinds larger than a gigabyte: each use checks only the sizes of their files."""

EntryFacts = dict[str, Any]
"""Facts about an entry, in a form that JSON can hold."""

Make = Callable[[Path, Path], EntryFacts]
"""Fills the first folder, uses the second for scratch files, returns the facts."""

_MANIFEST = "manifest.json"
_SECONDS_A_DAY = 86_400
_PATIENCE = 1.0
"""Seconds that somebody else may have an entry in hand before we say so."""

_TURNS: dict[Path, threading.Lock] = {}
"""Lock file -> whose turn it is among the threads of this process."""
_USES: dict[Path, Ownership] = {}
"""Root of a cache -> what says that this process uses it."""
_USES_LOCK = threading.Lock()


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

    @property
    def apt(self) -> Path:
        """Lists of Debian's packages, by architecture."""
        return self.root / "apt"

    def entry(
        self, kind: Kind, key: str, title: str, make: Make, progress: Progress
    ) -> Entry:
        """Return the entry ``kind``/``key``; fetch or ``make`` it if it is not there.

        If another process is making it, this waits and returns that entry. A ``make``
        that raises leaves nothing behind. Raises InfraError if the disk is full or
        the cache cannot be read and written, and InputError if TEMPER_SHARED_CACHE
        cannot be used. Until this process ends, nobody prunes the entry.
        """
        with self._explained(title):
            self._use()
            with self._locked(kind, key, lambda: progress.say(_waiting(title))):
                if found := self._find(kind, key, progress):
                    return found
                shared = shared_cache() if kind in SHARED else None
                if shared is None:
                    return self._make(kind, key, title, make)
                if found := self._fetch(shared, kind, key, title, progress):
                    return found
                made = self._make(kind, key, title, make)
                self._share(shared, made, progress)
                return made

    @contextmanager
    def workspace(self, kind: str, title: str) -> Iterator[Path]:
        """Lend an empty folder for what nobody keeps, on the disk of the entries.

        Raises InfraError if the disk is full or the cache cannot be written.
        """
        key = str(os.getpid())
        with self._explained(title):
            self._use()
            with (
                self._locked(kind, key, lambda: None),
                self._scratch(kind, key) as folder,
            ):
                yield folder

    def items(self) -> list[Item]:
        """Return the inventory, most recently used first, without checking files.

        Raises InfraError if the cache cannot be read, as do all that look into it.
        """
        with self._explained():
            found = (self._item(kind, folder) for kind, folder in self._folders())
            items = [item for item in found if item]
            for folder, title in (
                (self.ccache, "compiled objects"),
                (self.logs, "logs of failed builds"),
                (self.apt, "lists of Debian's packages"),
            ):
                if folder.is_dir():
                    used, size = _newest(folder), _size(folder)
                    items.append(Item(folder.name, "", title, size, used))
        return sorted(items, key=lambda item: item.last_used, reverse=True)

    def facts(self, kind: str) -> list[EntryFacts]:
        """Return the facts of all readable entries of ``kind``, newest first."""
        found = []
        for _, folder in (pair for pair in self._folders() if pair[0] == kind):
            with suppress(_DamagedError, FileNotFoundError):
                facts = _manifest(folder)["facts"]
                found.append(((folder / _MANIFEST).stat().st_mtime, facts))
        return [facts for _, facts in sorted(found, key=lambda pair: -pair[0])]

    def keys(self, kind: str) -> set[str]:
        """Return the keys of all entries of ``kind``, without checking their files."""
        return {folder.name for found, folder in self._folders() if found == kind}

    def verify(self) -> list[Item]:
        """Check every file of every entry; remove and return the damaged ones."""
        damaged = []
        for kind, folder in self._folders():
            with self._explained(), self._if_idle(kind, folder.name) as idle:
                item = self._item(kind, folder, _check) if idle else None
                if item and item.damage:
                    shutil.rmtree(folder)
                    damaged.append(item)
        return damaged

    def prunable(self, days: float = 0) -> list[Item]:
        """Return what was not used for ``days``, most recently used first.

        0 returns everything, including logs, lists of packages and the compiler's
        cache, which otherwise limits its own size. What another process may be using
        is not among it.
        """
        limit = min(time.time() - days * _SECONDS_A_DAY, self._others_began())
        return [
            item
            for item in self.items()
            if item.last_used <= limit and (item.kind in KINDS or not days)
        ]

    def prune(self, days: float = 0) -> list[Item]:
        """Remove what is prunable and return it; entries that are being made stay."""
        removed = []
        for item in self.prunable(days):
            folder = self.root / item.kind / item.key
            with self._explained(), self._if_idle(item.kind, item.key) as idle:
                # Another prune may have been faster.
                if idle and folder.exists():
                    shutil.rmtree(folder)
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

    def _fetch(
        self, shared: SharedCache, kind: str, key: str, title: str, progress: Progress
    ) -> Entry | None:
        name = f"{kind}/{key}"
        with self._scratch(kind, key) as scratch:
            archive = scratch / "archive"
            if not shared.fetch(name, title, archive, progress):
                return None
            try:
                unpack(archive, scratch)
                manifest = _check_arrived(scratch / name)
            except (ValueError, _DamagedError) as damage:
                progress.say(shared.damaged(title, damage))
                return None
            folder = self._keep(scratch / name, kind, key)
        return Entry(kind, key, manifest["title"], folder, manifest["facts"])

    def _share(self, shared: SharedCache, entry: Entry, progress: Progress) -> None:
        with self._scratch(entry.kind, entry.key) as scratch:
            shared.put(entry.folder, entry.title, scratch / "archive", progress)

    def _make(self, kind: str, key: str, title: str, make: Make) -> Entry:
        with self._scratch(kind, key) as scratch:
            result, litter = scratch / "entry", scratch / "work"
            result.mkdir()
            litter.mkdir()
            facts = make(result, litter)
            manifest = {"title": title, "facts": facts}
            manifest |= {name: check(result) for name, check in _CHECKS.items()}
            (result / _MANIFEST).write_text(json.dumps(manifest, indent=1))
            folder = self._keep(result, kind, key)
        return Entry(kind, key, title, folder, facts, made=True)

    def _keep(self, complete: Path, kind: str, key: str) -> Path:
        folder = self.root / kind / key
        folder.parent.mkdir(exist_ok=True)
        return complete.rename(folder)

    @contextmanager
    def _scratch(self, kind: str, key: str) -> Iterator[Path]:
        """Lend an empty folder to the holder of the entry's lock."""
        folder = self.root / "tmp" / f"{kind}-{key}"
        # A killed run may have left it; we hold the lock, so it is not in use.
        shutil.rmtree(folder, ignore_errors=True)
        try:
            folder.mkdir(parents=True)
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _use(self) -> None:
        """Let others know that this process uses what it gets, until it ends."""
        with _USES_LOCK:
            if self.root in _USES:
                return
            self._users.mkdir(parents=True, exist_ok=True)
            # That removes the files of those who have ended.
            living(self._users)
            _USES[self.root] = Ownership(self._users)
        # Somebody was killed, perhaps, while making something else.
        self._sweep()

    def _others_began(self) -> float:
        """Return when the first of the other processes began that are still there."""
        ours = _USES.get(self.root)
        with self._explained():
            users = living(self._users)
        others = [path for path in users if not ours or path != ours.path]
        return min((facts.st_mtime for facts in _facts_of(others)), default=math.inf)

    @property
    def _users(self) -> Path:
        return self.root / "users"

    def _lock(self, kind: str, key: str) -> FileLock:
        folder = self.root / "locks"
        folder.mkdir(parents=True, exist_ok=True)
        return FileLock(folder / f"{kind}-{key}.lock")

    @contextmanager
    def _locked(self, kind: str, key: str, wait: Callable[[], None]) -> Iterator[None]:
        lock = self._lock(kind, key)
        # Threads of this process come one after the other, without a word.
        with _TURNS.setdefault(Path(lock.lock_file), threading.Lock()):
            try:
                lock.acquire(timeout=_PATIENCE)
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
    def _explained(self, title: str = "") -> Iterator[None]:
        """Turn failures of the cache, while ``title`` is made, into InfraErrors."""
        try:
            yield
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                what = f": could not make {title}" if title else ""
                raise InfraError(
                    f"the disk of {self.root} is full{what}", DISK_FULL_HINT
                ) from error
            if self._is_ours(error):
                raise InfraError(
                    f"the cache cannot be used: {error.strerror}: {error.filename}",
                    "XDG_CACHE_HOME sets the folder that contains it",
                ) from error
            raise

    def _is_ours(self, error: OSError) -> bool:
        path = Path(os.fsdecode(error.filename or ""))
        # Where a folder is removed, its files have no path.
        return not path.is_absolute() or path.is_relative_to(self.root)

    def _folders(self) -> list[tuple[str, Path]]:
        with self._explained():
            return [
                (kind, self.root / kind / name)
                for kind in KINDS
                for name in sorted(_names(self.root / kind))
            ]

    def _item(
        self,
        kind: str,
        folder: Path,
        read: Callable[[Path], dict[str, Any]] | None = None,
    ) -> Item | None:
        """Describe an entry; return None if somebody has just removed it."""
        try:
            title, damage = (read or _manifest)(folder)["title"], ""
        except _DamagedError as error:
            title, damage = "damaged", str(error)
        for facts in _facts_of([folder / _MANIFEST, folder]):
            used = facts.st_mtime
            return Item(kind, folder.name, title, _size(folder), used, damage)
        return None

    def _sweep(self) -> None:
        for scratch in (self.root / "tmp").glob("*"):
            kind, _, key = scratch.name.partition("-")
            with self._if_idle(kind, key) as idle:
                if idle:
                    shutil.rmtree(scratch, ignore_errors=True)


def _waiting(title: str) -> str:
    return f"waiting for another process, which makes or checks {title}"


def _names(folder: Path) -> list[str]:
    try:
        return [path.name for path in folder.iterdir()]
    except FileNotFoundError:
        return []


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


def _check_arrived(folder: Path) -> dict[str, Any]:
    """Check an entry that came from elsewhere, with which more could have come."""
    manifest = _check(folder)
    if more := _sizes(folder).keys() - manifest["size"].keys():
        raise _DamagedError(f"{min(more)} was added")
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
    files = (
        os.path.join(parent, name)  # noqa: PTH118 (there are many)
        for parent, _folders, names in os.walk(folder)
        for name in names
    )
    return sum(facts.st_size for facts in _facts_of(files))


def _newest(folder: Path) -> float:
    """Return when ``folder`` or one below it was changed last."""
    folders = (parent for parent, _folders, _names in os.walk(folder))
    return max((facts.st_mtime for facts in _facts_of(folders)), default=0)


def _facts_of(paths: Iterable[str | Path]) -> Iterator[os.stat_result]:
    """Look at files, some of which others may be removing."""
    for path in paths:
        with suppress(FileNotFoundError):
            yield os.lstat(path)
