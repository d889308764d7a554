"""Scratch folders, which outlive nobody."""

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from temper.scratch import scratch_folder

LEAVER = """
import sys, tempfile
from temper.scratch import scratch_folder

tempfile.tempdir = sys.argv[1]
with scratch_folder() as folder:
    (folder / "disk").write_text("large")
    print(folder, flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


@contextmanager
def another_process(place: Path) -> Iterator[tuple["subprocess.Popen[str]", Path]]:
    process = subprocess.Popen(
        [sys.executable, "-c", LEAVER, place],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield process, Path(process.stdout.readline().strip())
    finally:
        process.kill()
        process.communicate(timeout=60)


def test_it_is_empty_and_goes_with_all_that_is_in_it(place: Path) -> None:
    with scratch_folder() as first, scratch_folder() as second:
        assert first != second
        assert list(first.iterdir()) == []
        (first / "sub").mkdir()
        (first / "sub" / "file").touch()
    assert list(place.iterdir()) == []


def test_it_goes_when_something_fails(place: Path) -> None:
    with pytest.raises(KeyboardInterrupt), scratch_folder():
        raise KeyboardInterrupt
    assert list(place.iterdir()) == []


def test_what_a_killed_process_left_goes_and_what_others_use_stays(
    place: Path,
) -> None:
    (place / "temper-notes").mkdir()
    with another_process(place) as (_, used):
        with another_process(place) as (killed, left):
            killed.kill()
            killed.wait(60)
        assert (left / "disk").exists()
        with scratch_folder():
            assert not left.exists()
            assert (used / "disk").exists()
        names = {path.name for path in place.iterdir()}
        assert names == {"temper-notes", used.name, f"{used.name}.lock"}


def test_what_somebody_else_put_there_is_left_alone(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "temper-1.lock").touch()
    (place / "temper-1").mkdir()
    with monkeypatch.context() as patched:
        patched.setattr("os.geteuid", lambda: 12345)
        with scratch_folder():
            assert (place / "temper-1").exists()
    with scratch_folder():
        assert not (place / "temper-1").exists()


def test_who_comes_at_once_removes_nothing_of_the_others(place: Path) -> None:
    def work(_number: int) -> None:
        with scratch_folder() as folder:
            (folder / "file").write_text("mine")
            assert (folder / "file").read_text() == "mine"

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(200)))
    assert list(place.iterdir()) == []
