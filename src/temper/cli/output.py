"""Where commands print and write."""

import json
import sys
from pathlib import Path

from rich.console import Console

from temper.errors import InputError
from temper.report.document import Document
from temper.report.terminal import print_documents


def console() -> Console:
    """Return the terminal, or whatever stdout is."""
    return Console(highlight=False)


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


def show_documents(*documents: Document, full: bool = False) -> None:
    """Print reports, with all details if ``full``."""
    print_documents(console(), documents, full=full)
