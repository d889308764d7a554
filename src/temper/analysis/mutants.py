"""Which mutants of a series its proofs notice, and which survive."""

from collections import Counter
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from pydantic import Field

from temper.analysis.models import Strength
from temper.analysis.noticing import Notice, Watch
from temper.analysis.part import Part
from temper.analysis.variants import hosts
from temper.record.boot import StoredRun
from temper.record.plan import Fate, MutantPlan, RunPlan, Slot
from temper.stats.proportion import interval

# A boot that begins longer than this after the last was not waiting for its kernel: the
# run was stopped and resumed, or merged from shards of several days.
_LONGEST_BUILD = timedelta(minutes=30)


class MutantFound(Part):
    """A mutant that was booted."""

    id: str
    file: str
    line: int
    """Its number in the file, with the series."""
    does: str
    """What it does, as a verb and its object."""
    hunk: str
    """The change, as lines of a diff."""
    noticed: Notice | None
    """None: it survived."""
    once: Notice | None = None
    """What noticed a survivor in one of its boots, and not in the other."""
    accepted: str = ""
    """Why it need not be noticed; empty: it must be."""


class Place(Part):
    """A line of a file."""

    file: str
    line: int


class MutateReport(Part):
    """What ``temper mutate`` prints."""

    schema_version: Literal[1] = 1
    kind: Literal["mutate"] = "mutate"
    run: int
    feature: str
    title: str
    arch: str
    machine: str
    unsound: str
    """Why there is no score, such as what is wrong with the series as it is; empty:
    there is one."""
    score: float | None
    """Percent of the booted mutants that were noticed or are accepted; None: there
    is no score, as of a run that is not finished."""
    chosen: bool = False
    """Whether somebody chose the mutants: then there is no score, since they say
    nothing of others."""
    interval: tuple[float, float] | None = None
    """What the score of all mutants is within, in percent, with a confidence of 95 %,
    if those that were booted are a sample; None: they are all, there is no score, or
    an older run does not say."""
    fates: dict[Fate, int]
    """What became of those that were compiled -> how many."""
    mutants: list[MutantFound]
    """Those that were booted."""
    pending: list[str]
    """Ids of those that have not booted yet."""
    unreached: list[Place]
    """Lines that the configuration leaves out, and so their mutants."""
    per_hour: float | None
    """Mutants judged in an hour, with all their builds and boots, without the time for
    which the run was stopped; None: fewer than two."""
    noticed_by: dict[str, int] = Field(default_factory=dict)
    """What noticed mutants first -> how many."""
    started: datetime
    hosts: list[str]
    """The hosts that the boots ran on; empty if they were not recorded."""
    temper_version: str
    command: str

    @property
    def survivors(self) -> list[MutantFound]:
        """Those that must be noticed, and were not."""
        return [m for m in self.mutants if not m.noticed and not m.accepted]

    @property
    def excused(self) -> list[MutantFound]:
        """Those that were not noticed, and need not be."""
        return [m for m in self.mutants if not m.noticed and m.accepted]

    @property
    def clean(self) -> bool:
        """Whether all was booted, and all that must be was noticed."""
        return not (self.unsound or self.pending or self.survivors)

    @property
    def strength(self) -> Strength | None:
        """What it says of the series; None: there is no score."""
        if self.score is None:
            return None
        return Strength(
            score=self.score,
            interval=self.interval,
            mutants=len(self.mutants),
            survivors=len(self.survivors),
            run=self.run,
            started=self.started,
            command=self.command,
        )


def mutate_report(run: StoredRun) -> MutateReport:
    """Judge each mutant of a run by its boots, up to what notices it first.

    In this order: whether it boots, its console, in-force checks, the proofs in the
    plan's order, KUnit, which ``temper prove`` does not run. A notice counts if the
    second boot has one, too, or if twins found it: on a busy host, proofs now and then
    find what is not there. Whatever keeps a proof from finding it BLOCKED is a notice,
    since nobody would have read PROVEN.
    Raises what ``proof_report`` does, and StoreError for a boot that was ended early by
    what no judge finds any more.
    """
    plan = run.plan
    watch = Watch(run)
    judged = [name for name in _booted(plan) if not watch.waits_for(name)]
    mutants = [_found(name, plan.mutants[name], watch) for name in judged]
    (whole,) = plan.hardened
    unsound = watch.why_unsound(whole)
    pending = [name for name in _booted(plan) if name not in judged]
    caught = [each for each in mutants if each.noticed or each.accepted]
    # What is noticed is confirmed last: what is known before has more survivors.
    scored = bool(mutants) and not (unsound or plan.chosen or pending)
    sampled = plan.sampled or bool(plan.shard and plan.shard.count > 1)
    return MutateReport(
        run=run.id,
        feature=plan.feature,
        title=plan.full_title,
        arch=plan.arch,
        machine=plan.machine,
        unsound=unsound,
        score=100 * len(caught) / len(mutants) if scored else None,
        chosen=plan.chosen,
        interval=_interval(caught, mutants) if scored and sampled else None,
        fates=Counter(mutant.fate for mutant in plan.mutants.values()),
        mutants=mutants,
        pending=pending,
        unreached=_unreached(plan),
        per_hour=_per_hour(judged, run),
        noticed_by=Counter(each.noticed.by for each in mutants if each.noticed),
        started=run.started,
        hosts=hosts(run),
        temper_version=plan.temper_version,
        command=plan.own_command,
    )


