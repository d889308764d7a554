"""The engine whose boots run on workers of Dask, on this host or on others."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import uuid4

from distributed import Client, KilledWorker

from temper.errors import InfraError, TemperError
from temper.invocation import as_typed
from temper.machine import Machine
from temper.progress import Progress, Task
from temper.record.boot import StoredBoot
from temper.record.plan import RunPlan, Slot
from temper.record.tools import SeenTools, tools_of
from temper.run import worker
from temper.run.clusters import connected
from temper.run.engine import Told
from temper.run.worker import Order
from temper.signals import signals_held

_Result = TypeVar("_Result")

_POLL = 0.1
_LOOK_EVERY = 1.0
"""Seconds between two looks at which workers there are."""
_GRACE = 30.0
"""Seconds that workers have to end their boots."""
_START = "start it with: dask worker SCHEDULER --preload temper.run.worker"

Workers = Mapping[str, Mapping[str, Any]]
"""Address of a worker -> what its scheduler knows of it."""


@dataclass
class Fleet:
    """Boots on all workers of a scheduler; ``fleet`` makes it."""

    client: Client
    order: Order
    memory: int
    """The MiB of a host that a boot takes."""
    place: str
    progress: Progress
    _told: dict[Slot, Told] = field(default_factory=dict)
    _made: defaultdict[Slot, dict[str, str]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    """Slot -> digest of what became of an exact boot -> the worker that made it."""
    _tools: SeenTools = field(default_factory=SeenTools)
    _running: set[Future[Any]] = field(default_factory=set)
    _room: int = 0
    _looked: float = 0.0
    _built: int = 0
    _building: Task = field(init=False)

    def __post_init__(self) -> None:
        self._order = self.order.packed()
        self.client.subscribe_topic(self.order.campaign, self._heard)

    @property
    def plan(self) -> RunPlan:
        """What is booted."""
        return self.order.plan

    @property
    def option(self) -> str:
        """How the command line names the workers."""
        return f" --on {self.place}"

    def prepare(self) -> None:
        """Wait for workers, look whether all will do, and have them build.

        Raises TemperError if one will not do, or if something does not build.
        """
        with signals_held() as deliver:
            workers = self._wait_for_workers(deliver)
            self._check(workers)
            self._tell_of(workers)
            self._build(deliver)

    def room(self) -> int:
        """Return how many boots the workers take; see Engine.room."""
        self._check_connected()
        if time.monotonic() - self._looked > _LOOK_EVERY:
            self._room = sum(map(self._room_of, self._workers().values()))
            self._looked = time.monotonic()
        return self._room

    def submit(self, slot: Slot, told: Told) -> Future[StoredBoot]:
        """Have a worker boot a slot; see Engine.submit."""
        self._told[slot] = told
        needed = {"boot": 1, "memory": self.memory}
        sent = self._submit(needed, worker.boot, slot.variant, slot.repeat)
        boot: Future[StoredBoot] = Future()

        def arrive(future: Future[tuple[str, bytes]]) -> None:
            try:
                title = f"boot {slot.variant}-{slot.repeat}"
                boot.set_result(self._checked(*self._result(future, title)))
            except BaseException as error:
                boot.set_exception(error)

        sent.add_done_callback(arrive)
        return boot

    def stop(self) -> None:
        """Have workers end their boots; what is done by then comes home."""
        if self.client.status == "running":
            self.client.run(worker.stop, self.order.campaign, on_error="ignore")
            wait(self._running, _GRACE)
        # Each leaves the set as it is cancelled.
        for future in list(self._running):
            future.cancel()

    def _submit(
        self, needed: Mapping[str, int], task: Callable[..., object], *words: object
    ) -> Future[Any]:
        executor = self.client.get_executor(pure=False, resources=dict(needed))
        future: Future[Any] = executor.submit(task, self._order, *words)
        self._running.add(future)
        future.add_done_callback(self._running.discard)
        return future

    def _workers(self) -> Workers:
        self._check_connected()
        workers: Workers = self.client.scheduler_info()["workers"]
        return workers

    def _check_connected(self) -> None:
        if self.client.status != "running":
            raise self._lost()

    def _room_of(self, known: Mapping[str, Any]) -> int:
        """Return how many boots fit on a worker."""
        offered = known["resources"]
        return int(min(offered.get("boot", 0), offered.get("memory", 0) // self.memory))

    def _wait_for_workers(self, deliver: Callable[[], None]) -> Workers:
        if workers := self._workers():
            return workers
        with self.progress.task(f"Waiting for a worker at {self.place}"):
            while not (workers := self._workers()):
                deliver()
                time.sleep(_POLL)
        return workers

    def _check(self, workers: Workers) -> None:
        """Raise InfraError for a worker whose boots would not be those of this host."""
        said = self.client.run(worker.report, self._order, on_error="return")
        # Who came meanwhile is asked before its first boot.
        for address in workers.keys() & said.keys():
            name, tools = workers[address]["name"], said[address]
            if isinstance(tools, BaseException):
                why = tools.message if isinstance(tools, TemperError) else tools
                raise InfraError(f"worker {name} is of no use: {why}")
            worker.check_same(self.order.tools, tools, f"on worker {name}")
            if not self._room_of(workers[address]):
                raise InfraError(
                    f"worker {name} has no room for a boot, which takes a CPU and "
                    f"{self.memory} MiB",
                    _START,
                )

    def _tell_of(self, workers: Workers) -> None:
        names = (
            f"{known['name']} ({self._room_of(known)})" for known in workers.values()
        )
        listed = ", ".join(sorted(names))
        self.progress.say(f"workers, and how many boots each takes at once: {listed}")
        self.progress.say(f"Dask's dashboard: {self.client.dashboard_link}")

    def _build(self, deliver: Callable[[], None]) -> None:
        """Have each kernel built, with what goes along, before anything is booted."""
        kernels = {each.kernel: name for name, each in self.plan.booted.items()}
        title = "Building what the boots need"
        with self.progress.task(title, len(kernels)) as self._building:
            waiting = {
                self._submit({"build": 1}, worker.build, name)
                for name in kernels.values()
            }
            while waiting:
                deliver()
                done, waiting = wait(waiting, _POLL, FIRST_COMPLETED)
                for future in done:
                    self._result(future, "a build")
                self._built += len(done)
                self._building.update(self._built)

    def _checked(self, name: str, data: bytes) -> StoredBoot:
        """Return a boot from a worker; raise InfraError if it cannot be one of ours."""
        boot = worker.unpacked(data)
        where = f"on worker {name}"
        if difference := self._tools.difference(tools_of(boot.facts), where):
            raise InfraError(difference, "workers need the same of all that, or leave")
        if boot.facts.machine.exact:
            digest = worker.outcome_digest(boot)
            self._made[boot.facts.slot].setdefault(digest, name)
            self._check_once(boot.facts.slot)
        return boot

    def _check_once(self, slot: Slot) -> None:
        """Raise InfraError if a boot that was lost with its worker went another way."""
        made = self._made[slot]
        if len(made) > 1:
            raise InfraError(
                f"boot {slot.variant}-{slot.repeat} was made twice, and went another "
                f"way on {' than on '.join(made.values())}",
                "such boots repeat on a sound host: "
                f"{as_typed('temper selftest exact FEATURE')}",
            )

    def _result(self, future: Future[_Result], title: str) -> _Result:
        """Return what a task brought back; raise InfraError if nobody carried it out.

        Whatever the task raised is raised as well.
        """
        try:
            return future.result()
        except KilledWorker as error:
            raise InfraError(
                f"{title} was begun {error.allowed_failures + 1} times, and its worker "
                f"was lost each time; at last {error.last_worker.name}",
                "the logs of the workers say more; do they have the memory?",
            ) from error
        except CancelledError as error:
            raise self._lost() from error

    def _lost(self) -> InfraError:
        return InfraError(
            f"the scheduler at {self.place} was lost",
            "start it and its workers again",
        )

    def _heard(self, event: tuple[float, Mapping[str, Any]]) -> None:
        """Take notice of what a worker tells; called in a thread of Dask's."""
        _when, message = event
        name = message["name"]
        if "say" in message:
            self.progress.say(f"worker {name}: {message['say']}")
        elif "work" in message:
            self._building.update(self._built, note=f"{name}: {message['work']}")
        else:
            slot = Slot(variant=message["variant"], repeat=message["repeat"])
            self._heard_of(slot, name, message)

    def _heard_of(self, slot: Slot, name: str, message: Mapping[str, Any]) -> None:
        if "outcome" in message:
            self._made[slot].setdefault(message["outcome"], name)
        elif "done" in message:
            self._told[slot].show(slot, message["done"], name)
        elif "note" in message:
            self._told[slot].note(slot, message["note"], name)


@contextmanager
def fleet(
    place: str, plan: RunPlan, machine: Machine, progress: Progress
) -> Iterator[Fleet]:
    """Boot a plan on the workers at a place for the length of a ``with`` block.

    ``machine``: what would boot it here, to which the workers' are compared. Raises
    TemperError if there is no scheduler, a worker differs, or something does not build.
    """
    tools = worker.tools_here(plan, machine)
    order = Order(campaign=uuid4().hex, plan=plan, tools=tools)
    memory = machine.boot_memory(plan.work.memory)
    with connected(place, len(plan.slots), memory) as client:
        engine = Fleet(client, order, memory, place, progress)
        engine.prepare()
        yield engine
