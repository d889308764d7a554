"""Whether a feature holds: the judges' verdicts on the boots of a run."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from temper.analysis.boots import results_by_variant
from temper.analysis.console import boot_complaints, told
from temper.analysis.models import InForceSummary, ProofEvidence, ProofReport
from temper.analysis.refusals import in_force_summaries
from temper.analysis.variants import hosts, variant_infos
from temper.digest import code_digest
from temper.errors import InputError, StoreError
from temper.extension import judge_named, judges_of
from temper.invocation import as_typed
from temper.paths import FEATURES
from temper.record.boot import StoredBoot, StoredRun
from temper.record.console import last_of_programs
from temper.record.outcome import Outcome, worst_outcome
from temper.record.plan import ProofPlan, RunPlan, Slot
from temper.record.wire import UNSUPPORTED
from temper.stats.judging import Arrays, Judge, Verdict, unsupported


@dataclass
class Judging:
    """A run and its judges, each of which is asked once about a variant."""

    run: StoredRun
    judges: Mapping[str, Judge]
    _verdicts: dict[tuple[str, str], Verdict] = field(default_factory=dict)
    """Variant and proof -> what the judge found."""

    @classmethod
    def of(cls, run: StoredRun) -> Self:
        """Load a run's judges; raise StoreError if the feature no longer has one."""
        return cls(run, {name: _judge(run, name) for name in run.plan.proofs})

    def evidence(self, variant: str, name: str) -> ProofEvidence:
        """Judge a variant by a proof; fewer tries than on the control show nothing."""
        plan, verdict = self.run.plan, self._verdict(variant, name)
        if verdict.outcome is Outcome.BLOCKED and verdict.tries is not None:
            tries = self.tries(plan.control, name) or 0
            if verdict.tries < tries:
                verdict = unsupported(
                    f"{verdict.tries} tries, but {tries} on {plan.control}"
                )
        boots = _boots_judged(self.run, variant, plan.proofs[name])
        return ProofEvidence(
            outcome=verdict.outcome,
            expected=plan.variants[variant].expect.get(name),
            reasons=verdict.reasons,
            figures=verdict.figures,
            clock=boots[0].facts.machine.clock if boots else "",
            series=verdict.series,
        )

    def tries(self, variant: str, name: str) -> int | None:
        """Return how often a proof tried on a variant; None: its judge does not say."""
        return self._verdict(variant, name).tries

    def _verdict(self, variant: str, name: str) -> Verdict:
        place = (variant, name)
        if place not in self._verdicts:
            found = _verdict(self.run, variant, name, self.judges[name])
            self._verdicts[place] = found
        return self._verdicts[place]


def proof_report(run: StoredRun) -> ProofReport:
    """Judge every variant of a run by all proofs of its plan.

    A feature is proven if every proof that applies to the control finds it VULNERABLE,
    every proof finds the hardened variants BLOCKED, and the mitigation was on or off
    as expected in all variants. Proofs that show a known limit count only for
    ``as_expected``: if one no longer lands, that is no reason to doubt the feature, but
    somebody must look. The verdict depends only on the plan and the judges, so it stays
    the same when feature.toml changes later, and the report says when the judges did.
    Raises StoreError if the feature no longer has the judges that the plan names.
    """
    plan = run.plan
    judging = Judging.of(run)
    booted = dict.fromkeys(boot.facts.variant for boot in run.boots)
    evidence = {
        variant: {
            name: judging.evidence(variant, name)
            for name in plan.proofs
            if was_to_attack(plan, variant, name)
        }
        for variant in booted
    }
    deciding = {
        variant: {name: proofs[name] for name in plan.deciding if name in proofs}
        for variant, proofs in evidence.items()
    }
    in_force = in_force_summaries(plan, results_by_variant(run))
    sabotages = [name for name in plan.variants if plan.variants[name].sabotage]
    return ProofReport(
        run=run.id,
        feature=plan.feature,
        title=plan.full_title,
        arch=plan.arch,
        machine=plan.machine,
        control=plan.control,
        outcomes={
            name: worst_outcome(found.outcome for found in proofs.values())
            for name, proofs in deciding.items()
            if proofs
        },
        hardened=list(plan.hardened),
        proven=_proven(plan, deciding)
        and all(
            _was_in_force(in_force, name)
            for name in plan.variants
            if name not in sabotages
        ),
        sabotages=[name for name in evidence if name in sabotages],
        variants_left_out=list(plan.variants_left_out),
        proofs_left_out=list(plan.proofs_left_out),
        as_expected=all(_as_expected(evidence, name) for name in plan.variants),
        evidence=evidence,
        in_force=in_force,
        variants=variant_infos(run),
        proofs={name: proof.title for name, proof in plan.proofs.items()},
        limits=[name for name, proof in plan.proofs.items() if proof.limit],
        judges_changed=plan.judges
        not in ("", code_digest(judges_of(FEATURES / plan.feature))),
        started=run.started,
        hosts=hosts(run),
        temper_version=plan.temper_version,
        command=plan.command,
    )


_AllEvidence = Mapping[str, Mapping[str, ProofEvidence]]


def _proven(plan: RunPlan, evidence: _AllEvidence) -> bool:
    """Whether the hardened variants held against attacks that do land."""
    lands = any(
        found.outcome is Outcome.VULNERABLE
        for found in evidence.get(plan.control, {}).values()
    )
    decisive = (plan.control, *plan.hardened)
    return (
        bool(plan.hardened)
        and lands
        and all(_as_expected(evidence, name) for name in decisive)
    )


def _as_expected(evidence: _AllEvidence, variant: str) -> bool:
    return variant in evidence and all(
        not found.surprising for found in evidence[variant].values()
    )


