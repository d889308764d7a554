"""How each proof ended on each variant, as grids of text that fit a mail."""

from collections.abc import Sequence

from temper.analysis.models import ProofEvidence, ProofReport
from temper.report.attacks import all_evidence
from temper.report.tables import Grid, short_name, side_by_side

SURPRISE_NOTE = "!: not what was expected."


def outcome_grids(report: ProofReport) -> list[Grid]:
    """Return the outcomes, ``!`` where not as expected.

    Variants are rows while all proofs fit side by side; else proofs are rows, and
    sabotages have grids of their own.
    """
    by_variant = side_by_side(report.proofs, lambda proofs: _by_variant(report, proofs))
    if len(by_variant) == 1:
        return by_variant
    return [
        grid
        for variants in (_sound(report), report.sabotages)
        for grid in side_by_side(variants, lambda names: _by_proof(report, names))
    ]


def _sound(report: ProofReport) -> list[str]:
    return [name for name in report.evidence if name not in report.sabotages]


def _by_variant(report: ProofReport, proofs: Sequence[str]) -> Grid:
    rows = [
        [short_name(variant), *(_cell(report, variant, proof) for proof in proofs)]
        for variant in report.evidence
    ]
    return Grid(_header(proofs), rows)


def _by_proof(report: ProofReport, variants: Sequence[str]) -> Grid:
    rows = [
        [short_name(proof), *(_cell(report, name, proof) for name in variants)]
        for proof in proofs_told(report, variants)
    ]
    return Grid(_header(variants), rows)


def proofs_told(report: ProofReport, variants: Sequence[str]) -> list[str]:
    """Return the proofs that a table of ``variants`` has a row for."""
    return [
        proof
        for proof in report.proofs
        if any(told(report, report.evidence[name][proof]) for name in variants)
    ]


def told(report: ProofReport, found: ProofEvidence) -> bool:
    """Return whether the tables have an outcome: of very many the expected ones."""
    return not report.summarised or found.expected is not None


def outcome_notes(report: ProofReport) -> list[str]:
    """Explain the mark in the tables of a report, and what they leave out."""
    surprised = any(found.surprising for *_, found in all_evidence(report))
    notes = [SURPRISE_NOTE if surprised else "", gaps_note(report)]
    return [note for note in notes if note]


def gaps_note(report: ProofReport) -> str:
    """Explain the gaps in the tables of a report; empty where there is none."""
    if all(told(report, found) for *_, found in all_evidence(report)):
        return ""
    return "Left out is what nothing was expected of; the JSON has it."


def _header(names: Sequence[str]) -> list[str]:
    return ["", *map(short_name, names)]


def _cell(report: ProofReport, variant: str, proof: str) -> str:
    found = report.evidence[variant][proof]
    if not told(report, found):
        return ""
    return found.outcome + (" !" if found.surprising else "")
