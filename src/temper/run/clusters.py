"""Where workers of Dask are: clusters that are there, or that we start."""

import logging
import math
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import dask
from distributed import Client, Nanny, Scheduler, SpecCluster

from temper.errors import InfraError, InputError
from temper.machine.capacity import Capacity, host_capacity
from temper.paths import data_home

QUEUES = {
    "slurm": "SLURMCluster",
    "pbs": "PBSCluster",
    "htcondor": "HTCondorCluster",
}
"""Queueing system -> the class of dask-jobqueue that gives it jobs."""

_SELDOM = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
}
"""How often Dask looks at itself. By default that takes a tenth of a CPU, and profiles
of tasks say nothing here: other programs do the work of a boot."""
_LOOPBACK = "127.0.0.1"
_PATIENCE = 30.0
"""Seconds in which a scheduler answers."""


@contextmanager
def connected(place: str, boots: int, memory: int) -> Iterator[Client]:
    """Lend a client of the workers at a place, such as ``local`` or ``tcp://lab:8786``.

    ``boots``: how many there are to make; ``memory``: the MiB of a host that one takes.
    Raises TemperError if there is no scheduler, or none can be started.
    """
    if place == "local":
        # Workers of this host get these settings as they start.
        with dask.config.set(_SELDOM), _lent(_local(host_capacity(), memory)) as client:
            yield client
    elif place in QUEUES:
        with _lent(_queued(place, boots)) as client:
            yield client
    else:
        with _client(place) as client:
            yield client


@contextmanager
def _lent(cluster: SpecCluster) -> Iterator[Client]:
    with cluster, Client(cluster, set_as_default=False) as client:
        yield client


def _client(address: str) -> Client:
    try:
        return Client(address, timeout=_PATIENCE, set_as_default=False)
    # Without keys, or where they are demanded, Dask raises the last two.
    except (OSError, TimeoutError, TypeError, RuntimeError) as error:
        raise InfraError(
            f"no scheduler answers at {address}: {error}",
            "'dask scheduler' starts one; docs/fleets.md says more",
        ) from error


def _local(room: Capacity, memory: int) -> SpecCluster:
    """Start a worker for each boot that fits, which nobody reaches from elsewhere."""
    count = room.boots(1, memory)
    offered = {"boot": 1, "memory": max(memory, room.memory // count)}

    def worker(resources: Mapping[str, int]) -> dict[str, object]:
        options = {
            "nthreads": 1,
            "host": _LOOPBACK,
            "memory_limit": 0,
            "resources": resources,
            "preload": ["temper.run.undisturbed"],
            "silence_logs": logging.CRITICAL,
        }
        return {"cls": Nanny, "options": options}

    return SpecCluster(
        scheduler={
            "cls": Scheduler,
            "options": {"host": _LOOPBACK, "dashboard_address": f"{_LOOPBACK}:0"},
        },
        # All have the same cores, which one build takes.
        workers={
            f"local-{number}": worker(offered | ({"build": 1} if number == 1 else {}))
            for number in range(1, count + 1)
        },
        silence_logs=logging.CRITICAL,
    )


def _queued(queue: str, boots: int) -> SpecCluster:
    """Queue jobs with a worker each, as many as the boots can keep busy.

    What a job is, Dask's configuration says. Only who has the keys can talk to them.
    """
    cluster_class = _class_of(queue)
    settings = dask.config.get(f"jobqueue.{queue}")
    if not (settings["cores"] and settings["memory"]):
        raise InputError(
            f"Dask's configuration does not say what a job of {queue} is",
            f"set jobqueue.{queue}.cores and .memory, such as in "
            "~/.config/dask/jobqueue.yaml",
        )
    keys = data_home()
    keys.mkdir(parents=True, exist_ok=True)
    # Whoever sees pages of Dask's needs no key.
    pages = {"dashboard_address": f"{_LOOPBACK}:0"}
    cluster = cluster_class(
        processes=1,
        scheduler_options={**pages, **settings["scheduler-options"]},
        security=True,
        shared_temp_directory=settings["shared-temp-directory"] or str(keys),
        worker_extra_args=[
            *("--preload", "temper.run.worker"),
            *("--dashboard-address", pages["dashboard_address"]),
            *settings["worker-extra-args"],
        ],
        silence_logs=logging.CRITICAL,
    )
    cluster.scale(jobs=math.ceil(boots / settings["cores"]))
    started: SpecCluster = cluster
    return started


def _class_of(queue: str) -> Callable[..., Any]:
    """Return what gives a queueing system its jobs; raise InfraError without it."""
    ours = signal.getsignal(signal.SIGINT)
    try:
        import dask_jobqueue  # noqa: PLC0415 (an extra)
    except ImportError as error:
        raise InfraError(
            f"--on {queue} needs dask-jobqueue, which is not installed: {error}",
            "pip install 'temper[slurm]'",
        ) from error
    finally:
        # It takes Ctrl-C for itself as it is imported, and would end us at once.
        signal.signal(signal.SIGINT, ours)
    found: Callable[..., Any] = getattr(dask_jobqueue, QUEUES[queue])
    return found
