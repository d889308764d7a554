# SPDX-License-Identifier: MIT OR Apache-2.0
"""A worker process: it times calls of one path when told to."""

import os
import select
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import IO

from vgetrandom_bench.cells import Cell, cell_text
from vgetrandom_bench.host import InfraError

ANSWER_SECONDS = 300.0
"""The longest that a worker may take: 25,000,000 system calls on a slow machine."""
_END_SECONDS = 2.0
"""Time to exit after its input ends."""


class Unavailable(Exception):
    """The path is not available on this machine; the text says why."""


@contextmanager
def started(
    name: str, command: Sequence[str], env: Mapping[str, str]
) -> Iterator["Worker"]:
    """Run the worker of a path, ready for its first call, and end it.

    Raises Unavailable if the path does not exist on this machine.
    """
    with tempfile.TemporaryFile("w+", errors="replace") as errors:
        process = subprocess.Popen(
            command,
            env={**os.environ, **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            # Ctrl-C must reach only us; workers end when we close their input.
            start_new_session=True,
        )
        try:
            worker = Worker(name, process, errors)
            worker.greet()
            yield worker
        finally:
            _end(process)


def _end(process: "subprocess.Popen[str]") -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(BrokenPipeError):
                stream.close()
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class Worker:
    """A process that times calls of one path."""

    def __init__(
        self, name: str, process: "subprocess.Popen[str]", errors: IO[str]
    ) -> None:
        self._name = name
        self._process = process
        self._errors = errors

    def greet(self) -> None:
        """Wait until the worker is ready.

        Raises Unavailable, with the reason, if it cannot run here.
        """
        try:
            greeting = self._answer("before its first call")
        except InfraError as error:
            raise Unavailable(error.message) from error
        if greeting != "ready":
            raise Unavailable(greeting.removeprefix("cannot "))

    def time(self, cell: Cell, count: int) -> float:
        """Return nanoseconds per call of a thread that makes ``count`` calls.

        All threads of the cell make as many at the same time.

        Raises InfraError if the worker dies or is too slow.
        """
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(f"{cell.size} {cell.threads} {count}\n")
            self._process.stdin.flush()
        answer = self._answer(f"at {cell_text(cell)}")
        if not answer.isdecimal():
            raise InfraError(f"the worker for '{self._name}' answered '{answer}'")
        return int(answer) / count

    def _answer(self, where: str) -> str:
        stdout = self._process.stdout
        assert stdout is not None
        if not select.select([stdout], [], [], ANSWER_SECONDS)[0]:
            raise InfraError(
                f"the worker for '{self._name}' gave no answer {where} "
                f"in {ANSWER_SECONDS:.0f} s"
            )
        line = stdout.readline()
        if not line:
            raise InfraError(
                f"the worker for '{self._name}' {self._how_it_ended()} {where}"
            )
        return line.rstrip("\n")

    def _how_it_ended(self) -> str:
        """Say how the process ended, with its last line on standard error."""
        status = self._process.wait()
        how = (
            f"was killed ({signal.Signals(-status).name})"
            if status < 0
            else f"ended (status {status})"
        )
        self._errors.seek(0)
        complaints = self._errors.read().split("\n")
        last = next((line for line in reversed(complaints) if line.strip()), "")
        return f'{how}, saying "{last}",' if last else how
