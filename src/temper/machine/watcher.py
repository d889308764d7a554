"""How a boot is watched from another thread."""

import threading
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Watcher:
    """What a boot tells, and is told, while it lasts."""

    stop: threading.Event
    """Set it, and the boot is given up."""
    on_program: Callable[[int], None] = lambda done: None
    """Told how many programs of the job have ended."""


class StoppedError(Exception):
    """The watcher asked for the boot to be stopped."""
