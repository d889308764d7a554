"""Who owns what on a disk: a file that its owner keeps locked as long as it lives.

The kernel gives the lock up when the owner ends, even by ``kill -9``. A process number
in a file would not do, since numbers are used again.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from filelock import FileLock, Timeout

_SUFFIX = ".lock"


class Ownership:
    """A new lock in ``folder``, held until it is given up or this process ends.

    Raises OSError if ``folder`` takes no file.
    """

    def __init__(self, folder: Path, prefix: str = "") -> None:
        self.path = folder / f"{prefix}{uuid4().hex}{_SUFFIX}"
        self._lock = FileLock(self.path, thread_local=False)
        self._lock.acquire()

    @property
    def place(self) -> Path:
        """What is owned with it; it need not exist."""
        return _place(self.path)

    def give_up(self) -> None:
        """Remove the lock."""
        # Before its release, or somebody takes it for one that was left behind.
        with suppress(FileNotFoundError):
            self.path.unlink()
        self._lock.release()


def left_behind(folder: Path, prefix: str) -> Iterator[Path]:
    """Yield the places whose owners are dead, and remove the lock of each."""
    for path in folder.glob(f"{prefix}*{_SUFFIX}"):
        # Anybody may put files into /tmp.
        if _is_ours(path):
            with _taken(path) as dead:
                if dead:
                    yield _place(path)


def living(folder: Path) -> list[Path]:
    """Return the locks in ``folder`` whose owners live, and remove the others."""
    found = []
    for path in folder.glob(f"*{_SUFFIX}"):
        with _taken(path) as dead:
            if not dead:
                found.append(path)
    return found


@contextmanager
def _taken(path: Path) -> Iterator[bool]:
    """Say whether the owner is dead; if so, remove its lock in the end."""
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except (Timeout, OSError):
        yield False
        return
    try:
        yield True
    finally:
        with suppress(FileNotFoundError):
            path.unlink()
        lock.release()


def _is_ours(path: Path) -> bool:
    with suppress(OSError):
        return path.lstat().st_uid == os.geteuid()
    return False


def _place(lock: Path) -> Path:
    return lock.with_suffix("")