def _was_in_force(summaries: Mapping[str, InForceSummary], variant: str) -> bool:
    summary = summaries.get(variant)
    return summary is not None and 0 < summary.checks == summary.agreed


def _judge(run: StoredRun, name: str) -> Judge:
    proof = run.plan.proofs[name]
    try:
        return judge_named(FEATURES / run.plan.feature, proof.judge, proof.params)
    except InputError as error:
        raise StoreError(
            f"{run.name} cannot be judged: proof '{name}': {error.message}",
            "check out a version that has the judge, or attack again: "
            + as_typed(run.plan.own_command),
        ) from error


def _verdict(run: StoredRun, variant: str, name: str, judge: Judge) -> Verdict:
    plan, proof = run.plan, run.plan.proofs[name]
    boots = _boots_judged(run, variant, proof)
    why = _cannot_judge(plan, _slots_judged(plan, variant, proof), proof, boots)
    if why and not _ended_the_kernel(proof, boots):
        return unsupported(why)
    verdict = _judged(judge, proof, boots)
    if why and verdict.outcome is not Outcome.VULNERABLE:
        return unsupported(why)
    return verdict


def _ended_the_kernel(proof: ProofPlan, boots: Iterable[StoredBoot]) -> bool:
    """Whether a kernel's end came in the attack; what it found by then counts."""
    records = (record for boot in boots for record in _records(boot, proof.line))
    return any(record["type"] == "died" for record in records)


def _boots_judged(run: StoredRun, variant: str, proof: ProofPlan) -> list[StoredBoot]:
    # A run of mutants has many hundreds, and slots are slow to hash.
    own = (boot for boot in run.boots if boot.facts.variant == variant)
    booted = {boot.facts.slot: boot for boot in own}
    slots = _slots_judged(run.plan, variant, proof)
    return [booted[slot] for slot in slots if slot in booted]


def was_to_attack(plan: RunPlan, variant: str, name: str) -> bool:
    """Whether the plan has a proof attack a variant, or should have had it."""
    return name in plan.variants[variant].expect or bool(
        _slots_judged(plan, variant, plan.proofs[name])
    )


def _slots_judged(plan: RunPlan, variant: str, proof: ProofPlan) -> list[Slot]:
    """Return the slots of the boots that a proof judges a variant by."""
    return [
        slot
        for slot in plan.slots
        if slot.variant == variant
        and (plan.twin_seed(slot) is not None) is proof.twins
        and plan.runs(slot, proof.line)
    ]


def _judged(judge: Judge, proof: ProofPlan, boots: Sequence[StoredBoot]) -> Verdict:
    """Judge boots; what the judge cannot is never taken for BLOCKED."""
    attacks = [_records(boot, proof.line) for boot in boots]
    samples = [_arrays(attack, "samples") for attack in attacks]
    try:
        return judge(
            _side_by_side(samples) if proof.twins else samples[0],
            # The kernel's definitions hold for all programs; any may report one.
            {
                **_arrays(boots[0].records, "definition"),
                **_arrays(attacks[0], "definition"),
            },
            **proof.params,
        )
    except Exception as error:
        return unsupported(
            f"judge '{proof.judge}' failed: {type(error).__name__}: {error}"
        )


def _side_by_side(samples: Iterable[Arrays]) -> Arrays:
    """Join the samples of boots under names that end with the number of each."""
    return {
        f"{name}_{number}": values
        for number, arrays in enumerate(samples, 1)
        for name, values in arrays.items()
    }


def _cannot_judge(
    plan: RunPlan,
    slots: Sequence[Slot],
    proof: ProofPlan,
    boots: Sequence[StoredBoot],
) -> str:
    """Return why not; empty: a proof can judge the variant by its boots."""
    if not slots:
        return "it was not booted for it"
    if len(boots) < len(slots):
        return "it has not booted yet"
    needed = (*plan.definitions, proof.line)
    return next(filter(None, (_failure(plan, boot, needed) for boot in boots)), "")


def _failure(plan: RunPlan, boot: StoredBoot, needed: Iterable[str]) -> str:
    """Return why a boot, or a program of it that is needed, failed; empty: none."""
    if boot.facts.status != "ok":
        return f"the kernel failed: {boot.facts.error}"
    if lines := boot_complaints(plan, boot):
        return f"the kernel complained: {told(lines)}"
    for record in (record for line in needed for record in _records(boot, line)):
        if record["type"] != "exit" or not record["status"]:
            continue
        if record["status"] == UNSUPPORTED:
            return f"'{record['program']}' cannot run on this kernel"
        how = f"'{record['program']}' ended with status {record['status']}"
        return "; ".join([how, *_last_said(boot)])
    return ""


def _last_said(boot: StoredBoot) -> list[str]:
    # Programs that ran afterwards may have said it; most say nothing.
    said = last_of_programs(boot.console)
    return [f"the last that programs said: {'; '.join(said)}"] if said else []


def _records(boot: StoredBoot, line: str) -> list[dict[str, Any]]:
    """Return all records of the program that ``line`` runs, including its exit."""
    found: list[dict[str, Any]] = []
    running = ""
    for record in boot.records:
        if record["type"] == "start":
            running = record["program"]
        elif running == line:
            found.append(record)
        if record["type"] == "exit":
            running = ""
    return found


def _arrays(records: Iterable[Mapping[str, Any]], kind: str) -> Arrays:
    """Join the records of ``kind`` by name, in the order they came."""
    parts: dict[str, list[int]] = {}
    for record in records:
        if record["type"] == kind:
            parts.setdefault(record["name"], []).extend(record["values"])
    return {name: np.array(values, dtype=np.int64) for name, values in parts.items()}
