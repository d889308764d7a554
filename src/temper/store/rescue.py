"""Rescues a database that is damaged or gone."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import Connection, insert

from temper.errors import StoreError
from temper.progress import Progress
from temper.record.boot import BootFacts
from temper.store.rawfile import RunHead, raw_paths, read_raw
from temper.store.rows import boot_row, run_row
from temper.store.schema import boots, runs


@dataclass(frozen=True)
class _Found:
    """An intact raw file."""

    run: RunHead
    facts: BootFacts
    sha256: str


def set_aside(database: Path) -> Path:
    """Rename a damaged SQLite database and its journals; return its new name."""
    aside = database.with_name(
        f"{database.name}.corrupt-{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}"
    )
    for journal in ("", "-wal", "-shm"):
        part = database.with_name(database.name + journal)
        if part.exists():
            part.rename(aside.with_name(aside.name + journal))
    return aside


def rebuild(conn: Connection, folder: Path, store: str, progress: Progress) -> None:
    """Enter the boots of all raw files that name ``store`` into empty tables.

    Tells ``progress`` how many there are, and which damaged raw files are left out.
    """
    found: dict[int, list[_Found]] = defaultdict(list)
    for boot in _intact_boots(folder, store, progress):
        found[boot.run.id].append(boot)
    for saved in found.values():
        _enter(conn, saved)
    if found:
        count = sum(map(len, found.values()))
        progress.say(
            f"results store {store}: rebuilt {len(found)} runs with {count} boots "
            f"from the raw files in {folder}"
        )


def _intact_boots(folder: Path, store: str, progress: Progress) -> Iterator[_Found]:
    uuids: dict[int, str] = {}
    seen: set[tuple[int, str, int]] = set()
    for path in raw_paths(folder):
        try:
            head, _, sha256 = read_raw(path)
        except StoreError as error:
            progress.say(f"{error.message}; left out")
            continue
        except OSError as error:
            progress.say(f"{path} is not readable: {error}; left out")
            continue
        if head.run.store != store:
            continue
        if uuids.setdefault(head.run.id, head.run.uuid) != head.run.uuid:
            progress.say(f"{path} belongs to another run {head.run.id}; left out")
            continue
        boot = (head.run.id, head.facts.variant, head.facts.repeat)
        if boot in seen:
            progress.say(f"{path} is of a boot that was found already; left out")
            continue
        seen.add(boot)
        yield _Found(head.run, head.facts, sha256)


def _enter(conn: Connection, saved: list[_Found]) -> None:
    run = saved[0].run
    row = run_row(run.uuid, run.plan, run.started, _finished(saved))
    conn.execute(insert(runs).values(id=run.id, **row))
    conn.execute(insert(boots), [boot_row(run.id, b.facts, b.sha256) for b in saved])


def _finished(saved: list[_Found]) -> datetime | None:
    """Return when the last boot ended; None if one is missing."""
    slots = {b.facts.slot for b in saved}
    if not slots.issuperset(saved[0].run.plan.slots):
        return None
    return max(
        b.facts.started.astimezone(UTC) + timedelta(seconds=b.facts.wall_seconds)
        for b in saved
    )
