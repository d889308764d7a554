"""Whether a feature holds: the sentence at the end of a proof's report."""

from temper.analysis.in_force import objection
from temper.analysis.models import ProofEvidence, ProofReport
from temper.record.outcome import Outcome
from temper.report.attacks import Surprise, some, some_proofs, surprises
from temper.report.strength import score


def verdict(report: ProofReport) -> str:
    """Say whether the feature holds and, if it does not, why.

    If the run covers only part of the feature, say which part.
    """
    return ". ".join(_conclusion(report)) + "."


def _conclusion(report: ProofReport) -> list[str]:
    if report.proven:
        return [
            _proven(report),
            *_known_limits(report),
            *_beside(report),
            *_strength(report),
        ]
    if not report.deciding:
        only = f"This run shows only known limits of {report.feature}"
        return [f"{only} and proves nothing", *_not_in_force(report), _shown(report)]
    line = f"{report.feature} is NOT PROVEN: {'; '.join(_doubts(report))}"
    if report.hardened:
        return [line, *_known_limits(report)]
    return [line, _shown(report)]


def _proven(report: ProofReport) -> str:
    held = ", ".join(f"{variant} is BLOCKED" for variant in report.hardened)
    line = f"{report.feature} is PROVEN{_scope(report)}: "
    line += f"{report.control} is VULNERABLE, {held}"
    if len(report.deciding) > 1:
        line += f", by each of {len(report.deciding)} proofs{_exempt(report)}"
    return line


def _scope(report: ProofReport) -> str:
    """Name the variants and proofs that the verdict of a part covers."""
    scope = ""
    if report.variants_left_out:
        scope += f" for {', '.join(report.hardened)}"
    if report.proofs_left_out:
        scope += f" by {some(report.deciding)}"
    return scope


def _known_limits(report: ProofReport) -> list[str]:
    """Name the limits that land on hardened variants, as they are known to."""
    lands: dict[str, list[str]] = {}
    for proof in report.limits:
        on = [
            variant
            for variant in report.hardened
            if (found := report.evidence.get(variant, {}).get(proof))
            and _is(found, Outcome.VULNERABLE)
        ]
        if on:
            lands.setdefault(", ".join(on), []).append(proof)
    return [
        f"Known limits: {some(proofs)}, which land on {on}"
        if len(proofs) > 1
        else f"Known limit: {proofs[0]}, which lands on {on}"
        for on, proofs in lands.items()
    ]


def left_out(report: ProofReport) -> str:
    """Say which part of the feature the run does not cover; empty if it covers all."""
    parts = {"variants": report.variants_left_out, "proofs": report.proofs_left_out}
    said = [f"the {what} {some(left)}" for what, left in parts.items() if left]
    return f"Not in this run: {'; '.join(said)}." if said else ""


def _beside(report: ProofReport) -> list[str]:
    """Say how the variants came out that do not decide the verdict."""
    if unexpected := _unexpected(report):
        return [f"But some outcomes were not expected: {unexpected}"]
    tried = [name for name in report.sabotages if _expected(report, name)]
    if len(tried) < 2:
        return [f"The sabotage {name} came out as expected" for name in tried]
    which = "sabotages"
    if len(tried) < len(report.sabotages):
        which += " for these proofs"
    return [f"All {len(tried)} {which} came out as expected"]


def _strength(report: ProofReport) -> list[str]:
    found = report.strength
    if not found:
        return []
    when = f"run {found.run}, {found.started:%Y-%m-%d}"
    return [f"Of {found.variant}'s series, {score(found)} ({when})"]


def _shown(report: ProofReport) -> str:
    """Say what came out of a run without hardened variants."""
    if unexpected := _unexpected(report):
        return f"Some outcomes were not expected: {unexpected}"
    shown = [
        f"{variant} is {outcome}{f' by {proofs}' if len(report.proofs) > 1 else ''}"
        for variant in report.evidence
        for outcome, proofs in _expected(report, variant).items()
    ]
    return f"As expected: {'; '.join(shown)}"


def _expected(report: ProofReport, variant: str) -> dict[Outcome, str]:
    """Return outcome -> the proofs that were expected to find it and did."""
    evidence = report.evidence[variant]
    found = {
        outcome: [proof for proof, each in evidence.items() if _is(each, outcome)]
        for outcome in Outcome
    }
    return {
        outcome: some_proofs(report, proofs)
        for outcome, proofs in found.items()
        if proofs
    }


def _is(found: ProofEvidence, outcome: Outcome) -> bool:
    return found.outcome is outcome is found.expected


def _unexpected(report: ProofReport) -> str:
    return "; ".join(found.sentence for found in surprises(report))


def _exempt(report: ProofReport) -> str:
    """Say in brackets which proofs cannot apply to the control."""
    without = [
        proof
        for proof, found in report.evidence[report.control].items()
        if found.expected is Outcome.UNSUPPORTED and proof in report.deciding
    ]
    return f" ({some(without)} cannot apply to {report.control})" if without else ""


def _doubts(report: ProofReport) -> list[str]:
    decisive = (report.control, *report.hardened)
    doubts = [] if report.hardened else ["no hardened variant was attacked"]
    doubts += [
        f"{variant} was not attacked"
        for variant in decisive
        if variant not in report.evidence
    ]
    doubts += [
        _doubt(report, found)
        for found in surprises(report)
        if found.variant in decisive and not found.limit
    ]
    return [*doubts, *_not_in_force(report)] or ["see the evidence"]


def _not_in_force(report: ProofReport) -> list[str]:
    return [
        f"{variant}: {objection(checks)}"
        for variant, checks in report.in_force.items()
        if variant not in report.sabotages and objection(checks)
    ]


def _doubt(report: ProofReport, found: Surprise) -> str:
    if found.variant == report.control:
        return f"the control {found.state}, so the attack shows nothing"
    if found.outcome is Outcome.VULNERABLE:
        return f"{found.state}, so the attack landed"
    return f"{found.state}, and a proof that could not run proves nothing"
