"""The results of all runs."""

import os
import shutil
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
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
from temper.invocation import as_typed
from temper.progress import Progress, Quiet
from temper.record.boot import StoredBoot, StoredRun
from temper.record.plan import FORMAT, Kind, RunPlan, Slot
from temper.store.claim import claimed_by_file, claimed_on_server
from temper.store.database import (
    BUSY_SECONDS,
    connect,
    copy_database,
    explained,
    find_damage,
    is_writable,
    parse_url,
    use_wal,
)
from temper.store.rawfile import (
    RunHead,
    is_intact,
    raw_path,
    raw_paths,
    read_boot,
    run_folder,
    write_boot,
)
from temper.store.rescue import rebuild, set_aside
from temper.store.rows import boot_row, plan_head, run_head, run_row, timestamp
from temper.store.schema import boots, is_prepared, prepare, runs


class RunSummary(BaseModel):
    """A run in a list of runs."""

    model_config = ConfigDict(frozen=True)

    id: int
    kind: str
    """One of ``Kind``, or what another version of Temper calls it."""
    feature: str
    title: str = ""
    """What the feature or the kernel is called; empty: it is not known."""
    machine: str
    arch: str
    setting: str
    cpu: str
    """The CPU model that the user chose; empty: the machine's own."""
    base: str
    """What its kernels were built with, as ``RunPlan`` has it."""
    shard: str = ""
    """Which part of a plan it makes, such as ``2/3``; empty: all of it."""
    started: datetime
    finished: datetime | None
    """None: interrupted or still running."""
    boots_done: int
    boots_planned: int
    current: bool
    """False: another version of Temper stored it, so this one cannot judge it."""
    damaged: bool = False
    """True: its plan is unreadable, so machine, arch and boots_planned are unknown."""


