"""The results of all runs."""

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self
from uuid import uuid4

from filelock import FileLock
from pydantic import BaseModel, ConfigDict
from sqlalchemy import (
    URL,
    Connection,
    RowMapping,
    delete,
    func,
    insert,
    select,
    update,
)

from temper import paths
from temper.errors import InputError, StoreError
from temper.progress import Progress, Quiet
from temper.record.boot import StoredBoot, StoredRun
from temper.record.plan import FORMAT, Kind, RunPlan, Slot
from temper.store.database import (
    BUSY_SECONDS,
    connect,
    explained,
    find_damage,
    parse_url,
    use_wal,
)
from temper.store.rawfile import (
    RunHead,
    is_intact,
    raw_path,
    read_boot,
    write_boot,
)
from temper.store.rescue import rebuild, set_aside
from temper.store.rows import boot_row, plan_head, run_head, run_row, timestamp
from temper.store.schema import boots, prepare, runs


class RunSummary(BaseModel):
    """A run in a list of runs."""

    model_config = ConfigDict(frozen=True)

    id: int
    kind: Kind
    feature: str
    machine: str
    arch: str
    setting: str
    started: datetime
    finished: datetime | None
    """None: interrupted or still going."""
    boots_done: int
    boots_planned: int
    current: bool
    """False: stored by another version of Temper, so that it cannot be judged."""


