"""Workers of Dask in this process, which boot on fake machines."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from distributed import Scheduler, SpecCluster, Worker
from fake_machine import FakeMachine, prepared

from temper.machine import KINDS
from temper.progress import Progress, Quiet
from temper.record.boot import StoredRun
from temper.record.plan import RunPlan, Slot
from temper.run.execute import execute
from temper.run.fleet import Fleet, fleet
from temper.run.prepare import Prepared
from temper.store import Store

ROOM = {"boot": 1, "build": 1, "memory": 10}
NAMES = ("n1", "n2")


class Silent:
    """Is told, and says nothing."""

    def show(self, slot: Slot, done: int, where: str = "") -> None:
        pass

    def note(self, slot: Slot, text: str, where: str = "") -> None:
        pass


@contextmanager
def cluster(
    names: tuple[str, ...] = NAMES,
    room: dict[str, int] | None = None,
    **options: object,
) -> Iterator[SpecCluster]:
    """Start a scheduler, and workers with these names; ``options``: of both."""
    here = {"host": "127.0.0.1", "dashboard": False, **options}
    worker = {**here, "nthreads": 1, "resources": ROOM if room is None else room}
    # The usual port may be somebody's.
    scheduler = {**here, "dashboard": True, "dashboard_address": "127.0.0.1:0"}
    with SpecCluster(
        scheduler={"cls": Scheduler, "options": scheduler},
        workers={name: {"cls": Worker, "options": worker} for name in names},
        security=options.get("security"),
        silence_logs=50,
    ) as started:
        yield started


@dataclass
class FleetBench:
    """A run of two boots each of `off` and `stock`, and those who boot it."""

    folder: Path
    place: str
    prepared: Prepared
    store: Store
    machine: FakeMachine = field(default_factory=FakeMachine)
    """That of all workers."""
    own: FakeMachine = field(default_factory=FakeMachine)
    """That of the client."""

    @classmethod
    def of(
        cls, folder: Path, monkeypatch: pytest.MonkeyPatch, place: str
    ) -> "FleetBench":
        """Have workers in this process boot on the bench's machine."""
        store = Store.open(data=folder / "data")
        bench = cls(folder, place, prepared(folder), store)
        monkeypatch.setitem(KINDS, "fake", lambda *_: bench.machine)
        monkeypatch.setattr("temper.run.worker.prepare", bench.prepare)
        return bench

    def prepare(self, plan: RunPlan, *_: object) -> Prepared:
        return Prepared(plan, self.prepared.setups)

    @contextmanager
    def engine(self, progress: Progress | None = None) -> Iterator[Fleet]:
        plan = self.prepared.plan
        with fleet(self.place, plan, self.own, progress or Quiet()) as engine:
            yield engine

    def run(
        self, progress: Progress | None = None, resume: int | None = None
    ) -> StoredRun:
        with self.engine(progress) as engine:
            return execute(engine, self.store, progress or Quiet(), resume)

    def kept(self, run: int = 1) -> list[tuple[str, int]]:
        boots = self.store.load(run).boots
        return [(boot.facts.variant, boot.facts.repeat) for boot in boots]
