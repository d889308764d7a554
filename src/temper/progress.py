"""How long-running work reports its progress.

Rooms report to a ``Progress``; their callers decide what is shown, if anything.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol


class Task(Protocol):
    """One piece of long-running work."""

    def update(self, done: float, total: float | None = None, note: str = "") -> None:
        """Report how much of ``total`` is done (in the same unit), with a note."""


class Progress(Protocol):
    """Receives progress reports."""

    def task(
        self, title: str, total: float | None = None
    ) -> AbstractContextManager[Task]:
        """Announce work; ``total`` is in any unit, None while unknown."""

    def say(self, text: str) -> None:
        """Report something that should stay on the screen."""


class _QuietTask:
    def update(self, done: float, total: float | None = None, note: str = "") -> None:
        pass


class Quiet:
    """Shows nothing."""

    @contextmanager
    def task(self, title: str, total: float | None = None) -> Iterator[Task]:
        """Ignore the progress of the work."""
        yield _QuietTask()

    def say(self, text: str) -> None:
        """Ignore the text."""
