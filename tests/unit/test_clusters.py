"""Workers that Temper starts on this host."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import pytest
from distributed import Client

from temper.errors import InfraError, InputError
from temper.machine.capacity import Capacity
from temper.run.clusters import _SELDOM, QUEUES, _class_of, _queued, connected

LISTENS = "0A"
LOOPBACK = {"0100007F", "00000000000000000000000001000000"}


@pytest.fixture(scope="module")
def local() -> Iterator[Client]:
    with pytest.MonkeyPatch.context() as patch:
        room = Capacity(cpus=2, memory=1300)
        patch.setattr("temper.run.clusters.host_capacity", lambda: room)
        with connected("local", 60, 512) as client:
            yield client


def test_each_boot_that_fits_has_a_worker(local: Client) -> None:
    workers = local.scheduler_info()["workers"].values()
    offered = {each["name"]: each["resources"] for each in workers}
    assert offered == {
        "local-1": {"boot": 1, "memory": 650, "build": 1},
        "local-2": {"boot": 1, "memory": 650},
    }
    assert len({os.getpid(), *local.run(os.getpid).values()}) == 3


@pytest.mark.parametrize("name", _SELDOM)
def test_workers_seldom_look_at_themselves(local: Client, name: str) -> None:
    assert list(local.run(dask.config.get, name).values()) == [_SELDOM[name]] * 2


def test_nobody_reaches_them_from_elsewhere(local: Client) -> None:
    processes = {os.getpid(), *local.run(os.getpid).values()}
    inodes = {inode for process in processes for inode in sockets(process)}
    found = {
        address
        for table in ("tcp", "tcp6")
        for address, inode in listening(table)
        if inode in inodes
    }
    assert found
    assert found <= LOOPBACK


def sockets(process: int) -> Iterator[str]:
    for descriptor in Path(f"/proc/{process}/fd").iterdir():
        name = str(descriptor.readlink()) if descriptor.is_symlink() else ""
        if name.startswith("socket:["):
            yield name.removeprefix("socket:[").removesuffix("]")


def listening(table: str) -> Iterator[tuple[str, str]]:
    """Yield address and inode of each socket of this host that listens."""
    for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
        words = line.split()
        if words[3] == LISTENS:
            yield words[1].partition(":")[0], words[9]


def interrupts() -> bool:
    return signal.getsignal(signal.SIGINT) != signal.SIG_IGN


def test_ctrl_c_is_for_the_client(local: Client) -> None:
    assert set(local.run(interrupts).values()) == {False}
    assert interrupts()


def test_without_dask_jobqueue_the_way_out_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "dask_jobqueue", None)
    with pytest.raises(InfraError) as caught, connected("slurm", 60, 512):
        pass
    assert caught.value.hint == "pip install 'temper[slurm]'"


@pytest.mark.parametrize("queue", QUEUES)
def test_what_a_job_is_must_be_said(queue: str) -> None:
    with pytest.raises(InputError) as caught, connected(queue, 60, 512):
        pass
    assert f"jobqueue.{queue}.cores and .memory" in caught.value.hint


@pytest.mark.parametrize("queue", QUEUES)
def test_jobs_have_keys_and_what_the_user_wants(queue: str, tmp_path: Path) -> None:
    settings = {
        f"jobqueue.{queue}": {
            **dask.config.get(f"jobqueue.{queue}"),
            "cores": 4,
            "memory": "8GB",
            "disk": "1GB",
            "shared-temp-directory": str(tmp_path),
            "worker-extra-args": ["--local-directory", "/scratch"],
        }
    }
    with dask.config.set(settings), Asked() as asked:
        cluster: Any = _queued(queue, 60)
        try:
            script = cluster.job_script()
            assert cluster.scheduler_address.startswith("tls://")
        finally:
            cluster.close()
    assert asked.jobs == 15
    assert "--preload temper.run.worker" in script
    assert "--nthreads 4" in script
    assert f"--tls-key {tmp_path}" in script
    assert "--dashboard-address 127.0.0.1:0" in script
    assert "--local-directory /scratch" in script


class Asked:
    """Takes note of how many jobs are wanted, and queues none."""

    jobs = 0

    def __enter__(self) -> "Asked":
        self._patch = pytest.MonkeyPatch()
        for queue in QUEUES:
            self._patch.setattr(_class_of(queue), "scale", self._scale)
        return self

    def __exit__(self, *_: object) -> None:
        self._patch.undo()

    def _scale(self, n: int = 0, jobs: int = 0) -> None:
        self.jobs = max(self.jobs, jobs)


@pytest.mark.parametrize("queue", QUEUES)
def test_ctrl_c_stays_ours(queue: str) -> None:
    for name in [n for n in sys.modules if n.startswith("dask_jobqueue")]:
        del sys.modules[name]
    _class_of(queue)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