class Store:
    """Runs and their boots, stored so that no crash leaves half a boot.

    A boot's raw file is on disk before its row is in the database, so every row has
    its file; a file without a row counts as a boot not done. Any number of processes
    may use a store at once.
    """

    def __init__(self, url: URL, data: Path, copy: URL | None = None) -> None:
        self._engine = connect(copy or url)
        self._what = f"the results store {url.render_as_string(hide_password=True)}"
        self._folder = data / "runs"
        self._name = _name(url, data)
        self._on_close = ExitStack()

    @classmethod
    def open(
        cls,
        url: str | None = None,
        data: Path | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Open a store, creating it if there is none.

        ``url`` is any SQLite or PostgreSQL URL; the default is ``TEMPER_STORE`` or
        else results.db in ``data``. ``data`` holds the raw files and defaults to
        ``paths.data_home()``. A damaged SQLite file is renamed, a missing or renamed
        one is rebuilt from the raw files, and ``progress`` is told so.

        Raises InputError for an unusable URL, StoreError for a store with another
        schema version and for anything that the host or server refuses.
        """
        data = data or paths.data_home()
        parsed = _url(url, data)
        store = cls(parsed, data)
        if database := store._database:
            store._prepare_sqlite(database, progress or Quiet())
        else:
            # A server has backups, and the raw files may be on other hosts.
            with store._transaction() as conn:
                prepare(conn, store._what)
        return store

    @classmethod
    def open_to_read(
        cls,
        url: str | None = None,
        data: Path | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Open a store in order to read it, for which it need not be writable.

        A store that may be written is opened as by ``open``, which also mends it. Where
        there is none, none is created; it reads as empty. Raises what ``open`` does.
        """
        data = data or paths.data_home()
        parsed = _url(url, data)
        store = cls(parsed, data)
        if store._is_to_be_opened():
            return cls.open(url, data, progress)
        return cls._of_copy(parsed, data, progress or Quiet())

    def _is_to_be_opened(self) -> bool:
        """Whether the store is there, or lost, and not just to be looked at."""
        with explained(self._what):
            if database := self._database:
                there = database.exists() or any(raw_paths(self._folder))
                return there and is_writable(database)
        with self._transaction() as conn:
            return is_prepared(conn)

    @property
    def _database(self) -> Path | None:
        """The SQLite file; None if it is on a server."""
        url = self._engine.url
        sqlite = url.get_backend_name() == "sqlite"
        return Path(str(url.database)) if sqlite else None

    @classmethod
    def _of_copy(cls, url: URL, data: Path, progress: Progress) -> Self:
        """Open a private copy, since SQLite writes even in order to read."""
        with ExitStack() as cleanup:
            scratch = cleanup.enter_context(TemporaryDirectory(prefix="temper-"))
            database = Path(scratch) / "results.db"
            store = cls(url, data, URL.create("sqlite", database=str(database)))
            with explained(store._what):
                if url.get_backend_name() == "sqlite":
                    copy_database(Path(str(url.database)), database)
                if damage := find_damage(database):
                    set_aside(database)
                    progress.say(f"{store._what} is damaged ({damage}): left as it is")
                store._fill(progress)
            store._on_close = cleanup.pop_all()
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
            progress.say(f"{database} is damaged ({damage}); renamed to {aside}")
        use_wal(database)
        self._fill(progress)

    def _fill(self, progress: Progress) -> None:
        """Enter what the raw files tell, if the database is a new one."""
        with self._transaction() as conn:
            if prepare(conn, self._what):
                rebuild(conn, self._folder, self._name, progress)

    def close(self) -> None:
        """Disconnect from the database."""
        self._engine.dispose()
        self._on_close.close()

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

    @contextmanager
    def making(self, run: int) -> Iterator[None]:
        """Keep others from making a run, until the ``with`` block or we end.

        Raises StoreError if another process is making it.
        """
        folder = self.run_folder(run)
        if self._engine.dialect.name == "postgresql":
            # Raw files may be on several hosts.
            claim = claimed_on_server(self._engine, run, self._what)
        else:
            claim = claimed_by_file(folder.with_suffix(".lock"), run, self._what)
        with claim:
            yield

    def missing(self, run: int) -> list[Slot]:
        """Return the slots of a run that have no intact boot, in the plan's order.

        A kernel that panicked is a result, so its boot is not missing: booting it
        again until it comes up would hide the finding. A boot with a damaged raw
        file is missing, so that resuming the run repairs it.
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
        """Store a boot durably or, if this raises, not at all.

        Raises StoreError if the slot already has an intact boot: then another
        process is resuming the same run.
        """
        slot = boot.facts.slot
        with self._transaction() as conn:
            head = self._head(conn, run, lock=True)
            path = self._raw(head, slot)
            if slot not in head.plan.slots:
                raise ValueError(f"{slot} is not in the plan of run {run}")
            sha256 = _saved(conn, run).get(slot)
            if sha256 is not None and is_intact(path, sha256):
                raise StoreError(
                    f"run {run} already has boot {slot.variant}-{slot.repeat}",
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

    @contextmanager
    def adding(self, plan: RunPlan, boots: Iterable[StoredBoot]) -> Iterator[StoredRun]:
        """Store a run that was made elsewhere; nothing of it if the block raises."""
        run = self.create_run(plan)
        try:
            with self.making(run):
                for boot in boots:
                    self.save_boot(run, boot)
                self.finish(run)
            yield self.load(run)
        except BaseException:
            self.delete([run])
            raise

    def run_folder(self, run: int) -> Path:
        """Return the folder of a run's raw files."""
        with self._transaction() as conn:
            return self._raw_folder(_row(conn, run))

    def finish(self, run: int) -> None:
        """Record that a run finished now, with all its boots."""
        now = timestamp(datetime.now(UTC))
        with self._transaction() as conn:
            self._head(conn, run)
            conn.execute(update(runs).where(runs.c.id == run).values(finished=now))

    def delete(self, numbers: Collection[int]) -> None:
        """Remove runs, their boots and their raw files.

        Runs that could be removed only in part are still listed, and can be deleted
        again. Raises InputError if there is no such run, and StoreError if a process
        is making one, before anything is removed.
        """
        with ExitStack() as held:
            for run in set(numbers):
                held.enter_context(self.making(run))
            conn = held.enter_context(self._transaction())
            folders = [self._raw_folder(_row(conn, run)) for run in set(numbers)]
            conn.execute(delete(boots).where(boots.c.run.in_(numbers)))
            conn.execute(delete(runs).where(runs.c.id.in_(numbers)))
            # Files that outlive their run would bring it back when a lost database is
            # rebuilt from them.
            for folder in folders:
                with explained(f"the raw files in {folder}"):
                    if folder.exists():
                        shutil.rmtree(folder)

    def runs(self) -> list[RunSummary]:
        """Return all runs, newest first."""
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
        """Return the newest finished whole run of some kinds; None if there is none."""
        for run in self.runs():
            if run.finished and run.kind in kinds and not run.shard:
                return run.id
        return None

    def is_finished(self, run: int) -> bool:
        """Whether a run has finished; raise InputError if there is no such run."""
        with self._transaction() as conn:
            self._head(conn, run)
            return _finished(conn, run) is not None

    def plan(self, run: int) -> RunPlan:
        """Return the plan of a run; raise InputError if there is no such run.

        Reads no raw file, so it works even if one is damaged.
        """
        with self._transaction() as conn:
            return self._head(conn, run).plan

    def load(self, run: int) -> StoredRun:
        """Return a run with all its boots, in the order of its plan.

        Raises InputError if there is no such run, StoreError if a raw file is
        damaged; the message names the first.
        """
        with self._transaction() as conn:
            head = self._head(conn, run)
            finished = _finished(conn, run)
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
                        read_boot(self._raw(head, slot), saved[slot], head)
                        for slot in found
                    ],
                }
            )

    def _head(self, conn: Connection, run: int, lock: bool = False) -> RunHead:
        """Read a run; with ``lock``, other processes cannot save to it meanwhile."""
        return run_head(_row(conn, run, lock), self._name)

    def _raw_folder(self, row: RowMapping) -> Path:
        """Return the folder of a run's raw files, even if its plan is unreadable."""
        head = RunHead.model_construct(id=row["id"], uuid=row["uuid"])
        return run_folder(self._folder, head)

    def _raw(self, head: RunHead, slot: Slot) -> Path:
        return raw_path(self._folder, head, slot)


