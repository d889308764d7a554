"""How a boot is watched from another thread."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

_TELL_EVERY = 30.0
"""Seconds. Most boots keep nobody waiting that long, so they say nothing of it."""

LASTING = 20.0
"""Seconds, of a wait that is worth a look at what has come."""


@dataclass(frozen=True)
class Watcher:
    """What a boot tells, and is told, while it lasts."""

    stop: threading.Event = field(default_factory=threading.Event)
    """Set it, and the boot is given up."""
    on_program: Callable[[int], None] = lambda done: None
    """Told how many programs of the job have ended."""
    on_wait: Callable[[str], None] = lambda text: None
    """Told now and then, in words, that the guest keeps us waiting."""


class Wait:
    """A wait for the guest, of at most ``limit`` seconds."""

    def __init__(self, watcher: Watcher, limit: float) -> None:
        self._watcher = watcher
        self._limit = limit
        self.restart()

    def restart(self) -> None:
        """Begin again, since what was awaited has come."""
        self._began = time.monotonic()
        self._told = 0.0
        self._lasting = False

    def begins_to_last(self) -> bool:
        """Say once of each wait that it has lasted for LASTING seconds."""
        lasted = self._lasting
        self._lasting = time.monotonic() - self._began >= LASTING
        return self._lasting and not lasted

    def is_over(self, lacking: str) -> bool:
        """Say whether the limit is reached; tell the watcher what is ``lacking``."""
        seconds = time.monotonic() - self._began
        if seconds - self._told >= _TELL_EVERY:
            self._told = seconds
            self._watcher.on_wait(
                f"{lacking} for {seconds:.0f} s, limit {self._limit:.0f} s"
            )
        return seconds > self._limit


class StoppedError(Exception):
    """The watcher asked for the boot to be stopped."""
