"""What removes files asks first."""

import os
import pty
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from temper.cli import app
from temper.errors import InputError
from temper.kernel import Cache
from temper.kernel.cache import EntryFacts
from temper.progress import Quiet

_A_DAY = 86_400


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cache:
    """Fill a cache with something old and something new."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("TEMPER_SHARED_CACHE", raising=False)
    filled = Cache()
    assert filled.root.parent == tmp_path

    def make(result: Path, _work: Path) -> EntryFacts:
        (result / "file").write_bytes(bytes(2_000))
        return {}

    for key in ("old", "new"):
        filled.entry("programs", key, f"the {key} program", make, Quiet())
    then = time.time() - 40 * _A_DAY
    os.utime(filled.root / "programs" / "old" / "manifest.json", (then, then))
    return filled


def test_the_list_says_what_is_shared(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def listed() -> str:
        done = CliRunner().invoke(app, ["cache", "list"])
        assert done.exit_code == 0
        assert "the old program" in done.output
        return done.output

    assert "shared" not in listed()
    store = tmp_path / "[bold]store"
    monkeypatch.setenv("TEMPER_SHARED_CACHE", str(store))
    assert listed().endswith(f"In the shared cache {store}: 0 entries, 0 bytes\n")
    cache.entry("kernels", "k", "Linux", lambda *_: {}, Quiet())
    assert f"In the shared cache {store}: 1 entry, " in listed()


def prune(*words: str) -> Result:
    return CliRunner().invoke(app, ["cache", "prune", *words])


def keys(cache: Cache) -> set[str]:
    return {item.key for item in cache.items()}


def test_without_a_terminal_nothing_is_removed(cache: Cache) -> None:
    done = prune()
    assert isinstance(done.exception, InputError)
    assert done.exception.exit_code == 2
    assert done.exception.hint == "--yes removes it without asking"
    # All the same it says what it would have removed.
    assert "the old program" in done.output
    assert "in total" in done.output
    assert keys(cache) == {"old", "new"}


def test_yes_removes_without_asking(cache: Cache) -> None:
    done = prune("--yes")
    assert done.exit_code == 0
    assert "the new program" in done.output
    assert "Removed 2 of 2: 4." in done.output
    assert keys(cache) == set()


def test_days_keep_what_is_newer(cache: Cache) -> None:
    done = prune("--yes", "--days", "30")
    assert "the old program" in done.output
    assert "the new program" not in done.output
    assert keys(cache) == {"new"}
    assert "Nothing to remove." in prune("--days", "30").output
    assert prune("--days", "-1").exit_code == 2


def test_what_is_in_use_stays_and_is_not_counted(cache: Cache) -> None:
    with cache._locked("programs", "new", lambda: None):
        assert "Removed 1 of 2" in prune("--yes").output
    assert keys(cache) == {"new"}


@pytest.mark.parametrize(
    ("answer", "status", "said", "left"),
    [
        ("y", 0, "Removed 2 of 2", set()),
        ("n", 1, "Nothing was removed.", {"old", "new"}),
        ("", 1, "Nothing was removed.", {"old", "new"}),
    ],
)
def test_on_a_terminal_it_asks(
    cache: Cache, answer: str, status: int, said: str, left: set[str]
) -> None:
    # As if the process that made the entries had ended.
    shutil.rmtree(cache.root / "users")
    ours, theirs = pty.openpty()
    os.write(ours, f"{answer}\n".encode())
    program = "from temper.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "cache", "prune"],
        stdin=theirs,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    os.close(ours)
    os.close(theirs)
    assert (done.returncode, said in done.stdout) == (status, True), done
    assert "Remove all of this? [y/N]" in done.stdout
    assert keys(cache) == left