def _url(given: str | None, data: Path) -> URL:
    """Return the URL of the store that the user means."""
    text = given or os.environ.get("TEMPER_STORE")
    if text:
        return parse_url(text)
    return URL.create("sqlite", database=str(data / "results.db"))


def _name(url: URL, data: Path) -> str:
    """Return the store's name in raw files; it survives moving the data folder."""
    if url.get_backend_name() != "sqlite":
        return f"{url.host or 'localhost'}/{url.database}"
    database = Path(str(url.database)).resolve()
    if database.is_relative_to(data.resolve()):
        return str(database.relative_to(data.resolve()))
    return str(database)


def _row(conn: Connection, run: int, lock: bool = False) -> RowMapping:
    query = select(runs).where(runs.c.id == run)
    # SQLite has no row locks, but there the transaction locks the whole file.
    rows = conn.execute(query.with_for_update() if lock else query).mappings()
    found = rows.one_or_none()
    if found is None:
        raise InputError(
            f"there is no run {run}", f"'{as_typed('temper runs')}' lists all runs"
        )
    return found


def _finished(conn: Connection, run: int) -> str | None:
    """Return when a run finished; None: it was interrupted or is still running."""
    found: str | None = conn.scalar(select(runs.c.finished).where(runs.c.id == run))
    return found


def _saved(conn: Connection, run: int) -> dict[Slot, str]:
    """Return slot -> SHA-256 of its raw file, for every saved boot of a run."""
    rows = conn.execute(select(boots).where(boots.c.run == run)).mappings()
    return {Slot(variant=r["variant"], repeat=r["repeat"]): r["sha256"] for r in rows}


def _summary(row: RowMapping) -> RunSummary:
    return RunSummary.model_validate({**row, **_times(row), **_planned(row)})


def _times(row: RowMapping) -> dict[str, datetime | None]:
    """Return when a run began and finished; the oldest of times if that is damaged."""
    read: dict[str, datetime | None] = {}
    for name in ("started", "finished"):
        try:
            read[name] = row[name] and datetime.fromisoformat(row[name])
        except (TypeError, ValueError):
            read[name] = datetime.min.replace(tzinfo=UTC)
    return read


def _planned(row: RowMapping) -> dict[str, object]:
    """Return what the plan of a run adds to its row; one bad row hides no other."""
    try:
        plan = plan_head(row)
    # JSON may also have a number too long, or nesting too deep, for Python.
    except (ValueError, RecursionError):
        unknown = {"machine": "?", "arch": "?", "setting": "", "cpu": "", "base": ""}
        return {**unknown, "boots_planned": 0, "current": False, "damaged": True}
    return {
        "title": plan.title,
        "machine": plan.machine,
        "arch": plan.arch,
        "setting": plan.setting,
        "cpu": plan.cpu,
        "base": plan.base,
        "shard": str(plan.shard or ""),
        "boots_planned": len(plan.slots),
        "current": plan.format == FORMAT,
    }
