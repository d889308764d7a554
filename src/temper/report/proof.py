"""Whether a feature holds, from the boots of a run and the judges."""

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from temper.catalog import Feature, Outcome, Proof
from temper.report.boots import results_by_variant
from temper.report.configuration import variant_infos
from temper.report.models import InForceSummary, ProofEvidence, ProofReport
from temper.report.refusals import in_force_summaries
from temper.run.facts import StoredBoot, StoredRun
from temper.run.wire import UNSUPPORTED
from temper.stats.judges import judge_named


def proof_report(run: StoredRun, feature: Feature) -> ProofReport:
    """Judge every variant of a run by all proofs of its feature.

    A feature is proven if the control is VULNERABLE and every hardened variant
    BLOCKED, and the mitigation was on and off as it had to be in all of them.
    """
    plan = run.plan
    expected = {
        name: variant.expect
        for name, variant in feature.all_variants.items()
        if name in plan.titles
    }
    evidence = {
        boot.facts.variant: {
            name: _evidence(boot, proof, expected[boot.facts.variant])
            for name, proof in feature.proofs.items()
        }
        for boot in run.boots
    }
    outcomes = {
        name: _worst(found.outcome for found in proofs.values())
        for name, proofs in evidence.items()
    }
    in_force = in_force_summaries(plan, results_by_variant(run))
    return ProofReport(
        run=run.id,
        feature=plan.feature,
        title=feature.title,
        arch=plan.arch,
        machine=plan.machine,
        control=feature.control,
        outcomes=outcomes,
        proven=all(
            outcomes.get(name) is variant.expect and _was_in_force(in_force, name)
            for name, variant in feature.variants.items()
        ),
        sabotages=[name for name in outcomes if name in feature.sabotages],
        as_expected=outcomes == expected,
        evidence=evidence,
        in_force=in_force,
        variants=variant_infos(run),
        proofs={name: proof.title for name, proof in feature.proofs.items()},
        command=plan.command,
    )


def _was_in_force(summaries: Mapping[str, InForceSummary], variant: str) -> bool:
    summary = summaries.get(variant)
    return summary is not None and 0 < summary.checks == summary.agreed


def _worst(outcomes: Iterable[Outcome]) -> Outcome:
    found = set(outcomes)
    order = (Outcome.VULNERABLE, Outcome.UNSUPPORTED, Outcome.BLOCKED)
    return next(outcome for outcome in order if outcome in found)


def _evidence(boot: StoredBoot, proof: Proof, expected: Outcome) -> ProofEvidence:
    why = _cannot_judge(boot, proof)
    if why:
        return ProofEvidence(
            outcome=Outcome.UNSUPPORTED,
            expected=expected,
            reasons=[why],
            figures={},
            clock=boot.facts.clock,
        )
    verdict = judge_named(proof.judge)(
        _arrays(boot, "samples"), _arrays(boot, "definition"), **proof.params
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


def _cannot_judge(boot: StoredBoot, proof: Proof) -> str:
    if boot.facts.status != "ok":
        return f"the kernel failed: {boot.facts.error}"
    for record in boot.records:
        if record["type"] == "exit" and record["status"] == UNSUPPORTED:
            return f"'{record['program']}' cannot run on this kernel"
    return ""


def _arrays(boot: StoredBoot, kind: str) -> dict[str, NDArray[np.int64]]:
    """Join the records of ``kind`` by name, in the order they came."""
    parts: dict[str, list[int]] = {}
    for record in boot.records:
        if record["type"] == kind:
            parts.setdefault(record["name"], []).extend(record["values"])
    return {name: np.array(values) for name, values in parts.items()}
