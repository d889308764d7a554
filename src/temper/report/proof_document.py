"""The report of a proof, as a tree of blocks."""

from collections.abc import Iterable, Mapping
from functools import partial

from temper.analysis.models import ProofEvidence, ProofReport
from temper.extension import plots_of
from temper.paths import FEATURES
from temper.report import words
from temper.report.attacks import attack_lines, clock_lines, unexpected_lines
from temper.report.configuration import configuration
from temper.report.document import (
    Block,
    Bullets,
    Cell,
    Document,
    Fold,
    Folds,
    PageOnly,
    Paragraph,
    Plot,
    Plots,
    Row,
    Section,
    Table,
    Tone,
)
from temper.report.outcomes import outcome_notes, outcome_tables
from temper.report.verdict import verdict


def proof_document(report: ProofReport) -> Document:
    """Return a proof's report as blocks, in reading order."""
    good = report.proven and report.as_expected
    return Document(
        heading=words.heading(report),
        feature=report.feature,
        title=report.title,
        conclusion=[
            *(Paragraph(line, Tone.DOUBT) for line in words.judges_lines(report)),
            Paragraph(verdict(report), Tone.GOOD if good else Tone.BAD),
        ],
        blocks=[
            *outcome_tables(report),
            *map(Paragraph, outcome_notes(report)),
            *(_summary(report) if report.summarised else _attacks(report)),
            *map(Paragraph, clock_lines(report)),
            Section(words.IN_FORCE_TITLE, [Bullets(words.in_force_lines(report))]),
            *configuration(report),
        ],
        source=f"proof run {report.run}",
    )


def _attacks(report: ProofReport) -> Iterable[Block]:
    for proof, title in report.proofs.items():
        yield Section(f"{proof}: {title}", list(_attack(report, proof)))


def _summary(report: ProofReport) -> Iterable[Block]:
    """For a run of many proofs, say what was not expected and what each one tries."""
    if lines := unexpected_lines(report):
        yield Section("Not as expected", [Bullets(lines)])
    yield Section(
        "The attacks",
        [
            Paragraph(_TRIES_NOTE, Tone.NOTE),
            Folds(
                [
                    Fold(f"{proof}: {title}", list(_attack(report, proof)))
                    for proof, title in report.proofs.items()
                ]
            ),
        ],
    )


_TRIES_NOTE = "What each attack tries; the JSON says why each ended as it did."


def _attack(report: ProofReport, proof: str) -> Iterable[Block]:
    yield Bullets(attack_lines(report, proof))
    evidence = {
        variant: found[proof]
        for variant, found in report.evidence.items()
        if proof in found
    }
    measures = Fold("All measures of this attack", [_measures(evidence)])
    yield PageOnly([Plots(list(_plots(report, evidence))), Folds([measures])])


def _plots(
    report: ProofReport, evidence: Mapping[str, ProofEvidence]
) -> Iterable[Plot]:
    """Draw what a proof found on each variant, with the feature's own plots."""
    draw = plots_of(FEATURES / report.feature)
    series = {
        variant: found.series for variant, found in evidence.items() if found.series
    }
    if draw is None:
        return
    for variant in series:
        caption = f"{variant}: {evidence[variant].outcome}"
        yield Plot(caption, partial(draw, series, variant))


def _measures(evidence: Mapping[str, ProofEvidence]) -> Table:
    names = dict.fromkeys(name for found in evidence.values() for name in found.figures)
    rows = (
        Row(name, tuple(_measure(found, name) for found in evidence.values()))
        for name in names
    )
    return Table(tuple(evidence), tuple(rows))


def _measure(found: ProofEvidence, name: str) -> Cell:
    return Cell((f"{found.figures[name]:.6g}",)) if name in found.figures else Cell(())
