"""Signals that end programs, as exceptions: so that what was begun is tidied up."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

from temper.errors import InterruptError, Signalled

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_ECHO = 0.5
"""Seconds in which a second signal is taken for the first one.

timeout(1) sends its own to the process and to its group; so do terminals that close.
"""

_SHOW_CURSOR = b"\x1b[?25h"


@contextmanager
def signals_raised() -> Iterator[None]:
    """Raise Signalled at the first signal that ends programs; the second one does.

    Those that our caller has ignored, as nohup does, stay ignored.
    """
    began: float | None = None

    def handle(number: int, _frame: FrameType | None) -> None:
        nonlocal began
        now = time.monotonic()
        if began is None:
            began = now
            raise Signalled(number)
        if now - began > _ECHO:
            _end_at_once(number)

    heard = [each for each in _ENDING if signal.getsignal(each) != signal.SIG_IGN]
    before = {number: signal.signal(number, handle) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def interruption(stop: KeyboardInterrupt | Signalled, hint: str = "") -> InterruptError:
    """Return what the user is told of a signal that ended the program."""
    number = stop.number if isinstance(stop, Signalled) else signal.SIGINT
    if number == signal.SIGINT:
        return InterruptError("interrupted", hint)
    name = signal.Signals(number).name
    return InterruptError(f"ended by {name}", hint, 128 + number)


def _end_at_once(number: int) -> NoReturn:
    """End without tidying up; the next start does that."""
    if sys.stderr.isatty():
        with suppress(OSError):
            os.write(2, _SHOW_CURSOR)
    os._exit(128 + number)
