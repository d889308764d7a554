"""What a worker of Dask does for a campaign that is stored elsewhere.

What comes in is a plan and the name of a boot, and what goes out is that boot: no code
travels. As a module that ``dask worker --preload`` names, it says what the host offers.
"""

import json
import platform
import threading
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Self

import temper
from temper.arch import arch_named
from temper.digest import code_digest, digest
from temper.errors import InputError, TemperError
from temper.kernel import Cache
from temper.kernel.compiler import compiler_version
from temper.machine import Machine, Watcher
from temper.machine.capacity import host_capacity
from temper.progress import Quiet, Task
from temper.record.boot import StoredBoot
from temper.record.plan import Plain, RunPlan, Slot
from temper.record.tools import SeenTools
from temper.run.booting import Booter
from temper.run.load import host_load
from temper.run.machines import check_cpus, machine_for
from temper.run.prepare import prepare
from temper.run.unchanged import check_unchanged

if TYPE_CHECKING:
    from distributed import Worker

_STOPS: defaultdict[str, threading.Event] = defaultdict(threading.Event)
"""Campaign -> what ends its boots on this host."""


class Order(Plain):
    """What a campaign wants to have booted."""

    campaign: str
    """A name that no other campaign has, of which workers tell what they do."""
    plan: RunPlan
    tools: dict[str, str]
    """What the client has, and every worker must."""

    def packed(self) -> bytes:
        """Return it as compressed JSON."""
        return zlib.compress(self.model_dump_json().encode())

    @classmethod
    def unpacked(cls, data: bytes) -> Self:
        """Read what ``packed`` returned; raise ValueError if it is anything else."""
        return cls.model_validate_json(zlib.decompress(data))


def packed(boot: StoredBoot) -> bytes:
    """Return a boot as compressed JSON."""
    return zlib.compress(json.dumps(boot.model_dump(mode="json")).encode("ascii"))


def unpacked(data: bytes) -> StoredBoot:
    """Read what ``packed`` returned."""
    return StoredBoot.model_validate(json.loads(zlib.decompress(data)))


def tools_here(plan: RunPlan, machine: Machine) -> dict[str, str]:
    """Return what decides results on this host, by name.

    Raises InfraError if something that boots need is missing.
    """
    arch = arch_named(plan.arch)
    return {
        "Temper": temper.__version__,
        "Temper's code": code_digest(Path(temper.__file__).parent)[:12],
        "the architecture": platform.machine(),
        "the compiler": compiler_version(arch),
        **machine.tools(),
    }


def check_same(wanted: Mapping[str, str], found: Mapping[str, str], where: str) -> None:
    """Raise InputError if tools differ from those of the client."""
    seen = SeenTools()
    for tools, place in ((wanted, "here"), (found, where)):
        if difference := seen.difference(
            {(name,): value for name, value in tools.items()}, place
        ):
            raise InputError(difference, "workers need the same of all that, or leave")


def report(order: bytes) -> dict[str, str]:
    """Return what decides results on this worker."""
    plan = _read(order).plan
    return tools_here(plan, machine_for(plan, Cache(), Quiet()))


def build(order: bytes, variant: str) -> None:
    """Build or find what a variant boots with."""
    with _named_in_errors():
        _booter(order, variant)


def boot(order: bytes, variant: str, repeat: int) -> tuple[str, bytes]:
    """Boot a slot; return the name of this worker, and the boot ``packed``.

    Raises TemperError, which names this worker, if it was not the kernel that failed.
    """
    campaign = _read(order).campaign
    slot = Slot(variant=variant, repeat=repeat)

    def tell(**message: object) -> None:
        _tell(campaign, variant=variant, repeat=repeat, **message)

    watcher = Watcher(
        _STOPS[campaign],
        on_program=lambda done: tell(done=done),
        on_wait=lambda text: tell(note=text),
    )
    with _named_in_errors():
        if slot not in _slots(order):
            raise InputError(f"{slot} is not in the plan")
        booter = _booter(order, variant)
        with host_load(booter.plan.load):
            made = booter.boot(slot, watcher)
    if made.facts.machine.exact:
        tell(outcome=outcome_digest(made))
    return str(_worker().name), packed(made)


def outcome_digest(made: StoredBoot) -> str:
    """Return the digest of all that an exact boot repeats."""
    return digest(json.dumps(made.outcome).encode("ascii"))


def stop(campaign: str) -> None:
    """End all boots of a campaign on this worker, and those that would come."""
    _STOPS[campaign].set()


def dask_setup(worker: "Worker") -> None:
    """Offer what the host has room for, unless the worker was told what to offer."""
    room = host_capacity()
    offered = {"boot": min(room.cpus, worker.state.nthreads), "memory": room.memory}
    for name, amount in {"build": 1, **offered}.items():
        worker.state.total_resources.setdefault(name, amount)
        worker.state.available_resources.setdefault(name, amount)


@contextmanager
def _named_in_errors() -> Iterator[None]:
    try:
        yield
    except TemperError as error:
        error.message = f"worker {_worker().name}: {error.message}"
        raise


def _worker() -> "Worker":
    """Return the worker whose task this thread carries out."""
    from distributed import get_worker  # noqa: PLC0415 (an extra)

    return get_worker()


def _tell(campaign: str, **message: object) -> None:
    """Tell the client what JSON can hold, and who tells it.

    Dask adds an address of its own, as ``worker``.
    """
    worker = _worker()
    worker.log_event(campaign, {"name": str(worker.name), **message})


# A plan of many boots takes longer to read than Dask needs for one of them.
@lru_cache(maxsize=4)
def _read(order: bytes) -> Order:
    return Order.unpacked(order)


@lru_cache(maxsize=4)
def _slots(order: bytes) -> frozenset[Slot]:
    return frozenset(_read(order).plan.slots)


@lru_cache(maxsize=4)
def _checked(order: bytes) -> tuple[Order, Machine]:
    """Read an order that this host may carry out, and return its machine.

    Raises InputError if anything here differs from what the plan was made with.
    """
    found = _read(order)
    machine = machine_for(found.plan, Cache(), Quiet())
    check_same(found.tools, tools_here(found.plan, machine), "on the worker")
    check_unchanged(found.plan)
    check_cpus(machine, found.plan)
    machine.prepare()
    return found, machine


@lru_cache(maxsize=64)
def _booter(order: bytes, variant: str) -> Booter:
    found, machine = _checked(order)
    progress = _Teller(found.campaign)
    return Booter(prepare(found.plan.only(variant), Cache(), progress), machine)


@dataclass(frozen=True)
class _Teller:
    """Tells the client of long work."""

    campaign: str

    @contextmanager
    def task(self, title: str, total: float | None = None) -> Iterator[Task]:
        """Tell that work has begun."""
        _tell(self.campaign, work=title)
        with Quiet().task(title, total) as task:
            yield task

    def say(self, text: str) -> None:
        """Tell what should stay on the client's screen."""
        _tell(self.campaign, say=text)
