"""Runs other programs, always with a deadline, and never leaves one behind."""

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from temper.errors import InfraError
from temper.invocation import as_typed

PACKAGES = {
    "aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu",
    "aarch64-linux-gnu-ld": "binutils-aarch64-linux-gnu",
    "apt-config": "apt",
    "apt-get": "apt",
    "as": "binutils",
    "dpkg-deb": "dpkg",
    "ld": "binutils",
    "ninja": "ninja-build",
    "qemu-system-aarch64": "qemu-system-arm",
    "qemu-system-x86_64": "qemu-system-x86",
    "readelf": "binutils",
    "setpriv": "util-linux",
    "xz": "xz-utils",
}
"""Tool -> Debian's package, if the names differ."""

DISK_FULL_HINT = as_typed("temper cache prune")
SCRATCH_FULL_HINT = "free some space, or set TMPDIR to another folder"

_GRACE = 5.0
"""Seconds that a program has to exit after SIGTERM."""


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
        cure = f"apt-get install {PACKAGES.get(tool, tool)}"
        raise InfraError(f"the program '{tool}' is missing", cure)


def call(
    command: Sequence[str | Path],
    cwd: Path,
    timeout: float,
    *,
    env: Mapping[str, str] | None = None,
    stdin: IO[bytes] | None = None,
    on_line: Callable[[str], None] = lambda line: None,
    full_hint: str = DISK_FULL_HINT,
) -> Finished:
    """Run ``command`` in ``cwd`` for at most ``timeout`` seconds.

    ``on_line`` is called with each line as it is printed; ``full_hint`` is the hint
    for a full disk at ``cwd``. When this returns or raises, the program and all its
    children are dead; if we are killed, the program is terminated.

    Raises InfraError if the program is missing, too slow, or finds the disk full.
    """
    process = _started(
        command,
        cwd,
        # The search for a message below expects English.
        env={**(os.environ if env is None else env), "LC_ALL": "C"},
        stdin=stdin or subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    late = threading.Event()
    alarm = threading.Timer(timeout, _expire, (process, late))
    alarm.daemon = True
    alarm.start()
    lines = []
    try:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line.rstrip("\n"))
            on_line(lines[-1])
        status = process.wait()
    finally:
        alarm.cancel()
        _end(process)
    if late.is_set():
        name = Path(command[0]).name
        raise InfraError(f"'{name}' was stopped after more than {timeout:.0f} s")
    if status and any("No space left on device" in line for line in lines):
        raise InfraError(f"the disk of {cwd} is full", full_hint)
    return Finished(status, lines)


@contextmanager
def running(
    command: Sequence[str | Path], cwd: Path
) -> Iterator["subprocess.Popen[str]"]:
    """Run ``command`` in ``cwd``, unheard, for the length of a ``with`` block.

    Afterwards it and all its children are dead; if we are killed, it is terminated.
    Raises InfraError if the program is missing.
    """
    null = subprocess.DEVNULL
    process = _started(command, cwd, stdin=null, stdout=null, stderr=null)
    try:
        yield process
    finally:
        _end(process)


def _started(
    command: Sequence[str | Path],
    cwd: Path,
    *,
    stdin: int | IO[bytes],
    stdout: int,
    stderr: int,
    env: Mapping[str, str] | None = None,
) -> "subprocess.Popen[str]":
    need_tool(str(command[0]))
    need_tool("setpriv")
    return subprocess.Popen(
        ["setpriv", "--pdeathsig", "TERM", "--", *command],
        cwd=cwd,
        env=env,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        text=True,
        errors="replace",
        start_new_session=True,
    )


def _expire(process: "subprocess.Popen[str]", late: threading.Event) -> None:
    late.set()
    _signal_all(process, signal.SIGKILL)


def _end(process: "subprocess.Popen[str]") -> None:
    if process.poll() is None:
        # On SIGTERM, compilers remove their temporary files.
        _signal_all(process, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE)
    _signal_all(process, signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _signal_all(process: "subprocess.Popen[str]", number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
