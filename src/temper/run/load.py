"""Keeps this host busy while guests run, to see whether their counts notice."""

import os
import random
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from temper.errors import InfraError
from temper.process import need_tool
from temper.record.plan import HostLoad

_THREADS = Path("/proc/self/task")
_GRACE = 10.0


@contextmanager
def host_load(load: HostLoad | None) -> Iterator[None]:
    """Keep the host busy for the length of a ``with`` block; None: leave it alone.

    Raises InfraError if it cannot, or if the stressors end before the block does.
    """
    if load is None:
        yield
        return
    with ExitStack() as stack:
        stressors = stack.enter_context(_stressors(load.stressors))
        stack.enter_context(_stops(load))
        yield
        if stressors.poll() is not None:
            raise InfraError(
                f"stress-ng ended early, with status {stressors.returncode}",
                "is there memory and room on the disk for it?",
            )


@contextmanager
def _stressors(words: tuple[str, ...]) -> Iterator["subprocess.Popen[bytes]"]:
    need_tool("setpriv")
    need_tool("stress-ng")
    with tempfile.TemporaryDirectory(prefix="temper-load-") as folder:
        process = subprocess.Popen(
            # Its children end when it gets SIGTERM.
            [
                *("setpriv", "--pdeathsig", "TERM", "--", "stress-ng", *words),
                *("--timeout", "0", "--temp-path", folder),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextmanager
def _stops(load: HostLoad) -> Iterator[None]:
    if not any(_THREADS.glob("*/children")):
        raise InfraError(
            "this host's kernel does not list the children of a process",
            "use one with CONFIG_PROC_CHILDREN",
        )
    done = threading.Event()
    thread = threading.Thread(target=_stop_and_go, args=(load, done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _stop_and_go(load: HostLoad, done: threading.Event) -> None:
    """Stop one of our QEMUs after another, each for a moment."""
    while not done.wait(random.uniform(0, load.longest_run)):
        if emulators := _emulators():
            with suppress(ProcessLookupError):
                _stop(random.choice(emulators), load, done)


def _stop(pid: int, load: HostLoad, done: threading.Event) -> None:
    # A descriptor, since the number may become another process's meanwhile.
    process = os.pidfd_open(pid)
    try:
        signal.pidfd_send_signal(process, signal.SIGSTOP)
        done.wait(random.uniform(0, load.longest_stop))
        signal.pidfd_send_signal(process, signal.SIGCONT)
    finally:
        os.close(process)


def _emulators() -> list[int]:
    """Return the QEMUs that any of our threads has started."""
    pids = [
        int(word)
        for children in _THREADS.glob("*/children")
        for word in _text(children).split()
    ]
    return [pid for pid in pids if _text(Path(f"/proc/{pid}/comm")).startswith("qemu-")]


def _text(path: Path) -> str:
    """Return what a file says; nothing if its process is gone."""
    try:
        return path.read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return ""