class Standard(NamedTuple):
    """What the mutants of a run are held against."""

    unsound: str
    """Why nothing can be said of them; empty: something can."""
    measures: frozenset[str]
    """What the control and the series as it is decide of them, in words."""


def standard_of(run: StoredRun) -> Standard:
    """Judge the control and the series as it is, and no mutant.

    Raises what ``mutate_report`` does.
    """
    (whole,) = run.plan.hardened
    watch = Watch(run)
    return Standard(watch.why_unsound(whole), watch.measures(whole))


class BootsNeeded:
    """Chooses the boots of a run that must come next for its report on mutants."""

    def __init__(self) -> None:
        # Judging takes seconds, and after each choice there are more boots to judge.
        self._known: dict[str, Notice] = {}

    def __call__(self, run: StoredRun) -> list[Slot]:
        """Return them, for the same run each time; empty: it needs none.

        It needs all boots of the control and of the series as it is. Raises what
        ``mutate_report`` does.
        """
        plan, watch = run.plan, Watch(run, self._known)
        needed = {*watch.missing(*watch.needed)}
        for name in _booted(plan):
            needed.update(watch.waits_for(name))
        return [slot for slot in plan.slots if slot in needed]


def _booted(plan: RunPlan) -> list[str]:
    """Return the mutants that a plan boots."""
    named = (slot.variant for slot in plan.slots)
    return [name for name in dict.fromkeys(named) if name in plan.mutants]


def variant_mutated(mutants: RunPlan, proof: RunPlan) -> str:
    """Return the hardened variant of a proof that mutants are of; empty: of none.

    They are of the very kernel that it attacks, booted in the same way, and the same
    proofs and judges attack them.
    """
    same = ("machine", "proofs", "judges")
    if any(getattr(proof, name) != getattr(mutants, name) for name in same):
        return ""
    whole = mutants.variants[mutants.hardened[0]]
    words = set(whole.cmdline.split())
    for name in proof.hardened:
        own = proof.variants[name]
        # Mutants have the words of KUnit in addition.
        booted_alike = own.cpu == whole.cpu and set(own.cmdline.split()) <= words
        if own.kernel.key == mutants.attacked and booted_alike:
            return name
    return ""


def _found(name: str, plan: MutantPlan, watch: Watch) -> MutantFound:
    noticed, once = watch.notices(name)
    return MutantFound(
        id=name,
        file=plan.file,
        line=plan.line,
        does=plan.does,
        hunk=plan.hunk,
        noticed=noticed,
        once=once,
        accepted=plan.accepted,
    )


def _interval(
    caught: Sequence[MutantFound], mutants: Sequence[MutantFound]
) -> tuple[float, float]:
    low, high = interval(len(caught), len(mutants))
    return 100 * low, 100 * high


def _unreached(plan: RunPlan) -> list[Place]:
    places = {
        (mutant.file, mutant.line)
        for mutant in plan.mutants.values()
        if mutant.fate is Fate.UNREACHED
    }
    return [Place(file=file, line=line) for file, line in sorted(places)]


def _per_hour(judged: Collection[str], run: StoredRun) -> float | None:
    facts = [
        boot.facts
        for boot in run.boots
        if run.plan.mutant_of(boot.facts.variant) in judged
    ]
    if len(judged) < 2:
        return None
    hours = _time_at_work([(each.started, each.wall_seconds) for each in facts])
    return len(judged) / (hours.total_seconds() / 3600)


def _time_at_work(boots: Sequence[tuple[datetime, float]]) -> timedelta:
    """Return what boots took, with what was built between them.

    ``boots`` are their starts and their seconds.
    """
    total = timedelta()
    ended = min(started for started, _ in boots)
    for started, seconds in sorted(boots):
        if started - ended > _LONGEST_BUILD:
            ended = started
        end = max(ended, started + timedelta(seconds=seconds))
        total += end - ended
        ended = end
    return total
