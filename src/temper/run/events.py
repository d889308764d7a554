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
from temper.stress import Board


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
    arch = planner.arch.name
    if arch not in events.on:
        raise InputError(
            f"the events of {feature.name} are not for {arch}",
            f"add --arch {min(events.on)}",
        )
    known = events.events_on(arch)
    if foreign := [name for name in wanted if name not in known]:
        raise InputError(
            f"{', '.join(foreign)} cannot happen on {arch}",
            f"known: {', '.join(known)}",
        )
    chosen = {name: known[name] for name in wanted or known}
    _check_host(chosen)
    kernel = _kernel(planner, feature, events)
    scripts = {
        f"{event}-{board}": (event, board)
        for board in events.on[arch].machines
        for event in chosen
    }
    variants = {
        name: _variant(chosen[event], events.on[arch].machines[board], kernel)
        for name, (event, board) in scripts.items()
    }
    named = ["--events", ",".join(wanted)] if wanted else []
    return RunPlan(
        kind=Kind.EVENTS,
        feature=feature.name,
        title=feature.title,
        arch=arch,
        machine=planner.machine_of(feature),
        baseline="",
        variants=variants,
        complaints=(*feature.complaints, *events.complaints),
        trial=TrialTerms(used=events.used),
        scripts=Scripts(
            folder=portable(events.folder),
            digest=code_digest(events.folder),
            by_variant={name: event for name, (event, _) in scripts.items()},
            hardware=(*events.hardware, *events.on[arch].hardware),
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


def _variant(event: Event, machine: Board, kernel: KernelPlan) -> VariantPlan:
    return VariantPlan(
        title=f"{event.title}; {machine.title}",
        kernel=kernel,
        cmdline=machine.cmdline,
        cpu=machine.cpu,
        in_force=None,
        expected_complaints=event.expected_complaints,
    )


def _kernel(planner: Planner, feature: Feature, events: Events) -> KernelPlan:
    hardened = feature.variants[feature.hardened[0]]
    own = events.on[planner.arch.name].config
    options = (*hardened.config, *events.config, *own)
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
