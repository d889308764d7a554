"""The manual page: made from all commands, and fit for man."""

import re
import subprocess
from collections.abc import Iterator

import pytest
import typer
from typer.core import TyperGroup
from typer.main import get_command
from typer.testing import CliRunner

from temper.cli import app
from temper.cli.manual import manual_page


@pytest.fixture(scope="module")
def page() -> str:
    answer = CliRunner().invoke(app, ["man"])
    assert answer.exit_code == 0, answer.output
    return answer.stdout


def mandoc(page: str, *options: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["mandoc", *options],
        input=page,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def read(page: str) -> str:
    """Return a page as it is read, in one line."""
    shown = mandoc(page, "-T", "utf8", "-O", "width=78").stdout
    return " ".join(re.sub(r".\x08", "", shown).split())


def commands(context: typer.Context) -> Iterator[typer.Context]:
    command = context.command
    if isinstance(command, TyperGroup):
        for name, each in command.commands.items():
            yield from commands(typer.Context(each, info_name=name, parent=context))
    else:
        yield context


def test_man_has_nothing_to_complain_about(page: str) -> None:
    # No date, since the page is that of the version.
    lint = mandoc(page, "-T", "lint", "-W", "style")
    complaints = [line for line in lint.stdout.splitlines() if "date" not in line]
    assert complaints == []


def test_it_has_every_command_with_its_options(page: str) -> None:
    text = read(page)
    assert "--version Show the version and exit." in text
    assert " diff [OPTIONS] {RUN} {RUN} Say what changed" in text
    sections = re.split(r"(?<=\n)\.SS ", page)
    found = list(commands(typer.Context(get_command(app), info_name="temper")))
    assert len(found) == len(sections) - 1
    for context in found:
        _, _, name = context.command_path.partition(" ")
        (section,) = (each for each in sections if re.match(rf"{name}( |\n)", each))
        summary = (context.command.help or "").split("\n\n")[0]
        assert " ".join(re.sub(r"\[.*?\]", "", summary).split()) in text
        for each in context.command.params:
            record = each.get_help_record(context)
            assert record
            assert f".B {record[0]}".replace("-", "\\-") in section


def test_no_markup_of_the_terminal_is_left(page: str) -> None:
    assert "[bold]" not in page
    assert "[/" not in page
    assert "\\fBtemper features\\fR" in page


def test_what_looks_like_a_request_is_text() -> None:
    odd = typer.Typer()

    @odd.command()
    def first() -> None:
        """Say.

        .SH is a \\fBrequest\\fR, and 'so is this.
        """

    wrapped = f"{'x' * 70} .TH begins a line.\n\n'so does this."
    wrapped += f"\n\n{'y' * 64} linux-source"

    @odd.command(help=wrapped)
    def second() -> None: ...

    page = manual_page(typer.Context(get_command(odd), info_name="odd"))
    assert ".SH is a \\fBrequest\\fR, and 'so is this." in read(page)
    assert f"{'x' * 70} .TH begins a line. 'so does this." in read(page)
    # A line of roff that ends in a hyphen would be followed by a space.
    assert "y linux-source" in read(page)
    assert page.count(".PP\n") == 3


def test_bold_words_may_be_in_two_lines() -> None:
    odd = typer.Typer()

    @odd.command(help=f"Do [bold]temper {'x' * 60}[/].")
    def only() -> None: ...

    page = manual_page(typer.Context(get_command(odd), info_name="odd"))
    assert f"\\fBtemper\n{'x' * 60}\\fR." in page
