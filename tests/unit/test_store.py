"""The store on SQLite: what every database does, and what only a file can do."""

import shutil
import sqlite3
import sys
import time
from contextlib import closing
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest
from filelock import FileLock

from store_behaviours import (
    SPAWN,
    StoreBehaviours,
    fill,
    make_plan,
    price_once,
    raw_files,
    spoil,
    start,
    wait_for,
)
from temper import paths
from temper.errors import InputError, StoreError
from temper.progress import Quiet
from temper.store import Store
from temper.store.database import find_damage


class Listener(Quiet):
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.told = ""

    def say(self, text: str) -> None:
        self.told += text + "\n"


class TestSqlite(StoreBehaviours):
    @pytest.fixture
    def url(self, tmp_path: Path) -> str:
        return f"sqlite:///{tmp_path}/data/results.db"


def test_is_in_the_data_folder_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEMPER_DATA", str(tmp_path))
    monkeypatch.delenv("TEMPER_STORE", raising=False)
    with Store.open() as store:
        fill(store, store.create_run(make_plan()))
    assert paths.data_home() == tmp_path
    assert (tmp_path / "results.db").is_file()
    assert len(raw_files(tmp_path)) == 4


def test_the_environment_may_name_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEMPER_STORE", f"sqlite:///{tmp_path}/there/other.db")
    with Store.open(data=tmp_path / "data"):
        assert (tmp_path / "there/other.db").is_file()


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("secret.db", "is not a database URL"),
        ("postgresql://me:secret@host:port/temper", "is not a database URL"),
        ("sqlite://", "names no file"),
        ("sqlite:///:memory:", "names no file"),
        ("mysql://me:secret@host/temper", "only in SQLite or PostgreSQL"),
    ],
)
def test_a_url_that_cannot_be_used_is_explained(
    tmp_path: Path, url: str, message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        Store.open(url, tmp_path)
    assert "secret" not in caught.value.message


def test_a_missing_driver_is_named_with_the_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(InputError, match="psycopg") as caught:
        Store.open("postgresql://host/temper", tmp_path)
    assert caught.value.hint == "install Temper with its extra 'postgresql'"


def test_a_server_that_is_not_there_is_an_error_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="No such file") as caught:
        Store.open(f"postgresql://me:secret@/temper?host={tmp_path}", tmp_path)
    assert "TEMPER_STORE" in caught.value.hint
    assert "secret" not in caught.value.message


def two_runs(data: Path) -> list[str]:
    """Make a finished and an interrupted run; return how they load."""
    with Store.open(data=data) as store:
        whole = store.create_run(make_plan())
        fill(store, whole)
        store.finish(whole)
        part = store.create_run(make_plan())
        fill(store, part)
        (last,) = data.glob(f"runs/{part}-*/stock-1.jsonl.gz")
        last.unlink()
        return [*contents(store, [whole]), f"{part}: 3 of 4 boots"]


def contents(store: Store, runs: list[int]) -> list[str]:
    """Return runs as text, without when they ended."""
    return [
        store.load(run).model_copy(update={"finished": None}).model_dump_json()
        for run in runs
    ]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("TEMPER_STORE", raising=False)
    return tmp_path / "data"


def check_rebuilt(data: Path, before: list[str]) -> str:
    listener = Listener()
    with Store.open(data=data, progress=listener) as store:
        assert contents(store, [1]) == before[:1]
        newest, oldest = store.runs()
        assert (
            f"{newest.id}: {newest.boots_done} of {newest.boots_planned} boots"
            == (before[1])
        )
        assert newest.finished is None
        assert oldest.finished is not None
        assert len(store.missing(2)) == 1
        assert store.create_run(make_plan()) == 3
    return listener.told


@pytest.mark.parametrize("damage", ["truncate", "empty", "gone"])
def test_a_lost_database_is_rebuilt(data: Path, damage: str) -> None:
    before = two_runs(data)
    spoil(data / "results.db", damage)
    assert "rebuilt 2 runs with 7 boots" in check_rebuilt(data, before)


def test_a_damaged_database_is_kept_and_rebuilt(data: Path) -> None:
    before = two_runs(data)
    (data / "results.db").write_text("not a database, but long enough" * 300)
    told = check_rebuilt(data, before)
    assert "file is not a database" in told
    assert "rebuilt 2 runs with 7 boots" in told
    (kept,) = data.glob("results.db.corrupt-*")
    assert kept.read_text().startswith("not a database")
    assert str(kept) in told
    listener = Listener()
    Store.open(data=data, progress=listener).close()
    assert not listener.told


