"""The usual engine: boots on this host, each watched by a thread."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

from temper.machine import Machine, Watcher
from temper.record.boot import StoredBoot
from temper.record.plan import RunPlan, Slot
from temper.run.booting import Booter
from temper.run.engine import Told
from temper.run.load import host_load
from temper.run.prepare import Prepared


@dataclass(frozen=True)
class Threads:
    """As many boots at once as the machine takes; ``threads`` makes it."""

    _booter: Booter
    _pool: ThreadPoolExecutor
    _room: int
    _stop: threading.Event = field(default_factory=threading.Event)
    option: str = ""

    @property
    def plan(self) -> RunPlan:
        """What is booted."""
        return self._booter.plan

    def room(self) -> int:
        """Return how many boots the host had room for at first."""
        return self._room

    def submit(self, slot: Slot, told: Told) -> Future[StoredBoot]:
        """Boot a slot in a thread; see Engine.submit."""
        watcher = Watcher(
            self._stop,
            on_program=lambda done: told.show(slot, done),
            on_wait=lambda text: told.note(slot, text),
        )
        return self._pool.submit(self._booter.boot, slot, watcher)

    def stop(self) -> None:
        """Give all boots up, and wait for their ends."""
        self._stop.set()
        self._pool.shutdown(cancel_futures=True)


@contextmanager
def threads(prepared: Prepared, machine: Machine) -> Iterator[Threads]:
    """Boot on this host for the length of a ``with`` block.

    Raises InfraError if the machine cannot, or nothing can disturb it as planned.
    """
    machine.prepare()
    work = prepared.plan.work
    room = machine.boots_at_once(work.cpus, work.memory)
    with host_load(prepared.plan.load), ThreadPoolExecutor(room) as pool:
        yield Threads(Booter(prepared, machine), pool, room)
