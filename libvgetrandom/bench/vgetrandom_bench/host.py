# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs to run, errors to tell, and progress to show, without Temper's lab."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

_QUIET_SECONDS = 10.0
"""Time between two lines of one task."""


class BenchError(Exception):
    """Something went wrong that the user can understand and fix."""

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class InputError(BenchError):
    """A variable of the environment is unusable."""

    exit_code = 2


class InfraError(BenchError):
    """The host's fault: a missing tool, a worker that died."""

    exit_code = 3


class BuildError(BenchError):
    """The library or a worker did not build."""

    exit_code = 5


class InterruptError(BenchError):
    """The user stopped it."""

    exit_code = 130


@dataclass(frozen=True)
class Finished:
    """A program that has ended."""

    status: int
    """Exit status; negative: the signal that killed it."""
    lines: list[str]
    """Everything it printed to both streams, without line ends."""

    def tail(self, count: int) -> str:
        """Return the last ``count`` lines that are not empty."""
        return "\n".join([line for line in self.lines if line.strip()][-count:])


def need_tool(tool: str) -> None:
    """Raise InfraError if ``tool`` is not on the PATH."""
    if shutil.which(tool) is None:
        raise InfraError(f"the program '{tool}' is missing", "scripts/setup bench")


def call(
    command: Sequence[str | Path],
    cwd: Path,
    timeout: float,
    *,
    env: Mapping[str, str] | None = None,
) -> Finished:
    """Run ``command`` in ``cwd`` for at most ``timeout`` seconds.

    Raises InfraError if the program is missing or too slow.
    """
    name = str(command[0])
    need_tool(name)
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env={**(os.environ if env is None else env), "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        message = f"'{name}' was stopped after more than {timeout:.0f} s"
        raise InfraError(message) from late
    return Finished(done.returncode, done.stdout.splitlines())


class Progress:
    """Tells of long work on ``stream``; None: of nothing."""

    def __init__(
        self, stream: IO[str] | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = stream
        self._clock = clock

    @classmethod
    def on_stderr(cls) -> "Progress":
        """Tell of it on stderr, so that stdout has only results."""
        return cls(sys.stderr)

    @contextmanager
    def task(self, title: str) -> Iterator["Task"]:
        """Print a line at the start, some while it runs, and one at the end."""
        began = self._clock()
        self.say(f"{title}: started")
        yield Task(title, self.say, self._clock)
        self.say(f"{title}: done in {self._clock() - began:.0f} s")

    def say(self, text: str) -> None:
        """Print a line."""
        if self._stream is not None:
            print(text, file=self._stream, flush=True)


class Task:
    """One piece of long work."""

    def __init__(
        self, title: str, say: Callable[[str], None], clock: Callable[[], float]
    ) -> None:
        self._title = title
        self._say = say
        self._clock = clock
        self._told = clock()

    def update(self, done: int, total: int, note: str) -> None:
        """Report how much of ``total`` is done, with a note."""
        now = self._clock()
        if now - self._told >= _QUIET_SECONDS:
            self._told = now
            self._say(f"{self._title}: {100 * done / total:.0f} %, {note}")
