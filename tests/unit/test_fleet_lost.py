"""Workers and schedulers that are killed while they boot; their machine is a fake."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest
from distributed import Client
from fake_fleet import FleetBench
from fleet_worker import FOLDER

from temper.errors import InfraError

PATIENCE = 90.0
"""Seconds until a test fails for want of what it waits for."""


class Others:
    """A scheduler and workers in processes of their own, started as people do."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self._stack = stack
        self.port = 0
        self.scheduler = self.start_scheduler()

    @property
    def place(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    def start_scheduler(self) -> "subprocess.Popen[bytes]":
        file = self.folder / "scheduler.json"
        file.unlink(missing_ok=True)
        words = ("scheduler", "--host", "127.0.0.1", "--port", str(self.port))
        started = self._start(*words, "--no-dashboard", "--scheduler-file", str(file))
        wait_for(file.exists)
        with Client(scheduler_file=str(file), set_as_default=False) as client:
            self.port = int(client.scheduler.address.rpartition(":")[2])
        return started

    def start_worker(self, name: str) -> "subprocess.Popen[bytes]":
        return self._start(
            *("worker", self.place, "--name", name, "--no-nanny", "--nthreads", "1"),
            *("--preload", "temper.run.worker", "--preload", "fleet_worker"),
            *("--host", "127.0.0.1", "--no-dashboard"),
        )

    def _start(self, *words: str) -> "subprocess.Popen[bytes]":
        here = Path(__file__).parent
        process = subprocess.Popen(
            [Path(sys.executable).with_name("dask"), *words],
            cwd=self.folder,
            env={
                **os.environ,
                FOLDER: str(self.folder),
                "PYTHONPATH": f"{here}:{here.parent}",
            },
            stdout=(self.folder / "log").open("ab"),
            stderr=subprocess.STDOUT,
        )
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        return process

    def has_begun(self, worker: int) -> bool:
        """Say whether a process has begun a boot."""
        return any(self.folder.glob(f"boot-{worker}-*"))


def wait_for(ready: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not ready():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.05)


@pytest.fixture
def others(tmp_path: Path) -> Iterator[Others]:
    with ExitStack() as stack:
        yield Others(tmp_path, stack)


@pytest.fixture
def bench(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: Others
) -> FleetBench:
    (tmp_path / "held").touch()
    return FleetBench.of(tmp_path, monkeypatch, others.place)


def test_boots_of_killed_workers_run_again(bench: FleetBench, others: Others) -> None:
    workers = [others.start_worker(f"n{number}") for number in (1, 2, 3)]

    def kill_two() -> None:
        for worker in workers[:2]:
            wait_for(partial(others.has_begun, worker.pid))
            worker.kill()
            worker.wait()
        (bench.folder / "held").unlink()

    thread = threading.Thread(target=kill_two)
    thread.start()
    run = bench.run()
    thread.join()
    assert run.finished
    assert len(run.boots) == 4
    assert len(list(others.folder.glob("boot-*"))) >= 6


def test_a_lost_scheduler_loses_no_boot(bench: FleetBench, others: Others) -> None:
    worker = others.start_worker("n1")

    def kill() -> None:
        wait_for(partial(others.has_begun, worker.pid))
        (bench.folder / "held").unlink()
        wait_for(lambda: bench.store.runs() and bench.kept())
        (bench.folder / "held").touch()
        others.scheduler.kill()

    thread = threading.Thread(target=kill)
    thread.start()
    with pytest.raises(InfraError) as caught:
        bench.run()
    thread.join()
    assert caught.value.message == f"the scheduler at {others.place} was lost"
    assert caught.value.hint.endswith(f"--resume 1 --on {others.place}")
    kept = len(bench.kept())
    assert 1 <= kept < 4
    others.scheduler.wait()
    (bench.folder / "held").unlink()
    others.scheduler = others.start_scheduler()
    others.start_worker("n2")
    assert bench.run(resume=1).finished
    assert len(bench.kept()) == 4
