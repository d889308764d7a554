"""The results of a trial: boots that must come out clean, under stress or events."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

from temper.analysis.console import boot_complaints
from temper.analysis.variants import hosts
from temper.record.boot import StoredBoot, StoredRun
from temper.record.plan import Growth, Kind, RunPlan, TrialTerms
from temper.record.wire import Samples, parse_record


class _Report(BaseModel):
    model_config = ConfigDict(frozen=True)


class TrialBoot(_Report):
    """One boot of a trial."""

    variant: str
    title: str
    cpu_model: str
    cmdline: str
    kernel_key: str
    kernel_release: str
    wall_seconds: float
    wrong: list[str]
    """Why it ended early, complaints on the console, failures that were counted."""
    never_done: list[str]
    """Counters that stayed 0, so the boot shows nothing about what they count."""
    counters: dict[str, int]
    """Name -> the last value that the program sent, or the event's script found."""

    @property
    def clean(self) -> bool:
        """Whether nothing went wrong and nothing was left out."""
        return not (self.wrong or self.never_done)


class TrialReport(_Report):
    """What ``temper stress`` and ``temper events`` print."""

    schema_version: Literal[1] = 1
    kind: Literal["stress", "events"]
    run: int
    feature: str
    title: str
    arch: str
    machine: str
    seconds: int
    """How long the stress lasted in each boot, in the guest's time; 0: events."""
    started: datetime
    clean: bool
    """True: all boots ran, nothing went wrong and nothing was left out."""
    missing: list[str]
    """Variants that have not booted yet."""
    boots: list[TrialBoot]
    hosts: list[str]
    """The hosts that the boots ran on; empty if they were not recorded."""
    command: str
    temper_version: str


def trial_report(run: StoredRun) -> TrialReport:
    """Judge a run by the terms of its plan."""
    plan = run.plan
    terms = plan.trial
    assert terms is not None
    boots = [_boot(plan, terms, boot) for boot in run.boots]
    booted = {boot.variant for boot in boots}
    missing = [name for name in plan.variants if name not in booted]
    return TrialReport(
        kind="events" if plan.kind is Kind.EVENTS else "stress",
        run=run.id,
        feature=plan.feature,
        title=plan.title,
        arch=plan.arch,
        machine=plan.machine,
        seconds=terms.seconds,
        started=run.started,
        clean=not missing and all(boot.clean for boot in boots),
        missing=missing,
        boots=boots,
        hosts=hosts(run),
        command=plan.command,
        temper_version=plan.temper_version,
    )


def _boot(plan: RunPlan, terms: TrialTerms, boot: StoredBoot) -> TrialBoot:
    facts = boot.facts
    counters = _counters(boot)
    ended = [facts.error] if facts.error else []
    # If a boot ended early, its error already says why there are no counters.
    used = terms.used if counters or not ended else ()
    return TrialBoot(
        variant=facts.variant,
        title=plan.variants[facts.variant].title,
        cpu_model=facts.machine.cpu_model,
        cmdline=facts.machine.cmdline,
        kernel_key=facts.kernel.key,
        kernel_release=facts.release,
        wall_seconds=facts.wall_seconds,
        wrong=[*ended, *boot_complaints(plan, boot), *_failures(terms, counters)],
        never_done=[name for name in used if counters.get(name, 0) <= 0],
        counters=counters,
    )


def _counters(boot: StoredBoot) -> dict[str, int]:
    records = map(parse_record, boot.records)
    return {r.name: r.values[-1] for r in records if isinstance(r, Samples)}


def _failures(terms: TrialTerms, counters: Mapping[str, int]) -> list[str]:
    failed = [
        f"{name} is {counters[name]}" for name in terms.zero if counters.get(name)
    ]
    for growth in terms.growth:
        if (more := _more(growth, counters)) > growth.most:
            failed.append(f"{more} more {growth.title} are in use than before")
    return failed


def _more(growth: Growth, counters: Mapping[str, int]) -> int:
    apart = counters.get(growth.apart, 0)
    return counters.get(growth.after, 0) - counters.get(growth.before, 0) - apart
