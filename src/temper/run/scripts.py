"""Whose fault it is when a feature's own code fails."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from temper.errors import InputError, TemperError
from temper.machine import StoppedError


@contextmanager
def blaming(what: str, folder: Path) -> Iterator[None]:
    """Turn a bug of the code that runs in the ``with`` block into an InputError.

    Errors of ours, of the guest and of the host are passed on.
    """
    try:
        yield
    except (TemperError, StoppedError, OSError):
        raise
    except (Exception, SystemExit) as error:
        # This is the feature's own code, so its author must fix any error in it.
        raise InputError(
            f"{what} cannot go on: {type(error).__name__}: {error}",
            f"fix it in {folder}",
        ) from error
