"""How long work tells people how far it is.

Rooms report to a ``Progress``; what is shown, and whether at all, is decided by
whoever called them.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol


class Task(Protocol):
    """One piece of long work."""

    def update(self, done: float, total: float | None = None, note: str = "") -> None:
        """Say how much is done of ``total`` (same unit), and what goes on."""


class Progress(Protocol):
    """Somebody who watches."""

    def task(
        self, title: str, total: float | None = None
    ) -> AbstractContextManager[Task]:
        """Announce work; ``total`` in any unit, None while not known."""

    def say(self, text: str) -> None:
        """Tell something worth keeping on the screen."""


class _QuietTask:
    def update(self, done: float, total: float | None = None, note: str = "") -> None:
        pass


class Quiet:
    """Nobody watches."""

    @contextmanager
    def task(self, title: str, total: float | None = None) -> Iterator[Task]:
        """Do the work without a word."""
        yield _QuietTask()

    def say(self, text: str) -> None:
        """Say nothing."""
