"""Connects to SQLite or PostgreSQL, and explains their failures to the user."""

import errno
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from json import JSONDecodeError
from pathlib import Path

from filelock import Timeout
from pydantic import ValidationError
from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import NullPool

from temper.errors import InputError, StoreError

BUSY_SECONDS = 60
"""How long to wait for another process's transaction; none takes that long."""

_FULL_ERRNOS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_DAMAGED_CODES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_POSTGRESQL_DISK_FULL = "53100"

_HOST_HINT = "check that you may read and write its folder, and that it has space left"


def parse_url(text: str) -> URL:
    """Return the URL of a store; raise InputError if it cannot be one."""
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        # The text is left out, since it may contain a password.
        raise InputError(
            "TEMPER_STORE is not a database URL",
            "examples: sqlite:////srv/temper/results.db, postgresql://host/temper",
        ) from None
    place = url.render_as_string(hide_password=True)
    if url.get_backend_name() == "postgresql":
        return url.set(drivername="postgresql+psycopg")
    if url.get_backend_name() != "sqlite":
        raise InputError(f"{place}: Temper keeps results only in SQLite or PostgreSQL")
    if url.database in (None, "", ":memory:"):
        raise InputError(f"{place} names no file, so nothing would be kept")
    return url.set(drivername="sqlite")


def connect(url: URL) -> Engine:
    """Return the engine of a URL from ``parse_url``.

    Raises InputError if the driver is not installed.
    """
    # Without a pool, every transaction opens the current file, even after another
    # process has replaced a damaged one.
    if url.get_backend_name() == "sqlite":
        engine = create_engine(
            url, poolclass=NullPool, connect_args={"timeout": BUSY_SECONDS}
        )
        _begin_immediately(engine)
        return engine
    try:
        return create_engine(
            url, poolclass=NullPool, connect_args={"connect_timeout": 10}
        )
    except ImportError:
        raise InputError(
            "a PostgreSQL store needs the psycopg driver",
            "install Temper with its extra 'postgresql'",
        ) from None


def _begin_immediately(engine: Engine) -> None:
    """Take SQLite's write lock when a transaction begins.

    Otherwise a transaction that reads first and writes later gets "database is
    locked" at once, whatever the timeout, if another one wrote in between.
    """

    @event.listens_for(engine, "connect")
    def _leave_begin_to_us(connection: sqlite3.Connection, _: object) -> None:
        connection.isolation_level = None

    @event.listens_for(engine, "begin")
    def _begin(conn: Connection) -> None:
        conn.exec_driver_sql("BEGIN IMMEDIATE")


def find_damage(path: Path) -> str:
    """Return what is wrong with a SQLite file; "" if it is intact."""
    try:
        with closing(sqlite3.connect(path, timeout=BUSY_SECONDS)) as connection:
            (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.DatabaseError as error:
        if _sqlite_code(error) not in _DAMAGED_CODES:
            raise
        return str(error)
    return "" if verdict == "ok" else str(verdict)


def use_wal(path: Path) -> None:
    """Let readers of a SQLite file work without waiting for writers."""
    with closing(sqlite3.connect(path, timeout=BUSY_SECONDS)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")


def is_writable(database: Path) -> bool:
    """Whether we may write a SQLite file and its journals, be it there or not."""
    there = [database.parent, *([database] if database.exists() else [])]
    return all(os.access(path, os.W_OK) for path in there)


def copy_database(database: Path, to: Path) -> None:
    """Copy a SQLite file, if there is one, with what its journal holds."""
    for journal in ("-wal", ""):
        part = database.with_name(database.name + journal)
        if part.exists():
            shutil.copyfile(part, to.with_name(to.name + journal))


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Turn failures of the database and of files into StoreErrors about ``what``."""
    try:
        yield
    except DBAPIError as error:
        raise _database_error(what, error.orig or error) from error
    except sqlite3.Error as error:
        raise _database_error(what, error) from error
    except (JSONDecodeError, ValidationError) as error:
        raise _damaged(what, str(error)) from error
    except Timeout as error:
        raise StoreError(
            f"{what}: another process holds {error.lock_file}",
            "wait for it or end it",
        ) from error
    except OSError as error:
        if error.errno in _FULL_ERRNOS:
            raise _disk_full(what) from error
        raise StoreError(f"{what}: {error}", _HOST_HINT) from error


def _database_error(what: str, error: BaseException) -> StoreError:
    code = _sqlite_code(error)
    state = getattr(error, "sqlstate", None)
    if code == sqlite3.SQLITE_FULL or state == _POSTGRESQL_DISK_FULL:
        return _disk_full(what)
    if code in _DAMAGED_CODES:
        return _damaged(what, str(error))
    hint = (
        _HOST_HINT
        if isinstance(error, sqlite3.Error)
        else "check that the server runs and that TEMPER_STORE is right"
    )
    return StoreError(f"{what}: {str(error).strip()}", hint)


def _damaged(what: str, why: str) -> StoreError:
    return StoreError(
        f"{what} is damaged: {why}",
        "SQLite: move the file away, and the next command rebuilds it from the raw "
        "files of the boots; PostgreSQL: restore a backup",
    )


def _disk_full(what: str) -> StoreError:
    return StoreError(
        f"no space left for {what}",
        "free some space, then resume the run: all its finished boots are kept",
    )


def _sqlite_code(error: BaseException) -> int:
    # The low byte is the error; the rest only distinguishes kinds of it.
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
