"""The program: all commands, and what ends them with a message."""

import sys
from collections.abc import Iterable
from typing import Annotated

import typer

from temper import __version__
from temper.cli import (
    audit,
    cache,
    catalogue,
    emulator,
    exposure,
    manual,
    measure,
    merge,
    mutate,
    results,
    runs,
    selftest,
    tree,
    trials,
)
from temper.errors import InputError
from temper.exits import exit_with_message

app = typer.Typer(
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
for commands in (
    *(catalogue, measure, mutate, audit, exposure, trials),
    *(merge, results, runs, emulator, manual),
):
    app.add_typer(commands.app)
app.add_typer(selftest.app, name="selftest")
app.add_typer(cache.app, name="cache")
app.add_typer(tree.app, name="kernel")


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"temper {__version__}")
        raise typer.Exit


@app.callback()
def temper(
    _version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Show the version and exit.",
            is_eager=True,
            callback=_print_version,
        ),
    ] = False,
) -> None:
    """Linux kernel hardening, proven and priced."""


def main() -> None:
    """Run the command line; print a TemperError and exit with its code."""
    with exit_with_message():
        _check_words(sys.argv)
        app()


def _check_words(words: Iterable[str]) -> None:
    """Refuse what no report could show: file names that are not UTF-8."""
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            shown = word.encode(errors="surrogateescape")
            raise InputError(f"{shown!r} is not UTF-8", "rename the file") from None
