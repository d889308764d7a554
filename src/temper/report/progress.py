"""Shows the progress of long work on stderr, so that stdout has only results.

A terminal gets live bars; anything else, such as a CI log, gets plain lines now
and then.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bars
from rich.table import Column
from rich.text import Text

from temper.progress import Progress, Task
from temper.report.numbers import duration

_QUIET_SECONDS = 10.0
"""Time between two plain lines of one task."""
_FIRST = 0.01
"""The share of a task that has to be done before the rest is guessed from it."""


def on_stderr() -> Progress:
    """Return live bars if stderr is a terminal, plain lines otherwise."""
    console = Console(stderr=True)
    return RichProgress(console) if console.is_terminal else PlainProgress(console)


class RichProgress:
    """Live bars with percentage, elapsed and remaining time, for terminals."""

    def __init__(self, console: Console) -> None:
        self._bars = Bars(
            TextColumn("{task.description}", table_column=Column(no_wrap=True)),
            BarColumn(bar_width=16),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(compact=True, elapsed_when_finished=False),
            TextColumn(
                "{task.fields[note]}",
                style="dim",
                markup=False,
                table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis"),
            ),
            console=console,
            expand=True,
        )
        self._lock = threading.Lock()
        self._running = 0

    @contextmanager
    def task(self, title: str, total: float | None = None) -> Iterator[Task]:
        """Show a bar until the work ends, then one line that stays."""
        began = time.monotonic()
        self._enter()
        bar = self._bars.add_task(escape(title), total=total, note="")
        try:
            yield _Bar(self._bars, bar)
        except BaseException:
            self._leave(bar, f"failed  {title} ({duration(time.monotonic() - began)})")
            raise
        self._leave(bar, f"done    {title} ({duration(time.monotonic() - began)})")

    def say(self, text: str) -> None:
        """Print a line above the bars."""
        self._bars.console.print(Text(text))

    def _enter(self) -> None:
        with self._lock:
            self._running += 1
            if self._running == 1:
                self._bars.start()

    def _leave(self, bar: TaskID, text: str) -> None:
        with self._lock:
            self._running -= 1
            self._bars.remove_task(bar)
            self._bars.refresh()
            self.say(text)
            if not self._running:
                self._bars.stop()


class _Bar:
    def __init__(self, bars: Bars, bar: TaskID) -> None:
        self._bars = bars
        self._bar = bar

    def update(self, done: float, total: float | None = None, note: str = "") -> None:
        self._bars.update(self._bar, completed=done, total=total, note=note)


class PlainProgress:
    """A line at the start, about every 10 seconds, and at the end."""

    def __init__(
        self, console: Console, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._console = console
        self._clock = clock

    @contextmanager
    def task(self, title: str, total: float | None = None) -> Iterator[Task]:
        """Print a line at the start, some while it runs, and one at the end."""
        began = self._clock()
        self.say(f"{title}: started")
        try:
            yield _Lines(title, total, self.say, self._clock)
        except BaseException:
            self.say(f"{title}: failed after {duration(self._clock() - began)}")
            raise
        self.say(f"{title}: done in {duration(self._clock() - began)}")

    def say(self, text: str) -> None:
        """Print a line without wrapping it, so that logs can be searched."""
        self._console.print(Text(text), soft_wrap=True)


class _Lines:
    def __init__(
        self,
        title: str,
        total: float | None,
        say: Callable[[str], None],
        clock: Callable[[], float],
    ) -> None:
        self._title = title
        self._total = total
        self._say = say
        self._clock = clock
        self._began = self._told = clock()

    def update(self, done: float, total: float | None = None, note: str = "") -> None:
        self._total = total if total is not None else self._total
        now = self._clock()
        if now - self._told < _QUIET_SECONDS:
            return
        self._told = now
        parts = [*self._figures(done, now - self._began), *([note] if note else [])]
        self._say(f"{self._title}: {', '.join(parts)}")

    def _figures(self, done: float, elapsed: float) -> list[str]:
        if not self._total or done < _FIRST * self._total:
            return [f"{duration(elapsed)} so far"]
        left = elapsed * max(self._total - done, 0) / done
        return [f"{100 * done / self._total:.0f} %", f"about {duration(left)} left"]
