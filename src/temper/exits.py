"""Ends our programs with a message and a status when they cannot continue."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from rich.console import Console

from temper.errors import InfraError, Signalled, TemperError, UnreadError
from temper.signals import interruption, signals_raised
from temper.streams import guarded_streams


@contextmanager
def exit_with_message() -> Iterator[None]:
    """Turn errors and signals that end programs into a message and an exit status."""
    with guarded_streams():
        try:
            with signals_raised(), _everything_written():
                yield
        except UnreadError as error:
            sys.exit(error.exit_code)
        except TemperError as error:
            _exit(error)
        except OSError as error:
            _exit(_refused(error))
        except (KeyboardInterrupt, Signalled) as stop:
            _exit(interruption(stop))


@contextmanager
def _everything_written() -> Iterator[None]:
    """Let a result that cannot be written fail here, not when Python ends."""
    try:
        yield
    except SystemExit:
        sys.stdout.flush()
        raise
    sys.stdout.flush()


def _refused(error: OSError) -> InfraError:
    """Return the error of a file that nobody expected to be unusable."""
    what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
    return InfraError(f"the host refuses: {what}")


def _exit(error: TemperError) -> NoReturn:
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    console.print(f"temper: {error.message}", style="red", markup=False)
    if error.hint:
        console.print(f"  -> {error.hint}", markup=False)
    sys.exit(error.exit_code)
