"""Signals that end programs, as exceptions: so that what was begun is tidied up."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, NoReturn

from temper.errors import InterruptError, Signalled

_Handler = Callable[[int, FrameType | None], Any]

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
    with _handled_by(handle, heard):
        yield


@contextmanager
def signals_held() -> Iterator[Callable[[], None]]:
    """Hold back signals that raise an exception, but where what this yields is called.

    Anywhere else it might come between the acquisition of a lock and the block that
    releases it: then threads would wait for each other for ever.
    """
    came: list[int] = []
    delivered = False
    handlers: dict[int, _Handler] = {}

    def hold(number: int, frame: FrameType | None) -> None:
        if delivered:
            handlers[number](number, frame)
        else:
            came.append(number)

    def deliver() -> None:
        nonlocal delivered
        if came:
            delivered = True
            handlers[came[0]](came[0], None)

    for number in _ENDING:
        handler = signal.getsignal(number)
        if callable(handler):
            handlers[number] = handler
    with _handled_by(hold, handlers):
        yield deliver


@contextmanager
def _handled_by(handle: _Handler, numbers: Iterable[int]) -> Iterator[None]:
    before = {number: signal.signal(number, handle) for number in numbers}
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