class Store:
    """Runs and their boots, kept so that no crash tears a boot apart.

    A boot's raw file is on the disk before its row is in the database, so a row
    always has its file; a file without a row counts as a boot not done. Any
    number of processes may use one store at once.
    """

    def __init__(self, url: URL, data: Path) -> None:
        self._engine = connect(url)
        self._what = f"the results store {url.render_as_string(hide_password=True)}"
        self._folder = data / "runs"
        self._name = _name(url, data)

    @classmethod
    def open(
        cls,
        url: str | None = None,
        data: Path | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Open a store, creating it where there is none.

        ``url`` is any SQLite or PostgreSQL URL, by default that in
        ``TEMPER_STORE`` or results.db in ``data``; ``data`` is by default
        ``paths.data_home()`` and takes the raw files. A SQLite file that is
        damaged is renamed, one that is gone or was renamed is rebuilt from the
        raw files, and ``progress`` is told so.

        Raises InputError for a URL that cannot be used, StoreError for a store
        of another schema version and for what host or server refuse.
        """
        data = data or paths.data_home()
        given = url or os.environ.get("TEMPER_STORE")
        parsed = (
            parse_url(given)
            if given
            else URL.create("sqlite", database=str(data / "results.db"))
        )
        store = cls(parsed, data)
        if parsed.get_backend_name() == "sqlite":
            store._prepare_sqlite(Path(str(parsed.database)), progress or Quiet())
        else:
            # A server has backups, and other hosts' raw files are not here.
            with store._transaction() as conn:
                prepare(conn, store._what)
        return store

    def _prepare_sqlite(self, database: Path, progress: Progress) -> None:
        with explained(self._what):
            database.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(f"{database}.lock", timeout=BUSY_SECONDS):
                self._heal(database, progress)

    def _heal(self, database: Path, progress: Progress) -> None:
        damage = find_damage(database)
        if damage:
            aside = set_aside(database)
            progress.say(f"{database} is damaged ({damage}); kept as {aside}")
        use_wal(database)
        with self._transaction() as conn:
            if prepare(conn, self._what):
                rebuild(conn, self._folder, self._name, progress)

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self.close()

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        with explained(self._what), self._engine.begin() as conn:
            yield conn

    def create_run(self, plan: RunPlan) -> int:
        """Enter a run that starts now; return its number."""
        row = run_row(uuid4().hex, plan, datetime.now(UTC))
        with self._transaction() as conn:
            query = insert(runs).values(row).returning(runs.c.id)
            number: int = conn.execute(query).scalar_one()
        return number

    def missing(self, run: int) -> list[Slot]:
        """Return the slots of a run that have no intact boot, in their order.

        A kernel that panicked is a result: trying it again until it comes up
        would hide what was to be found. So such a boot is not missing. One whose
        raw file has been damaged is, so that resuming the run mends it.
        """
        with self._transaction() as conn:
            head = self._head(conn, run)
            saved = _saved(conn, run)
        with explained(self._what):
            return [
                slot
                for slot in head.plan.slots
                if slot not in saved
                or not is_intact(self._raw(head, slot), saved[slot])
            ]

    def save_boot(self, run: int, boot: StoredBoot) -> None:
        """Keep a boot for good, or, when this raises, not at all.

        Raises StoreError if the slot already has an intact boot: somebody else
        is resuming the same run.
        """
        slot = Slot(variant=boot.facts.variant, repeat=boot.facts.repeat)
        with self._transaction() as conn:
            head = self._head(conn, run, lock=True)
            path = self._raw(head, slot)
            if slot not in head.plan.slots:
                raise ValueError(f"{slot} is not in the plan of run {run}")
            sha256 = _saved(conn, run).get(slot)
            if sha256 is not None and is_intact(path, sha256):
                raise StoreError(
                    f"run {run} already has its boot {slot.variant}-{slot.repeat}",
                    "another process is resuming this run: let it finish",
                )
            conn.execute(
                delete(boots)
                .where(boots.c.run == run)
                .where(boots.c.variant == slot.variant)
                .where(boots.c.repeat == slot.repeat)
            )
            with explained(f"the raw file {path}"):
                sha256 = write_boot(path, head, boot)
            conn.execute(insert(boots).values(boot_row(run, boot.facts, sha256)))

    def finish(self, run: int) -> None:
        """Note that a run ended, now, with all that it was for."""
        now = timestamp(datetime.now(UTC))
        with self._transaction() as conn:
            self._head(conn, run)
            conn.execute(update(runs).where(runs.c.id == run).values(finished=now))

    def runs(self) -> list[RunSummary]:
        """Return all runs, the newest first."""
        done = (
            select(func.count())
            .where(boots.c.run == runs.c.id)
            .scalar_subquery()
            .label("boots_done")
        )
        with self._transaction() as conn:
            rows = conn.execute(select(runs, done).order_by(runs.c.id.desc()))
            return [_summary(row) for row in rows.mappings()]

    def latest(self, kinds: Collection[Kind]) -> int | None:
        """Return the newest finished run of one of ``kinds``; None if there is none."""
        done = runs.c.finished.is_not(None) & runs.c.kind.in_(list(kinds))
        newest = select(func.max(runs.c.id)).where(done)
        with self._transaction() as conn:
            number: int | None = conn.scalar(newest)
        return number

    def plan(self, run: int) -> RunPlan:
        """Return what a run is to do; raise InputError if there is no such run.

        Reads no raw file, so it also serves to mend one that is damaged.
        """
        with self._transaction() as conn:
            return self._head(conn, run).plan

    def load(self, run: int) -> StoredRun:
        """Return a run with all its boots, in the order of its plan.

        Raises InputError if there is no such run, StoreError naming the first
        raw file that is damaged.
        """
        with self._transaction() as conn:
            head = self._head(conn, run)
            finished = conn.scalar(select(runs.c.finished).where(runs.c.id == run))
            saved = _saved(conn, run)
        with explained(self._what):
            found = (slot for slot in head.plan.slots if slot in saved)
            return StoredRun.model_validate(
                {
                    "id": run,
                    "plan": head.plan,
                    "started": head.started,
                    "finished": finished,
                    "boots": [
                        read_boot(self._raw(head, slot), saved[slot]) for slot in found
                    ],
                }
            )

    def _head(self, conn: Connection, run: int, lock: bool = False) -> RunHead:
        """Read a run; with ``lock`` nobody else saves to it meanwhile."""
        query = select(runs).where(runs.c.id == run)
        # SQLite knows no row locks; there the transaction has the whole file's.
        row = conn.execute(query.with_for_update() if lock else query).mappings()
        found = row.one_or_none()
        if found is None:
            raise InputError(f"there is no run {run}", "temper runs lists them")
        return run_head(found, self._name)

    def _raw(self, head: RunHead, slot: Slot) -> Path:
        return raw_path(self._folder, head, slot)


def _name(url: URL, data: Path) -> str:
    """Return what raw files call the store; the data folder may be moved."""
    if url.get_backend_name() != "sqlite":
        return f"{url.host or 'localhost'}/{url.database}"
    database = Path(str(url.database)).resolve()
    if database.is_relative_to(data.resolve()):
        return str(database.relative_to(data.resolve()))
    return str(database)


def _saved(conn: Connection, run: int) -> dict[Slot, str]:
    """Return the SHA-256 of the raw file of every boot of a run."""
    rows = conn.execute(select(boots).where(boots.c.run == run)).mappings()
    return {Slot(variant=r["variant"], repeat=r["repeat"]): r["sha256"] for r in rows}


def _summary(row: RowMapping) -> RunSummary:
    plan = plan_head(row)
    return RunSummary.model_validate(
        {
            **row,
            "machine": plan.machine,
            "arch": plan.arch,
            "setting": plan.setting,
            "boots_planned": len(plan.slots),
            "current": plan.format == FORMAT,
        }
    )
