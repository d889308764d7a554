"""Reading, where nothing can be written, and where there is nothing to read yet."""

import sqlite3
import tarfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from kernels import FAKE_KERNEL
from samples import price_run
from unprivileged import run_python

from temper.store import Store

TEMPER = "import sys; sys.argv[0] = 'temper'; from temper.cli import main; main()"


def contents(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return all that is in a folder: name -> when it was changed, and its bytes."""
    return {
        str(path.relative_to(folder)): (
            path.stat().st_mtime_ns,
            path.read_bytes() if path.is_file() else b"",
        )
        for path in folder.rglob("*")
    }


def write_protected(folder: Path) -> None:
    for path in (*folder.rglob("*"), folder):
        path.chmod(path.stat().st_mode & ~0o222)


def writable(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        path.chmod(path.stat().st_mode | 0o200)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """Return a home with two runs and a cache that cannot be written."""
    home = tmp_path / "home"
    (home / "cache").mkdir(parents=True)
    run = price_run()
    with Store.open(f"sqlite:///{home}/data/results.db", home / "data") as store:
        for _ in range(2):
            number = store.create_run(run.plan)
            for boot in run.boots:
                store.save_boot(number, boot)
            store.finish(number)
    with tarfile.open(home / "linux.tar.gz", "w:gz") as tarball:
        tarball.add(FAKE_KERNEL, "linux")
    write_protected(home)
    yield home
    writable(home)


def temper(home: Path, *words: str, data: str = "data") -> str:
    env = {
        "TEMPER_DATA": str(home / data),
        "XDG_CACHE_HOME": str(home / "cache"),
        "TEMPER_STORE": "",
    }
    done = run_python(TEMPER, *words, **env)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


PLAN = ("price", "kstack", "--variants", "off,stock", "--plan")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("runs",), "finished"),
        (("report", "1"), "Price of kstack"),
        (("report",), "Price of kstack"),
        (("diff", "1", "2"), "Nothing differs"),
        (("history", "kstack"), "2 finished runs"),
        (("features",), "kstack"),
        (("show", "kstack"), "baseline 'off'"),
        (PLAN, "10 boots"),
    ],
    ids=lambda words: words[0] if isinstance(words, tuple) else "",
)
def test_reading_needs_no_write_access(
    home: Path, words: tuple[str, ...], told: str
) -> None:
    before = contents(home)
    source = ("--source", str(home / "linux.tar.gz")) if words == PLAN else ()
    assert told in temper(home, *words, *source)
    assert contents(home) == before


@pytest.mark.parametrize("home_is_writable", [False, True])
def test_reading_makes_no_store(home: Path, home_is_writable: bool) -> None:
    if home_is_writable:
        writable(home)
    source = ("--source", str(home / "linux.tar.gz"))
    assert "No runs yet" in temper(home, "runs", data="none")
    assert "10 boots" in temper(home, *PLAN, *source, data="none")
    assert not (home / "none").exists()


def test_what_a_writer_has_not_written_back_is_read(home: Path) -> None:
    """SQLite keeps the newest rows in a journal as long as somebody is connected."""
    writable(home)
    database = home / "data" / "results.db"
    with (
        closing(sqlite3.connect(database)) as other,
        Store.open(f"sqlite:///{database}", home / "data") as store,
    ):
        other.execute("SELECT * FROM temper_runs").fetchall()
        store.create_run(price_run().plan)
        assert database.with_name("results.db-wal").stat().st_size
        write_protected(home)
        assert "0 of 4 boots" in temper(home, "runs")


@pytest.mark.parametrize("lost", [True, False])
def test_a_lost_or_damaged_store_is_read_from_its_raw_files(
    home: Path, lost: bool
) -> None:
    writable(home)
    database = home / "data" / "results.db"
    database.write_bytes(b"not a database")
    if lost:
        database.unlink()
    write_protected(home)
    before = contents(home)
    env = {"TEMPER_DATA": str(home / "data"), "TEMPER_STORE": ""}
    done = run_python(TEMPER, "runs", **env)
    assert done.returncode == 0
    assert done.stdout.count("finished") == 2
    assert "rebuilt 2 runs with 8 boots" in done.stderr
    assert ("left as it is" in done.stderr) is not lost
    assert contents(home) == before


def test_writing_is_refused_with_the_reason(home: Path) -> None:
    env = {"TEMPER_DATA": str(home / "data"), "TEMPER_STORE": ""}
    done = run_python(TEMPER, "delete", "1", "--yes", **env)
    assert done.returncode == 3
    assert "ermission denied" in done.stderr
