"""Ends our programs with a message and a status when they cannot continue."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from temper.errors import TemperError

_INTERRUPTED = 130


@contextmanager
def exit_with_message() -> Iterator[None]:
    """Turn a TemperError into a message and an exit status, Ctrl-C into a status."""
    try:
        yield
    except TemperError as error:
        console = Console(stderr=True, highlight=False, soft_wrap=True)
        console.print(f"temper: {error.message}", style="red", markup=False)
        if error.hint:
            console.print(f"  -> {error.hint}", markup=False)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
