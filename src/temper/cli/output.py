"""Where commands print and write."""

import errno
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import TextIO

import typer
from rich.console import Console

from temper.errors import InputError
from temper.report.document import Document
from temper.report.terminal import print_documents


def console() -> Console:
    """Return the terminal, or whatever stdout is."""
    return Console(highlight=False)


def check_output(
    context: typer.Context, option: typer.CallbackParam, file: str | None
) -> str | None:
    """Return the file that an option names; raise InputError if it is not writable.

    Called before a command begins, since work must not be lost for want of a place to
    write to. It creates no file and leaves an existing one as it is.
    """
    if file in (None, "-") or context.resilient_parsing:
        return file
    if not file:
        raise InputError(f"{option.opts[0]} needs the name of a file, or -")
    try:
        _check_writable(Path(file))
    except OSError as error:
        raise InputError(f"cannot write {file}: {error.strerror}") from error
    return file


def _check_writable(path: Path) -> None:
    try:
        path.stat()
    except FileNotFoundError:
        # What a link points to must exist only after writing through it.
        tempfile.TemporaryFile(dir=path.resolve().parent).close()
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    # Devices and pipes are not tried: opening one may wait for its reader.
    if path.is_file():
        path.open("ab").close()


def write(file: str, text: str) -> None:
    """Write to a file, or to stdout if its name is ``-``."""
    if file == "-":
        sys.stdout.write(text)
        return
    try:
        Path(file).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {file}: {error.strerror}") from error
    Console(stderr=True, highlight=False).print(f"wrote {Path(file).resolve()}")


def write_data(file: str, data: object) -> None:
    """Write ``data`` as JSON to a file, or to stdout if its name is ``-``."""
    write(file, json.dumps(data, indent=2) + "\n")


def confirmed(question: str) -> bool:
    """Ask for consent; raise InputError if there is nobody to ask."""
    if not _is_terminal(sys.stdin):
        raise InputError(
            "nothing was removed: there is no terminal to confirm it on",
            "--yes removes it without asking",
        )
    return typer.confirm(question)


def _is_terminal(stream: TextIO | None) -> bool:
    # Python has none if the caller closed it.
    return stream is not None and stream.isatty()


def show_documents(*documents: Document, full: bool = False) -> None:
    """Print reports, with all details if ``full``."""
    print_documents(console(), documents, full=full)


def publish(
    json_file: str | None, data: str, document: Document, *, full: bool = False
) -> None:
    """Write a report as JSON if asked to, and print it unless JSON goes to stdout."""
    if json_file:
        write(json_file, data)
    if json_file != "-":
        show_documents(document, full=full)
