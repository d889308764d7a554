"""Sees to it that only one process at a time makes a run.

Both kinds of lock go with the process that holds them, however it ends.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout
from sqlalchemy import Engine, text
from sqlalchemy.exc import DBAPIError

from temper.errors import StoreError
from temper.store.database import explained

# Any number will do, as long as every Temper uses the same one.
_RUN_LOCK = 0x7E3FE3


@contextmanager
def claimed_by_file(path: Path, run: int, what: str) -> Iterator[None]:
    """Hold the lock file ``path``; raise StoreError if somebody else holds it."""
    lock = FileLock(path)
    with explained(what):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise _taken(run, _holder(path)) from None
    try:
        # Only for a message; a full disk has others.
        with suppress(OSError):
            path.write_text(str(os.getpid()))
        yield
    finally:
        with suppress(OSError):
            path.unlink()
        lock.release()


def _holder(path: Path) -> str:
    with suppress(OSError):
        if number := path.read_text().strip():
            return f"process {number}"
    return "another process"


@contextmanager
def claimed_on_server(engine: Engine, run: int, what: str) -> Iterator[None]:
    """Hold an advisory lock of PostgreSQL, as ``claimed_by_file`` does a file."""
    query = text(f"SELECT pg_try_advisory_lock({_RUN_LOCK}, :run)")
    with explained(what):
        # Without a transaction, which would last as long as the run.
        conn = engine.connect().execution_options(isolation_level="AUTOCOMMIT")
    try:
        with explained(what):
            free = conn.scalar(query, {"run": run})
        if not free:
            raise _taken(run, "another process")
        yield
    finally:
        # The server may be gone, and the lock with it.
        with suppress(DBAPIError):
            conn.close()


def _taken(run: int, holder: str) -> StoreError:
    return StoreError(
        f"{holder} is making run {run}", "wait until it is done, or end it first"
    )
