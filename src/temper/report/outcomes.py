"""How each proof ended on each variant, as tables."""

from collections.abc import Sequence
from dataclasses import replace

from temper.analysis.models import ProofEvidence, ProofReport
from temper.record.outcome import Outcome
from temper.report.attacks import all_evidence
from temper.report.document import Cell, Row, Table, Tone
from temper.report.layout import fits

SURPRISE_NOTE = "!: not the expected outcome."

_CAPTION = "How each proof ended on each variant"

OUTCOME_TONES = {
    Outcome.VULNERABLE: Tone.BAD,
    Outcome.DETECTED: Tone.DOUBT,
    Outcome.BLOCKED: Tone.GOOD,
    Outcome.UNSUPPORTED: Tone.DOUBT,
}


def outcome_tables(report: ProofReport) -> list[Table]:
    """Return tables of the outcomes, with ``!`` at those that were not expected.

    If all proofs fit side by side, variants are rows; otherwise proofs are rows, and
    sabotages have a table of their own.
    """
    by_variant = _by_variant(report)
    if fits(by_variant):
        return [by_variant]
    sound = [name for name in report.evidence if name not in report.sabotages]
    return [
        _by_proof(report, variants)
        for variants in (sound, report.sabotages)
        if variants
    ]


def outcome_summary(report: ProofReport) -> list[Table]:
    """Return the same tables, but proofs that ended alike everywhere share a row."""
    return [_merged(table) for table in outcome_tables(report)]


def _merged(table: Table) -> Table:
    alike: dict[tuple[Cell, ...], list[str]] = {}
    for row in table.rows:
        cells = tuple(replace(cell, see="") for cell in row.cells)
        alike.setdefault(cells, []).append(row.label)
    rows = (Row(_together(labels), cells) for cells, labels in alike.items())
    return Table(table.columns, tuple(rows), table.caption)


def _together(labels: Sequence[str]) -> str:
    first, *others = labels
    return f"{first} and {len(others)} more" if others else first


def _by_variant(report: ProofReport) -> Table:
    rows = (
        Row(variant, tuple(_cell(report, variant, proof) for proof in report.proofs))
        for variant in report.evidence
    )
    return Table(tuple(map(report.label, report.proofs)), tuple(rows), _CAPTION)


def _by_proof(report: ProofReport, variants: Sequence[str]) -> Table:
    rows = (
        Row(report.label(proof), tuple(_cell(report, name, proof) for name in variants))
        for proof in report.proofs
        if any(_cell(report, name, proof).parts for name in variants)
    )
    return Table(tuple(variants), tuple(rows), _CAPTION)


def _told(report: ProofReport, found: ProofEvidence) -> bool:
    """Whether the tables show an outcome; summaries omit those with no expectation."""
    return not report.summarised or found.expected is not None


def outcome_notes(report: ProofReport) -> list[str]:
    """Explain the mark in a report's tables, and what the tables leave out."""
    found = [each for *_, each in all_evidence(report)]
    notes = []
    if any(each.surprising for each in found):
        notes.append(SURPRISE_NOTE)
    if report.limits:
        notes.append(f"(limit): {report.feature} does not claim to stop this attack.")
    if len(found) < len(report.evidence) * len(report.proofs):
        notes.append(UNTRIED_NOTE)
    if not all(_told(report, each) for each in found):
        notes.append(GAPS_NOTE)
    return notes


UNTRIED_NOTE = "Empty: no outcome was expected, so that attack was not made."
GAPS_NOTE = "The tables omit outcomes for which none was expected; the JSON has them."


def _cell(report: ProofReport, variant: str, proof: str) -> Cell:
    found = report.evidence[variant].get(proof)
    if found is None or not _told(report, found):
        return Cell(())
    mark = " !" if found.surprising else ""
    # That a limit lands is no failure, and no success on the control.
    tone = Tone.PLAIN if proof in report.limits else OUTCOME_TONES[found.outcome]
    return Cell((found.outcome + mark,), tone, see=proof)
