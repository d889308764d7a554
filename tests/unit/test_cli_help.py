"""What every command answers before it does anything: its help, the version."""

import tomllib
from collections.abc import Iterator

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from temper.cli import app
from temper.paths import REPOSITORY


def commands(command: object, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the words of a command and of all below it."""
    yield words
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, (*words, name))


ALL = list(commands(get_command(app)))


def test_groups_and_commands_are_found() -> None:
    assert {(), ("price",), ("cache",), ("cache", "prune")} <= set(ALL)


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_help_has_a_short_name_everywhere(words: tuple[str, ...]) -> None:
    short, long = (CliRunner().invoke(app, [*words, name]) for name in ("-h", "--help"))
    assert short.exit_code == 0
    assert "Show this message and exit." in short.output
    assert short.output == long.output


def test_the_version_is_that_of_the_package() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    done = CliRunner().invoke(app, ["--version"])
    assert (done.exit_code, done.output) == (0, f"temper {project['version']}\n")