def test_a_damaged_database_takes_its_journal_along(data: Path) -> None:
    before = two_runs(data)
    with closing(sqlite3.connect(data / "results.db")) as other:
        other.execute("SELECT * FROM temper_runs").fetchall()
        with (data / "results.db").open("r+b") as file:
            file.write(b"\xa5" * 4096)
        check_rebuilt(data, before)
        kept = sorted(path.name for path in data.glob("results.db.corrupt-*"))
    assert kept == [kept[0], kept[0] + "-shm", kept[0] + "-wal"]


def test_any_page_may_be_damaged(data: Path) -> None:
    before = two_runs(data)
    whole = (data / "results.db").read_bytes()
    for page in range(0, len(whole), 4096):
        copy = data.with_name(f"copy{page}")
        shutil.copytree(data, copy)
        with (copy / "results.db").open("r+b") as file:
            file.seek(page)
            file.write(b"\xa5" * 4096)
        told = check_rebuilt(copy, before)
        assert "rebuilt 2 runs with 7 boots" in told


def test_a_rebuild_leaves_out_what_is_damaged(data: Path) -> None:
    two_runs(data)
    (data / "results.db").unlink()
    (path,) = data.glob("runs/1-*/off-0.jsonl.gz")
    spoil(path, "truncate")
    listener = Listener()
    with Store.open(data=data, progress=listener) as store:
        assert [slot.variant for slot in store.missing(1)] == ["off"]
        assert len(store.load(1).boots) == 3
    assert f"{path} is damaged" in listener.told
    assert "rebuilt 2 runs with 6 boots" in listener.told


def test_a_rebuild_is_whole_or_not_at_all(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = two_runs(data)
    (data / "results.db").unlink()
    with monkeypatch.context() as patch:
        patch.setattr("temper.store.rescue._finished", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            Store.open(data=data)
    assert "rebuilt 2 runs with 7 boots" in check_rebuilt(data, before)


def test_a_rebuild_keeps_to_its_own_runs(data: Path) -> None:
    """Two databases may keep their raw files in one folder."""
    other = f"sqlite:///{data}/other.db"
    with Store.open(other, data) as store:
        assert store.create_run(make_plan()) == 1
        boots = fill(store, 1, salt=7)
    before = two_runs(data)
    (data / "results.db").unlink()
    assert "rebuilt 2 runs with 7 boots" in check_rebuilt(data, before)
    with Store.open(other, data) as store:
        assert store.load(1).boots == boots


def test_a_rebuild_survives_two_runs_of_one_number(data: Path) -> None:
    two_runs(data)
    with Store.open(data=data.with_name("elsewhere")) as store:
        fill(store, store.create_run(make_plan()))
    shutil.copytree(
        data.with_name("elsewhere") / "runs", data / "runs", dirs_exist_ok=True
    )
    (data / "results.db").unlink()
    listener = Listener()
    with Store.open(data=data, progress=listener) as store:
        assert [run.boots_done for run in store.runs()] == [3, 4]
    assert listener.told.count("belongs to another run 1") == 4


def test_the_data_folder_may_be_moved(data: Path) -> None:
    before = two_runs(data)
    moved = data.rename(data.with_name("moved"))
    (moved / "results.db").unlink()
    assert "rebuilt 2 runs" in check_rebuilt(moved, before)


def price_after_a_long_look(url: str, data: Path, barrier: Barrier, salt: int) -> None:
    """Leave time for others between finding damage and mending it."""

    def look_long(path: Path) -> str:
        found = find_damage(path)
        time.sleep(0.5)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("temper.store.store.find_damage", look_long)
        price_once(url, data, barrier, salt)


def test_processes_may_find_the_damage_at_once(data: Path) -> None:
    before = two_runs(data)
    (data / "results.db").write_text("garbage" * 1000)
    url = f"sqlite:///{data}/results.db"
    barrier = SPAWN.Barrier(3)
    wait_for([start(price_after_a_long_look, url, data, barrier, n) for n in range(3)])
    assert len(list(data.glob("results.db.corrupt-*"))) == 1
    with Store.open(data=data) as store:
        assert contents(store, [1]) == before[:1]
        assert [run.boots_done for run in store.runs()] == [12, 12, 12, 3, 4]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(StoreError, match="data"):
        Store.open(data=tmp_path / "data")


def test_a_lock_that_is_kept_is_named(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("temper.store.store.BUSY_SECONDS", 0.1)
    data.mkdir()
    with (
        FileLock(data / "results.db.lock"),
        pytest.raises(StoreError, match=r"another process holds .*results\.db\.lock"),
    ):
        Store.open(data=data)


def test_readers_do_not_wait_for_writers(data: Path) -> None:
    with (
        Store.open(data=data) as store,
        closing(sqlite3.connect(data / "results.db", timeout=0)) as other,
        store._transaction(),
    ):
        assert other.execute("SELECT count(*) FROM temper_runs").fetchone() == (0,)
        assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)
