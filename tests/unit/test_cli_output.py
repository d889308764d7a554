"""Where a report is to be written: found out before any work, and left alone."""

import os
from pathlib import Path

import pytest
from fake_lab import FakeLab
from typer.testing import CliRunner

from temper.cli import app
from temper.errors import InfraError, InputError
from temper.machine import BootResult, Watcher

STRESS = ("stress", "kpkeys", "--kernels", "lockdep")


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeLab:
    return FakeLab(tmp_path, monkeypatch)


# Not even root can write these.
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("none/report", "No such file or directory"),
        ("linux", "Is a directory"),
        ("linux/Makefile/report", "Not a directory"),
        ("x" * 300, "File name too long"),
        ("dangling", "No such file or directory"),
        ("circle", "Too many levels of symbolic links"),
    ],
)
def test_a_file_that_cannot_be_written_is_told_before_anything_is_built(
    lab: FakeLab, tmp_path: Path, name: str, why: str
) -> None:
    (tmp_path / "dangling").symlink_to(tmp_path / "none" / "report")
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(InputError) as caught:
        lab.temper(*STRESS, "--json", str(tmp_path / name))
    assert caught.value.message == f"cannot write {tmp_path / name}: {why}"
    assert lab.built == 0


@pytest.mark.parametrize("option", ["--json", "--html", "--md", "--svg"])
def test_every_report_is_written_somewhere(option: str) -> None:
    with pytest.raises(InputError) as caught:
        CliRunner().invoke(app, ["report", option, ""], catch_exceptions=False)
    assert caught.value.message == f"{option} needs the name of a file, or -"


@pytest.mark.parametrize(
    "options", [("--json", "--ktap"), ("--csv", "--md"), ("--html", "--svg")]
)
@pytest.mark.parametrize(("one", "other"), [("-", "-"), ("x", "x"), ("x", "link")])
def test_no_two_reports_go_to_one_place(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, str],
    one: str,
    other: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to("x")
    words = ["report", options[0], one, options[1], other]
    place = "stdout" if one == "-" else tmp_path / "x"
    with pytest.raises(InputError) as caught:
        CliRunner().invoke(app, words, catch_exceptions=False)
    assert caught.value.message == (
        f"{options[0]} and {options[1]} cannot both be {place}"
    )


def test_a_run_that_fails_leaves_no_file_and_no_damage(
    lab: FakeLab, tmp_path: Path
) -> None:
    def fails(_: Watcher) -> BootResult:
        raise InfraError("the disk is full")

    lab.machine.behaviours = {"mem=256M": fails}
    (tmp_path / "old.json").write_text("of the run before")
    for name in ("new.json", "old.json"):
        with pytest.raises(InfraError, match="the disk is full"):
            lab.temper(*STRESS, "--json", str(tmp_path / name))
    assert not (tmp_path / "new.json").exists()
    assert (tmp_path / "old.json").read_text() == "of the run before"


@pytest.mark.timeout(20)
def test_a_pipe_is_not_waited_for(lab: FakeLab, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="there is no run 9"):
        lab.temper(*STRESS, "--resume", "9", "--json", str(tmp_path / "pipe"))
