"""The tables. Times are ISO 8601 in UTC; plans and facts are JSON.

Both are text, so SQLite and PostgreSQL return the same bytes, and only pydantic
validates them.
"""

from sqlalchemy import (
    Column,
    Connection,
    ForeignKey,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    insert,
    inspect,
    select,
    text,
)

from temper.errors import StoreError

VERSION = 1

_metadata = MetaData()

schema = Table(
    "temper_schema",
    _metadata,
    Column("version", Integer, primary_key=True),
)

runs = Table(
    "temper_runs",
    _metadata,
    Column("id", Integer, primary_key=True),
    Column("uuid", String, nullable=False, unique=True),
    Column("kind", String, nullable=False),
    Column("feature", String, nullable=False),
    Column("plan", Text, nullable=False),
    Column("started", String, nullable=False),
    Column("finished", String),
    sqlite_autoincrement=True,
)

boots = Table(
    "temper_boots",
    _metadata,
    Column("run", ForeignKey(runs.c.id), primary_key=True),
    Column("variant", String, primary_key=True),
    Column("repeat", Integer, primary_key=True),
    # For SQL users; Temper itself reads the facts from the checked raw file.
    Column("facts", Text, nullable=False),
    Column("sha256", String, nullable=False),
)

# Any number will do, as long as every Temper uses the same one.
_CREATION_LOCK = 0x7E3FE2


def is_prepared(conn: Connection) -> bool:
    """Whether there are tables."""
    return inspect(conn).has_table(schema.name)


def prepare(conn: Connection, what: str) -> bool:
    """Create the tables if there are none; return whether it created them.

    Raises StoreError if the existing tables have another version.
    """
    if conn.dialect.name == "postgresql":
        # On PostgreSQL, CREATE TABLE IF NOT EXISTS fails if two run it at once.
        conn.execute(text(f"SELECT pg_advisory_xact_lock({_CREATION_LOCK})"))
    if not is_prepared(conn):
        _metadata.create_all(conn)
        conn.execute(insert(schema).values(version=VERSION))
        return True
    found = conn.scalar(select(schema.c.version))
    if found != VERSION:
        raise StoreError(
            f"{what} has schema version {found}; this Temper knows only {VERSION}",
            "use the Temper that wrote it, or set TEMPER_STORE to another store",
        )
    return False
