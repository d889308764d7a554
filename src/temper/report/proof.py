"""Whether a feature holds, from the boots of a run and the judges."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np

from temper.catalog import Feature, Outcome, TargetProgram
from temper.report.boots import results_by_variant
from temper.report.configuration import variant_infos
from temper.report.models import InForceSummary, ProofEvidence, ProofReport
from temper.report.refusals import in_force_summaries
from temper.run.facts import StoredBoot, StoredRun
from temper.run.wire import UNSUPPORTED
from temper.stats.judges import Arrays, judge_named


def proof_report(run: StoredRun, feature: Feature) -> ProofReport:
    """Judge every variant of a run by all proofs of its feature.

    A feature is proven if every proof finds the control VULNERABLE (where it can
    apply to it) and the hardened variants BLOCKED, and the mitigation was on and off
    as it had to be in all variants. Of a run of a part of the feature that is asked
    of the part.
    """
    plan, here = run.plan, feature.proofs_on(run.plan.arch)
    part = feature.only(plan.titles, plan.params.get("proofs", here))
    planned = part.all_variants
    evidence = {
        boot.facts.variant: {name: _evidence(boot, part, name) for name in part.proofs}
        for boot in run.boots
    }
    in_force = in_force_summaries(plan, results_by_variant(run))
    return ProofReport(
        run=run.id,
        feature=plan.feature,
        title=feature.title,
        arch=plan.arch,
        machine=plan.machine,
        control=feature.control,
        outcomes={
            name: _worst(found.outcome for found in proofs.values())
            for name, proofs in evidence.items()
        },
        hardened=list(part.hardened),
        proven=_proven(part, evidence)
        and all(_was_in_force(in_force, name) for name in part.variants),
        sabotages=[name for name in evidence if name in part.sabotages],
        variants_left_out=_left_out(feature.variants, part.variants),
        proofs_left_out=_left_out(here, part.proofs),
        as_expected=all(_as_expected(evidence, name) for name in planned),
        evidence=evidence,
        in_force=in_force,
        variants=variant_infos(run),
        proofs={name: proof.title for name, proof in part.proofs.items()},
        command=plan.command,
    )


_AllEvidence = Mapping[str, Mapping[str, ProofEvidence]]


def _proven(part: Feature, evidence: _AllEvidence) -> bool:
    """Return whether something has to hold, and held against what does land."""
    lands = any(
        found.outcome is Outcome.VULNERABLE
        for found in evidence.get(part.control, {}).values()
    )
    decisive = (part.control, *part.hardened)
    return (
        bool(part.hardened)
        and lands
        and all(_as_expected(evidence, name) for name in decisive)
    )


def _left_out(known: Iterable[str], kept: Collection[str]) -> list[str]:
    return [name for name in known if name not in kept]


def _as_expected(evidence: _AllEvidence, variant: str) -> bool:
    return variant in evidence and all(
        not found.surprising for found in evidence[variant].values()
    )


def _was_in_force(summaries: Mapping[str, InForceSummary], variant: str) -> bool:
    summary = summaries.get(variant)
    return summary is not None and 0 < summary.checks == summary.agreed


def _worst(outcomes: Iterable[Outcome]) -> Outcome:
    found = set(outcomes)
    order = (Outcome.VULNERABLE, Outcome.UNSUPPORTED, Outcome.BLOCKED)
    return next(outcome for outcome in order if outcome in found)


def _evidence(boot: StoredBoot, part: Feature, name: str) -> ProofEvidence:
    proof = part.proofs[name]
    expected = part.all_variants[boot.facts.variant].expected(name)
    why = _cannot_judge(boot, (*part.definitions, proof))
    if why:
        return ProofEvidence(
            outcome=Outcome.UNSUPPORTED,
            expected=expected,
            reasons=[why],
            figures={},
            clock=boot.facts.clock,
        )
    attack = _records(boot, proof)
    verdict = judge_named(proof.judge)(
        _arrays(attack, "samples"),
        # What the kernel defines holds for all its programs; each may say it.
        {**_arrays(boot.records, "definition"), **_arrays(attack, "definition")},
        **proof.params,
    )
    return ProofEvidence(
        outcome=verdict.outcome,
        expected=expected,
        reasons=verdict.reasons,
        figures=verdict.figures,
        clock=boot.facts.clock,
        bins=verdict.bins,
        pairs=verdict.pairs,
    )


def _cannot_judge(boot: StoredBoot, needed: Iterable[TargetProgram]) -> str:
    if boot.facts.status != "ok":
        return f"the kernel failed: {boot.facts.error}"
    for record in (record for program in needed for record in _records(boot, program)):
        if record["type"] == "exit" and record["status"] == UNSUPPORTED:
            return f"'{record['program']}' cannot run on this kernel"
    return ""


def _records(boot: StoredBoot, program: TargetProgram) -> list[dict[str, Any]]:
    """Return what a run of ``program`` brought back, its exit and all."""
    found: list[dict[str, Any]] = []
    running = ""
    for record in boot.records:
        if record["type"] == "start":
            running = record["program"]
        elif running == program.line:
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
