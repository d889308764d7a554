"""The command line of audits: what is wrong shows before anything is booted."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from temper.cli import app
from temper.cli.completion import complete_options
from temper.errors import InputError


def refused(*words: str, text: str = "") -> InputError:
    """Return the error of an audit that must not begin."""
    done = CliRunner().invoke(app, ["audit", "nosuch", *words], input=text)
    assert isinstance(done.exception, InputError), done.output
    return done.exception


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[]x", "Invalid JSON"),
        ('{"a": 1}', "valid array"),
        ('[{"name": "CONFIG_X"}]', "Field required"),
    ],
)
def test_lines_that_are_none_are_refused(text: str, why: str) -> None:
    error = refused("--join", "-", text=text)
    assert error.message.startswith("stdin has no lines of kernel-hardening-checker")
    assert why in error.message


def test_lines_in_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    assert "cannot read" in refused("--join", str(tmp_path / "none")).message
    path = tmp_path / "lines"
    path.write_bytes(b"\xff")
    assert "it is not UTF-8" in refused("--join", str(path)).message


def test_a_kernel_that_is_not_there_is_named() -> None:
    assert refused().message == "cannot read nosuch: No such file or directory"
    assert "unknown option 'smeep'" in refused("--options", "smeep").message


def test_options_are_completed() -> None:
    assert complete_options("sm") == ["smap", "smep"]
    assert complete_options("smap,sm") == ["smap,smep"]
    assert complete_options("nosuch") == []
