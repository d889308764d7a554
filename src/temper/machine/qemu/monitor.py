"""QEMU's monitor: commands, and what QEMU says has happened."""

import asyncio
import threading
import time
from collections.abc import Awaitable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from qemu.qmp import ExecuteError, Message, QMPClient, QMPError

from temper.errors import InfraError
from temper.machine.watcher import StoppedError

_POLL = 0.05
_GOODBYE = 2.0
"""Seconds to hang up in."""

_T = TypeVar("_T")


class Monitor:
    """The package ``qemu.qmp``, which is asynchronous, for one thread that waits.

    Its own such wrapper, ``qemu.qmp.legacy``, is under another licence than ours.
    """

    def __init__(self, patience: float, stop: threading.Event) -> None:
        """``patience``: seconds that a command may take; ``stop`` gives it up."""
        self._patience = patience
        self._stop = stop
        self._client = QMPClient()
        self._runner = asyncio.Runner()
        self._seen: list[Message] = []

    def connect(self, path: Path) -> bool:
        """Say whether there is somebody at the socket ``path``, ready to talk.

        Raises StoppedError once it is to stop, as all do that wait.
        """
        try:
            self._wait(self._client.connect(str(path)), self._patience)
        except (QMPError, TimeoutError):
            return False
        return True

    def close(self) -> None:
        """Hang up, whether or not somebody is still there."""
        with suppress(QMPError, EOFError, OSError, TimeoutError):
            self._runner.run(asyncio.wait_for(self._client.disconnect(), _GOODBYE))
        self._runner.close()

    def ask(self, command: str, **arguments: object) -> Any:  # noqa: ANN401 (JSON)
        """Give a command and return what comes back.

        Raises InfraError for one that QEMU refuses or leaves without an answer.
        """
        try:
            return self._wait(self._client.execute(command, arguments), self._patience)
        except ExecuteError as error:
            raise InfraError(f"QEMU refuses {command}: {error}") from error
        except (QMPError, TimeoutError) as error:
            raise InfraError(f"QEMU gives no answer to {command}") from error

    def happened(self, name: str, seconds: float) -> bool:
        """Say whether an event came, or comes in time; each counts once."""
        end = time.monotonic() + seconds
        while True:
            for event in self._seen:
                if event["event"] == name:
                    self._seen.remove(event)
                    return True
            left = max(0.0, end - time.monotonic())
            try:
                self._seen.append(self._wait(self._client.events.get(), left))
            except TimeoutError:
                return False

    def _wait(self, answer: Awaitable[_T], seconds: float) -> _T:
        return self._runner.run(self._in_time(answer, seconds))

    async def _in_time(self, answer: Awaitable[_T], seconds: float) -> _T:
        # Now what has come meanwhile is taken note of, though there be no time left.
        await asyncio.sleep(0)
        stopper = asyncio.ensure_future(self._stop_waiting(asyncio.current_task()))
        try:
            return await asyncio.wait_for(answer, seconds)
        except asyncio.CancelledError:
            raise StoppedError from None
        finally:
            stopper.cancel()

    async def _stop_waiting(self, waiter: asyncio.Task[Any] | None) -> None:
        """Cancel the task that waits for QEMU, once it is to stop."""
        while not self._stop.is_set():
            await asyncio.sleep(_POLL)
        if waiter:
            waiter.cancel()
