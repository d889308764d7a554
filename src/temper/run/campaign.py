"""Has the slots of a run booted, and stores each boot as it comes."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from dataclasses import dataclass, field

from temper.errors import StoreError
from temper.progress import Progress, Task
from temper.record.boot import Choice, StoredBoot, StoredRun
from temper.record.plan import RunPlan, Slot
from temper.run.engine import Engine
from temper.signals import signals_held
from temper.store import Store

_POLL = 0.1


@dataclass(frozen=True)
class Campaign:
    """The boots of one run."""

    run: int
    engine: Engine
    store: Store
    progress: Progress
    choice: Choice | None = None
    """None: it needs all boots of its plan."""
    _begun: dict[Future[StoredBoot], Slot] = field(default_factory=dict)
    """Boots that are not stored yet."""

    @property
    def plan(self) -> RunPlan:
        """What is booted."""
        return self.engine.plan

    def boot_all(self, title: str) -> None:
        """Boot every slot that the run needs and the store is without.

        A kernel that fails is a result and is stored; the rest goes on. Raises
        InfraError, KeyboardInterrupt or Signalled, with all finished boots stored.
        """
        for slots in self._due():
            steps = {slot: _steps(self.plan, slot) for slot in slots}
            with self.progress.task(title, sum(steps.values())) as task:
                self._boot(slots, _Gauge(task, steps))
        self.store.finish(self.run)

    def _due(self) -> Iterator[list[Slot]]:
        """Yield which slots to boot, and then which others, until none is needed."""
        missing = self.store.missing(self.run)
        if self.choice is None:
            yield missing
            return
        while missing:
            needed = set(missing)
            # What can be said without a raw file that is damaged is anybody's guess.
            if run := intact(self.store, self.run):
                needed = set(self.choice(run))
            if not (due := [slot for slot in missing if slot in needed]):
                return
            yield due
            missing = self.store.missing(self.run)

    def _boot(self, slots: list[Slot], gauge: "_Gauge") -> None:
        """Keep the engine busy; give all up when anything raises."""
        with signals_held() as deliver:
            try:
                self._boot_each(deque(slots), gauge, deliver)
            except BaseException:
                self.engine.stop()
                self._save_finished()
                raise

    def _boot_each(
        self, waiting: deque[Slot], gauge: "_Gauge", deliver: Callable[[], None]
    ) -> None:
        """Store boots as they come; ``deliver``: called often, raises for a signal."""
        while waiting or self._begun:
            deliver()
            done, _ = wait(self._begun, _POLL, FIRST_COMPLETED)
            # Before anything is stored, so that nobody has to wait for that.
            self._submit(waiting, gauge)
            for future in done:
                self.store.save_boot(self.run, future.result())
                gauge.end(self._begun.pop(future))
            if waiting and not self._begun:
                time.sleep(_POLL)

    def _submit(self, waiting: deque[Slot], gauge: "_Gauge") -> None:
        """Begin as many boots as there is room for, and no more.

        What is not begun is not lost with a worker, and needs no cancellation.
        """
        free = self.engine.room() - sum(not each.done() for each in self._begun)
        for _ in range(min(free, len(waiting))):
            slot = waiting.popleft()
            self._begun[self.engine.submit(slot, gauge)] = slot

    def _save_finished(self) -> None:
        """Lose no boot that was done when another one failed."""
        missing = self.store.missing(self.run)
        for future, slot in self._begun.items():
            if future.cancelled() or future.exception() or slot not in missing:
                continue
            self.store.save_boot(self.run, future.result())


def _steps(plan: RunPlan, slot: Slot) -> int:
    """In how many steps progress tells of a boot; a led one has no programs."""
    return max(1, plan.program_count(slot))


class _Gauge:
    """Adds up how far boots in several threads are."""

    def __init__(self, task: Task, steps: dict[Slot, int]) -> None:
        self._task = task
        self._steps = steps
        self._done = dict.fromkeys(steps, 0)
        self._lock = threading.Lock()

    def show(self, slot: Slot, done: int, where: str = "") -> None:
        with self._lock:
            self._done[slot] = max(self._done[slot], done)
            self._update(_title(slot, where))

    def note(self, slot: Slot, text: str, where: str = "") -> None:
        with self._lock:
            self._update(f"{_title(slot, where)}: {text}")

    def end(self, slot: Slot) -> None:
        self.show(slot, self._steps[slot])

    def _update(self, note: str) -> None:
        self._task.update(sum(self._done.values()), note=note)


def _title(slot: Slot, where: str) -> str:
    on = f" on {where}" if where else ""
    return f"{slot.variant}, boot {slot.repeat + 1}{on}"


def intact(store: Store, run: int) -> StoredRun | None:
    """Return a run with all its boots; None: a raw file is damaged."""
    with suppress(StoreError):
        return store.load(run)
    return None
