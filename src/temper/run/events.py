"""Plans a run that leads a feature's kernel through events. It builds nothing."""

from collections.abc import Collection
from pathlib import Path

from temper import __version__
from temper.catalog import Feature, check_known
from temper.digest import code_digest
from temper.errors import InfraError, InputError
from temper.events import Event, Events, events_of
from temper.paths import portable
from temper.record.plan import (
    KernelPlan,
    Kind,
    RunPlan,
    Scripts,
    Slot,
    TrialTerms,
    VariantPlan,
    Work,
)
from temper.run.planner import Planner, module_plan
from temper.run.programs import led_init


def plan_events(
    planner: Planner, feature: Feature, wanted: Collection[str] = ()
) -> RunPlan:
    """Plan to lead through the events ``wanted``, by default all, on every machine.

    Raises InputError where the feature has no events, or none for the architecture,
    and for an unknown event; InfraError where the host lacks what an event needs.
    """
    feature = planner.here(feature)
    events = events_of(feature)
    check_known("event", wanted, events.events)
    if events.arch != planner.arch.name:
        raise InputError(f"the events of {feature.name} are for {events.arch}")
    chosen = {name: events.events[name] for name in wanted or events.events}
    _check_host(chosen)
    kernel = _kernel(planner, feature, events)
    variants = {
        f"{event}-{board}": _variant(events, event, board, kernel)
        for board in events.machines
        for event in chosen
    }
    named = ["--events", ",".join(wanted)] if wanted else []
    return RunPlan(
        kind=Kind.EVENTS,
        feature=feature.name,
        title=feature.title,
        arch=events.arch,
        machine=planner.machine_of(feature),
        baseline="",
        variants=variants,
        complaints=(*feature.complaints, *events.complaints),
        trial=TrialTerms(used=events.used),
        scripts=Scripts(
            folder=portable(events.folder),
            digest=code_digest(events.folder),
            by_variant={
                f"{event}-{board}": event
                for board in events.machines
                for event in chosen
            },
            hardware=events.hardware,
        ),
        work=_work(planner, events),
        slots=tuple(Slot(variant=name, repeat=0) for name in variants),
        command=planner.command("events", feature.name, *named),
        temper_version=__version__,
    )


def _check_host(events: dict[str, Event]) -> None:
    for name, event in events.items():
        for file, package in event.needs.items():
            if not Path(file).exists():
                raise InfraError(
                    f"the event {name} needs {file}, which this host does not have",
                    f"apt-get install {package}",
                )


def _variant(events: Events, event: str, board: str, kernel: KernelPlan) -> VariantPlan:
    described, machine = events.events[event], events.machines[board]
    return VariantPlan(
        title=f"{described.title}; {machine.title}",
        kernel=kernel,
        cmdline=machine.cmdline,
        cpu=machine.cpu,
        in_force=None,
        expected_complaints=described.expected_complaints,
    )


def _kernel(planner: Planner, feature: Feature, events: Events) -> KernelPlan:
    hardened = feature.variants[feature.hardened[0]]
    options = (*hardened.config, *events.config)
    return planner.kernel(feature, hardened.model_copy(update={"config": options}))


def _work(planner: Planner, events: Events) -> Work:
    return Work(
        job=(),
        cpus=events.cpus,
        exact=False,
        memory=events.memory,
        programs=(led_init(planner.arch),),
        modules=tuple(
            module_plan(events.folder / f"{name}.c") for name in events.modules
        ),
    )
