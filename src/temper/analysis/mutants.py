"""Which mutants of a series its proofs notice, and which survive."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Literal

from pydantic import Field

from temper.analysis.boots import results_by_variant
from temper.analysis.console import boot_complaints, told
from temper.analysis.kunit import kunit_results
from temper.analysis.models import Strength
from temper.analysis.part import Part
from temper.analysis.proof import Judging
from temper.analysis.refusals import in_force_summaries, not_in_force
from temper.analysis.variants import hosts
from temper.record.boot import StoredBoot, StoredRun
from temper.record.outcome import Outcome
from temper.record.plan import Fate, MutantPlan, RunPlan, again
from temper.stats.proportion import interval


class Notice(Part):
    """What first noticed that a kernel is not the series as it should be."""

    by: str
    """``boot``, ``console``, ``in force``, ``KUnit`` or the name of a proof."""
    how: str
    """What it found, as a sentence without a full stop."""


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
    is no score."""
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
    """Mutants booted in an hour, with their builds; None: fewer than two."""
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
    Raises what ``proof_report`` does.
    """
    plan = run.plan
    watch = _Watch(run)
    booted = {
        name: [*boots, *watch.boots[again(name)]]
        for name, boots in watch.boots.items()
        if name in plan.mutants and again(name) in watch.boots
    }
    mutants = [_found(name, plan.mutants[name], watch) for name in booted]
    (whole,) = plan.hardened
    unsound = watch.why_unsound(whole)
    wanted = [slot.variant for slot in plan.slots if slot.variant in plan.mutants]
    pending = [name for name in dict.fromkeys(wanted) if name not in booted]
    caught = [each for each in mutants if each.noticed or each.accepted]
    scored = bool(mutants) and not unsound
    partly = plan.sampled or bool(pending)
    return MutateReport(
        run=run.id,
        feature=plan.feature,
        title=plan.full_title,
        arch=plan.arch,
        machine=plan.machine,
        unsound=unsound,
        score=100 * len(caught) / len(mutants) if scored else None,
        interval=_interval(caught, mutants) if scored and partly else None,
        fates=Counter(mutant.fate for mutant in plan.mutants.values()),
        mutants=mutants,
        pending=pending,
        unreached=_unreached(plan),
        per_hour=_per_hour(booted),
        noticed_by=Counter(each.noticed.by for each in mutants if each.noticed),
        started=run.started,
        hosts=hosts(run),
        temper_version=plan.temper_version,
        command=plan.command,
    )


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


Look = Callable[[str], str]
"""Returns what it finds wrong with a variant; empty: nothing."""


def _by(variant: str, looks: Mapping[str, Look]) -> Notice | None:
    """Return the first notice of those who look in turn."""
    found = ((by, look(variant)) for by, look in looks.items())
    return next((Notice(by=by, how=how) for by, how in found if how), None)


class _Watch:
    """Looks at a run's variants with all that could notice something."""

    def __init__(self, run: StoredRun) -> None:
        self._plan = run.plan
        self._judging = Judging.of(run)
        self._results = results_by_variant(run)
        self._in_force = in_force_summaries(run.plan, self._results)
        proofs = run.plan.proofs.items()
        self._twins = [name for name, proof in proofs if proof.twins]
        self.boots = _complete(run)
        """Variant -> its boots, if all are done."""

    def notices(self, variant: str) -> tuple[Notice | None, Notice | None]:
        """Return what notices first that something is wrong: surely, and only once."""
        first, second = self._first(variant), self._first(again(variant))
        if first and second:
            return first, None
        if first and (by_twins := _by(variant, self._looks_at(self._twins))):
            return by_twins, None
        return None, first or second

    def _first(self, variant: str) -> Notice | None:
        twins = len(self.boots[variant]) > 1
        proofs = [p for p in self._plan.deciding if twins or p not in self._twins]
        looks = {
            "boot": self._not_booted,
            "console": self._complained,
            "in force": self._not_in_force,
            **self._looks_at(proofs),
            "KUnit": self._failed_tests,
        }
        return _by(variant, looks)

    def why_unsound(self, whole: str) -> str:
        """Say why nothing can be said of mutants; empty: all is as it must be."""
        control = self._plan.control
        needed = (control, whole, again(whole))
        if missing := [name for name in needed if name not in self.boots]:
            return f"{' and '.join(missing)} has not booted yet"
        notice, _ = self.notices(whole)
        if notice:
            return f"{whole} is noticed by {notice.by}, too: {notice.how}"
        if self._plan.kunit and not self._passed(whole):
            return f"no KUnit test ran on {whole}"
        for proof in self._plan.deciding:
            if self._outcome(control, proof) is not Outcome.VULNERABLE:
                return f"{proof} does not find {control} VULNERABLE"
        return ""

    def _not_booted(self, variant: str) -> str:
        boots = self.boots[variant]
        return next((b.facts.error for b in boots if b.facts.status != "ok"), "")

    def _complained(self, variant: str) -> str:
        for boot in self.boots[variant]:
            if lines := boot_complaints(self._plan, boot):
                return told(lines)
        return ""

    def _not_in_force(self, variant: str) -> str:
        return not_in_force(self._results[variant], self._in_force.get(variant))

    def _failed_tests(self, variant: str) -> str:
        (whole,) = self._plan.hardened
        passed = self._passed(variant)
        lost = [name for name in self._passed(whole) if name not in passed]
        return f"{', '.join(lost)} failed" if lost else ""

    def _passed(self, variant: str) -> list[str]:
        results: dict[str, bool] = {}
        for boot in self.boots.get(variant, []):
            results |= {
                name: ok and results.get(name, True)
                for name, ok in kunit_results(boot.console).items()
            }
        return [name for name, ok in results.items() if ok]

    def _looks_at(self, proofs: Iterable[str]) -> dict[str, Look]:
        return {proof: partial(self._not_blocked, proof) for proof in proofs}

    def _not_blocked(self, proof: str, variant: str) -> str:
        found = self._judging.evidence(variant, proof)
        if found.outcome is Outcome.BLOCKED:
            return ""
        return f"{found.outcome}: {'; '.join(found.reasons)}"

    def _outcome(self, variant: str, proof: str) -> Outcome:
        return self._judging.evidence(variant, proof).outcome


def _complete(run: StoredRun) -> dict[str, list[StoredBoot]]:
    """Return variant -> its boots, where all that are planned are done."""
    wanted = Counter(slot.variant for slot in run.plan.slots)
    found: dict[str, list[StoredBoot]] = {}
    for boot in run.boots:
        found.setdefault(boot.facts.variant, []).append(boot)
    return {
        name: found[name] for name, n in wanted.items() if len(found.get(name, ())) == n
    }


def _found(name: str, plan: MutantPlan, watch: _Watch) -> MutantFound:
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


def _per_hour(booted: Mapping[str, list[StoredBoot]]) -> float | None:
    facts = [boot.facts for boots in booted.values() for boot in boots]
    if len(booted) < 2:
        return None
    ends = [each.started + timedelta(seconds=each.wall_seconds) for each in facts]
    hours = (max(ends) - min(each.started for each in facts)).total_seconds() / 3600
    return len(booted) / hours
