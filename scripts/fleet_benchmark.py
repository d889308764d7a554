#!/usr/bin/env python3
"""Measures what workers of Dask are worth, and what they cost.

.venv/bin/python scripts/fleet_benchmark.py boots [COUNT]
    Makes 60 short boots, or COUNT, on one CPU without Dask, on one with a worker, and
    on two with two workers, in five rounds of all three. COUNT is a multiple of 10, 20
    at least. It takes two idle CPUs for its ratios to mean something.

.venv/bin/python scripts/fleet_benchmark.py tasks [COUNT]
    Has 10,000, or COUNT, boots made that take no time, and stores none. So it measures
    what scheduler, workers and client take for a boot: all are in this process here, so
    a scheduler on a host of its own takes less.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "unit")]

from fake_fleet import FleetBench, Silent, cluster  # noqa: E402

from temper.machine import Watcher  # noqa: E402
from temper.record.boot import StoredBoot  # noqa: E402
from temper.record.plan import RunPlan, Slot  # noqa: E402
from temper.run import worker  # noqa: E402
from temper.run.fleet import Fleet  # noqa: E402

VARIANTS = 2
EXACT = 2
"""Boots of each variant in the usual layout."""
ROUNDS = 5
"""A busy host changes its speed within minutes, so what is compared is measured side by
side."""
WAYS = {
    "threads": ("0",),
    "1 worker": ("0", "--on", "local"),
    "2 workers": ("0,1", "--on", "local"),
}


def boots(count: int) -> None:
    """Boot the same on one CPU with and without Dask, and on two."""
    each = count // ROUNDS
    if count % (ROUNDS * VARIANTS) or each < VARIANTS * EXACT:
        sys.exit(__doc__)
    rounds = [
        {way: _price(each, *words) for way, words in WAYS.items()}
        for _ in range(ROUNDS)
    ]
    for way in WAYS:
        taken = [made[way] for made in rounds]
        seconds, before, cpu = (
            statistics.median(one[what] for one in taken) for what in taken[0]
        )
        print(
            f"{way}: {seconds:.1f} s for {each} boots, {before:.1f} s before and after "
            f"them; {cpu:.1f} s of CPU in all"
        )
    faster = _ratios(rounds, "1 worker", "2 workers")
    print(f"2 workers are {faster} times as fast as 1")
    longer = _ratios(rounds, "1 worker", "threads")
    print(f"1 worker takes {longer} times as long as threads")
    more = _ratios(rounds, "1 worker", "threads", "cpu")
    print(f"and {more} times the CPU time, with what is before and after the boots")


def _ratios(
    rounds: Sequence[Mapping[str, Mapping[str, float]]],
    one: str,
    other: str,
    what: str = "seconds",
) -> str:
    """Return the median ratio of two ways' figures, with the least and the most."""
    found = [made[one][what] / made[other][what] for made in rounds]
    return f"{statistics.median(found):.3f} ({min(found):.3f} to {max(found):.3f})"


def _price(count: int, cpus: str, *option: str) -> dict[str, float]:
    """Price kstack on some CPUs; return how long that took."""
    layouts = count // VARIANTS - EXACT + 1
    with tempfile.TemporaryDirectory() as data:
        before, began = _children(), time.monotonic()
        command = (
            *("taskset", "-c", cpus, str(ROOT / "temper"), "price", "kstack"),
            *("--baseline", "temper-off", "--variants", "temper"),
            *("--workload", "syscall/getppid", "--calls", "1000"),
            *("--layouts", str(layouts), *option),
        )
        environment = {**os.environ, "TEMPER_DATA": data}
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
        wall, cpu = time.monotonic() - began, _children() - before
        seconds = _of_boots(environment)
    return {"seconds": seconds, "before": wall - seconds, "cpu": cpu}


def _of_boots(environment: dict[str, str]) -> float:
    """Return the seconds from the beginning of the only run to its end."""
    command = (ROOT / "temper", "runs", "--json", "-")
    answer = subprocess.run(command, env=environment, check=True, capture_output=True)
    (run,) = json.loads(answer.stdout)
    began, ended = (datetime.fromisoformat(run[key]) for key in ("started", "finished"))
    return (ended - began).total_seconds()


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def tasks(count: int) -> None:
    """Have boots made that take no time, by workers in this process."""
    with (
        tempfile.TemporaryDirectory() as folder,
        cluster() as started,
        pytest.MonkeyPatch.context() as patched,
    ):
        bench = FleetBench.of(Path(folder), patched, started.scheduler_address)
        instant = Instant(bench.run().boots[0], bench.prepared.plan, count)
        bench.prepared = replace(bench.prepared, plan=instant.plan)
        with bench.engine() as engine:
            patched.setattr(worker, "_booter", lambda *_: instant)
            began, used = time.monotonic(), time.process_time()
            make(engine)
            wall, cpu = time.monotonic() - began, time.process_time() - used
    print(
        f"{count} boots that take no time: {wall:.0f} s, {cpu:.0f} s of CPU: "
        f"{1000 * cpu / count:.1f} ms of CPU a boot"
    )
    print(f"boots of 10 s: {10 * count / cpu:.0f} at once are the most")


class Instant:
    """Boots a plan of many boots without booting anything."""

    def __init__(self, made: StoredBoot, plan: RunPlan, count: int) -> None:
        self._made = made
        variant = made.facts.variant
        slots = (Slot(variant=variant, repeat=number) for number in range(count))
        self.plan = plan.model_copy(update={"slots": tuple(slots)})

    def boot(self, slot: Slot, _watcher: Watcher) -> StoredBoot:
        """Return the same boot for each slot."""
        facts = self._made.facts.model_copy(update={"repeat": slot.repeat})
        return self._made.model_copy(update={"facts": facts})


def make(engine: Fleet) -> None:
    """Do as a campaign does, but store nothing."""
    waiting = deque(engine.plan.slots)
    running: set[Future[StoredBoot]] = set()
    while waiting or running:
        while waiting and len(running) < engine.room():
            running.add(engine.submit(waiting.popleft(), Silent()))
        done, running = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            future.result()


if __name__ == "__main__":
    what, *counts = sys.argv[1:] or ["help"]
    if what == "boots":
        boots(int(*counts or ["60"]))
    elif what == "tasks":
        tasks(int(*counts or ["10000"]))
    else:
        sys.exit(__doc__)
