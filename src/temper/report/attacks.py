"""What a run's attacks found, in sentences; of many attacks, only what matters."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from temper.analysis.models import ProofEvidence, ProofReport
from temper.record.outcome import Outcome

_MOST_REASONS = 3
_MOST_NAMES, _FIRST_NAMES = 6, 3


@dataclass(frozen=True)
class Surprise:
    """An unexpected outcome that one or more proofs found on a variant."""

    variant: str
    outcome: Outcome
    expected: Outcome | None
    by: str
    """The proofs as `` by a, b``; empty if the report has only one."""
    reasons: tuple[str, ...]
    limit: bool
    """Whether these proofs show known limits."""

    @property
    def state(self) -> str:
        """Say how the proofs ended."""
        return f"{self.variant} is {self.outcome}{self.by}"

    @property
    def sentence(self) -> str:
        """Say how the proofs ended, and how they should have."""
        return f"{self.state}, but {self.expected} was expected"


def surprises(report: ProofReport, *, by_reason: bool = False) -> list[Surprise]:
    """Return unexpected outcomes; proofs with the same outcome share an entry.

    ``by_reason``: they share an entry only if their reasons are the same as well.
    """
    alike: dict[
        tuple[str, Outcome, Outcome | None, tuple[str, ...], bool], list[str]
    ] = {}
    for variant, proof, found in all_evidence(report):
        if found.surprising:
            why = tuple(found.reasons) if by_reason else ()
            limit = proof in report.limits
            key = (variant, found.outcome, found.expected, why, limit)
            alike.setdefault(key, []).append(proof)
    return [
        Surprise(variant, outcome, expected, _by(report, proofs), why, limit)
        for (variant, outcome, expected, why, limit), proofs in alike.items()
    ]


def all_evidence(report: ProofReport) -> list[tuple[str, str, ProofEvidence]]:
    """Return (variant, proof, evidence), in the order of the report."""
    return [
        (variant, proof, found)
        for variant, proofs in report.evidence.items()
        for proof, found in proofs.items()
    ]


def some(names: Collection[str]) -> str:
    """List names; if there are many, the first few and how many more."""
    if len(names) <= _MOST_NAMES:
        return ", ".join(names)
    first = ", ".join(list(names)[:_FIRST_NAMES])
    return f"{first} and {len(names) - _FIRST_NAMES} more"


def some_proofs(report: ProofReport, proofs: Iterable[str]) -> str:
    """List proofs as ``some`` does, with limits called so."""
    return some([report.label(proof) for proof in proofs])


def _by(report: ProofReport, proofs: Sequence[str]) -> str:
    return f" by {some_proofs(report, proofs)}" if len(report.proofs) > 1 else ""


def unexpected_lines(report: ProofReport) -> list[str]:
    """Say what was not expected, and why; proofs with the same reasons share a line."""
    return [
        f"{found.sentence}: {_why(found.reasons)}"
        for found in surprises(report, by_reason=True)
    ]


def attack_lines(report: ProofReport, proof: str) -> list[str]:
    """Say how a proof ended on each variant, and why."""
    return [
        f"{variant} is {found.outcome}: {_why(found.reasons)}"
        for variant, name, found in all_evidence(report)
        if name == proof
    ]


def decisive_lines(report: ProofReport, proof: str) -> list[str]:
    """Say in short how a proof ended on the variants that the verdict depends on.

    Unexpected outcomes count among them, and all outcomes if no variant had to hold.
    """
    return [
        f"{variant} is {found.outcome}: {_first(found)}"
        for variant, name, found in all_evidence(report)
        if name == proof and (found.surprising or _decides(report, variant))
    ]


def example_lines(report: ProofReport) -> list[str]:
    """Say of a run of many proofs how they ended on those variants, with an example."""
    alike: dict[tuple[str, Outcome, bool], list[tuple[str, ProofEvidence]]] = {}
    for variant, proof, found in all_evidence(report):
        if not found.surprising and _decides(report, variant):
            key = (variant, found.outcome, proof in report.limits)
            alike.setdefault(key, []).append((proof, found))
    return [
        f"{variant} is {outcome} by {some_proofs(report, dict(proofs))}; "
        f"{proofs[0][0]}: {_first(proofs[0][1])}"
        for (variant, outcome, _), proofs in alike.items()
    ]


def _decides(report: ProofReport, variant: str) -> bool:
    if not report.hardened:
        return variant not in report.sabotages
    return variant in (report.control, *report.hardened)


def _first(found: ProofEvidence) -> str:
    return found.reasons[0].rstrip(".") if found.reasons else "no reason was recorded"


def clock_lines(report: ProofReport) -> list[str]:
    """Say what clock the attacked kernels had; if several, to which proofs each was."""
    proofs: dict[str, dict[str, None]] = {}
    for _, proof, found in all_evidence(report):
        if found.clock:
            proofs.setdefault(found.clock, {})[proof] = None
    if len(proofs) == 1:
        return [f"Clock of the guest: {clock}." for clock in proofs]
    return [
        f"Clock of the guest, {', '.join(names)}: {clock}."
        for clock, names in proofs.items()
    ]


def _why(reasons: Sequence[str]) -> str:
    """Join the first few reasons; the JSON has them all."""
    more = len(reasons) - _MOST_REASONS
    said = "; ".join(reasons[:_MOST_REASONS]).rstrip(".")
    return f"{said}; and {more} more in the JSON" if more > 0 else said
