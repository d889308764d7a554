"""A running QEMU: it dies with us, and its end is told from the guest's."""

import re
import shutil
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from temper.errors import InfraError
from temper.process import SCRATCH_FULL_HINT, need_tool

_LEAST_ROOM = 1 << 20
"""Bytes on the disk that a boot works on."""


class Process:
    """QEMU from its start to the end of the ``with`` block, at the latest."""

    def __init__(self, command: Sequence[str], work: Path) -> None:
        self._command = command
        self._work = work

    def __enter__(self) -> Self:
        need_tool("setpriv")
        need_tool(self._command[0])
        with (self._work / "qemu").open("wb") as messages:
            self._process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", *self._command],
                stdin=subprocess.DEVNULL,
                stdout=messages,
                stderr=messages,
                # Ctrl-C is ours to handle.
                start_new_session=True,
            )
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _value: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.wait()

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self._process.poll() is None

    def wait(self, seconds: float) -> bool:
        """Wait for its end; say whether it came."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        return not self.running

    def check_room(self) -> None:
        """Raise InfraError before QEMU drops words, silently, on a full disk."""
        if shutil.disk_usage(self._work).free < _LEAST_ROOM:
            raise InfraError(
                f"the disk of {self._work.parent} is full", SCRATCH_FULL_HINT
            )

    def check_end(self) -> None:
        """Raise InfraError unless it ended because the guest did."""
        self.check_room()
        status = self._process.returncode
        said = text_of(self._work / "qemu").strip().splitlines() or ["nothing"]
        if status < 0:
            name = signal.Signals(-status).name
            raise InfraError(f"QEMU was killed by {name}", _KILLED_HINTS.get(name, ""))
        # It takes a polite signal for a wish and ends with status 0.
        if found := re.search(r"terminating on signal .*", said[-1]):
            raise InfraError(f"QEMU was told to end: {found[0]}")
        if status:
            raise InfraError(
                f"QEMU failed with status {status}: {said[-1]}", _hint(said[-1])
            )


_KILLED_HINTS = {
    "SIGKILL": "was it the kernel's out-of-memory killer? dmesg tells",
    "SIGXFSZ": "it may not write files as large as it has to: see ulimit -f",
}


def _hint(message: str) -> str:
    if "PVH" in message:
        return "this vmlinux has no PVH entry (CONFIG_PVH): give its bzImage"
    return ""


def last_line(console: str) -> str:
    """Quote the last line with words of a console, or say that there is none."""
    lines = [line.strip() for line in console.splitlines() if line.strip()]
    return repr(lines[-1]) if lines else "nothing at all"


def text_of(path: Path) -> str:
    """Return what QEMU wrote to a file so far, bytes that are no text replaced."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""
