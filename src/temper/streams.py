"""The standard streams of our programs, which may be closed, full or read by nobody."""

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TextIO

from temper.errors import InfraError, TemperError, UnreadError
from temper.invocation import as_typed

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_LOST_HINT = f"finished runs are stored: '{as_typed('temper report')}' shows them again"


@contextmanager
def guarded_streams() -> Iterator[None]:
    """Make a failure of stdout an error with a message, and ignore those of stderr.

    A write to stdout that fails raises InfraError, or UnreadError if nobody reads it
    any more.
    """
    before = sys.stdout, sys.stderr
    _fill_closed()
    # Tests put streams of their own there.
    if sys.stdout is sys.__stdout__:
        sys.stdout = _text(_Results(1, "w", closefd=False), sys.stdout)
    if sys.stderr is sys.__stderr__:
        sys.stderr = _text(_Messages(2, "w", closefd=False), sys.stderr)
    try:
        yield
    finally:
        with suppress(TemperError):
            sys.stdout.flush()
        sys.stderr.flush()
        sys.stdout, sys.stderr = before


def _fill_closed() -> None:
    """Open what our caller has closed, or a file of ours gets its number.

    Writing there fails, as it would have.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            # The lowest number that is free is this one.
            os.open(os.devnull, os.O_RDONLY)


def _text(raw: io.FileIO, like: TextIO | None) -> TextIO:
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=like.encoding if like else "utf-8",
        errors=like.errors if like else "backslashreplace",
        line_buffering=bool(like.line_buffering) if like else True,
    )


class _Results(io.FileIO):
    """Stdout: a result that is not written is an error with a message."""

    def write(self, data: "ReadableBuffer", /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise UnreadError("nobody reads stdout any more") from None
        except OSError as error:
            why = "it is closed" if error.errno == errno.EBADF else error.strerror
            raise InfraError(f"cannot write to stdout: {why}", _LOST_HINT) from error


class _Messages(io.FileIO):
    """Stderr: what cannot be written is dropped, since no result is lost by it."""

    def write(self, data: "ReadableBuffer", /) -> int:
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes
