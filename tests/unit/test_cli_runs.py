"""Stored runs on the command line: which are there, and how one is got rid of."""

from pathlib import Path

import pytest
from samples import price_run
from typer.testing import CliRunner, Result
from unprivileged import run_python

from temper.cli import app
from temper.cli.output import confirmed
from temper.errors import InputError, StoreError
from temper.store import Store

DELETE = "import sys; from temper.cli import main; sys.argv[0] = 'temper'; main()"


@pytest.fixture(autouse=True)
def three_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Store three runs with a boot of each."""
    monkeypatch.setenv("TEMPER_DATA", str(tmp_path))
    monkeypatch.delenv("TEMPER_STORE", raising=False)
    run = price_run()
    with Store.open() as store:
        for _ in range(3):
            store.save_boot(store.create_run(run.plan), run.boots[0])


def temper(*words: str, answer: str | None = None) -> Result:
    return CliRunner().invoke(app, words, input=answer, catch_exceptions=False)


def left() -> list[int]:
    with Store.open() as store:
        return [run.id for run in store.runs()]


def test_runs_are_deleted_by_number_with_their_files(tmp_path: Path) -> None:
    done = temper("delete", "1", "3", "--yes")
    assert done.exit_code == 0
    assert "Deleted." in done.output
    assert left() == [2]
    assert [path.name[0] for path in (tmp_path / "runs").iterdir()] == ["2"]


def test_nothing_is_deleted_without_consent() -> None:
    with pytest.raises(InputError, match="no terminal to confirm it on") as caught:
        temper("delete", "1")
    assert caught.value.hint == "--yes removes it without asking"
    assert left() == [3, 2, 1]


def test_nobody_consents_on_a_closed_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    # As Python has it after "temper delete 1 <&-".
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(InputError, match="no terminal to confirm it on"):
        confirmed("Delete all of this?")


@pytest.mark.parametrize(
    ("answer", "status", "kept"), [("y\n", 0, [3, 1]), ("n\n", 1, [3, 2, 1])]
)
def test_consent_is_asked_for_with_a_list(
    monkeypatch: pytest.MonkeyPatch, answer: str, status: int, kept: list[int]
) -> None:
    monkeypatch.setattr("temper.cli.output._is_terminal", lambda _: True)
    done = temper("delete", "2", answer=answer)
    assert done.exit_code == status
    assert "1 of 4 boots" in done.output
    assert "Delete all of this? [y/N]" in done.output
    assert left() == kept


def test_unknown_numbers_are_told_together_and_nothing_deleted() -> None:
    with pytest.raises(InputError, match="there is no run 9, 11"):
        temper("delete", "1", "9", "11", "--yes")
    assert left() == [3, 2, 1]


def test_a_run_that_is_being_made_stays() -> None:
    with Store.open() as store, store.making(2):
        with pytest.raises(StoreError, match="is making run 2"):
            temper("delete", "1", "2", "--yes")
        assert left() == [3, 2, 1]


def test_files_that_cannot_be_removed_leave_the_run_in_the_list(tmp_path: Path) -> None:
    (folder,) = (tmp_path / "runs").glob("1-*")
    folder.chmod(0o555)
    done = run_python(DELETE, "delete", "1", "--yes")
    folder.chmod(0o755)
    assert done.returncode == 3
    assert f"the raw files in {folder}: " in done.stderr
    assert "Permission denied" in done.stderr
    assert left() == [3, 2, 1]
