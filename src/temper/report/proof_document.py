"""The report of a proof, as a tree of blocks."""

from collections.abc import Iterable, Mapping
from functools import partial

from temper.analysis.models import ProofEvidence, ProofReport
from temper.extension import plots_of
from temper.invocation import as_typed
from temper.paths import FEATURES
from temper.report import words
from temper.report.attacks import (
    attack_lines,
    clock_lines,
    decisive_lines,
    example_lines,
    unexpected_lines,
)
from temper.report.configuration import configuration
from temper.report.document import (
    Block,
    Bullets,
    Cell,
    Detail,
    Document,
    PageOnly,
    Paragraph,
    Plot,
    Plots,
    Row,
    Section,
    Table,
    Tone,
)
from temper.report.in_force import in_force_details, in_force_line
from temper.report.outcomes import outcome_notes, outcome_summary, outcome_tables
from temper.report.provenance import downloads, made
from temper.report.verdict import left_out, verdict


def proof_document(report: ProofReport) -> Document:
    """Return a proof's report as blocks, in reading order."""
    return Document(
        heading=words.heading(report),
        feature=report.feature,
        title=report.title,
        conclusion=[
            *(Paragraph(line, Tone.DOUBT) for line in words.judges_lines(report)),
            Paragraph(verdict(report), _tone(report)),
            *(Paragraph(line, Tone.NOTE) for line in [left_out(report)] if line),
        ],
        blocks=[
            *(_many(report) if report.summarised else _few(report)),
            *map(Paragraph, clock_lines(report)),
            Paragraph(in_force_line(report)),
            *in_force_details(report),
            *configuration(report),
        ],
        made=made(report, words.configuration_line(report)),
        full=as_typed(f"temper report {report.run} --full"),
        downloads=downloads(report),
    )


def _tone(report: ProofReport) -> Tone:
    if not report.deciding:
        return Tone.DOUBT
    return Tone.GOOD if report.proven and report.as_expected else Tone.BAD


def _few(report: ProofReport) -> Iterable[Block]:
    """Show how each proof ended, and one line of why for what the verdict needs."""
    yield from outcome_tables(report)
    yield from map(Paragraph, outcome_notes(report))
    for proof, title in report.proofs.items():
        yield Detail(
            f"{report.label(proof)}: {title}",
            list(_attack(report, proof)),
            gist=[Bullets(decisive_lines(report, proof))],
            name=proof,
            contents=_ALL_EVIDENCE,
        )


def _many(report: ProofReport) -> Iterable[Block]:
    """Show how the proofs ended that ended alike, and what was not expected."""
    yield from outcome_summary(report)
    yield from map(Paragraph, outcome_notes(report))
    if lines := unexpected_lines(report):
        yield Section("Not as expected", [Bullets(lines)])
    if lines := example_lines(report):
        yield Section("As expected", [Bullets(lines)])
    yield Detail("The outcome of each proof", outcome_tables(report))
    attacks = [
        Detail(
            f"{report.label(proof)}: {title}",
            list(_attack(report, proof)),
            name=proof,
            contents=_ALL_EVIDENCE,
        )
        for proof, title in report.proofs.items()
    ]
    yield Detail("The evidence of each attack", attacks, contents=_ALL_EVIDENCE)


_ALL_EVIDENCE = "all evidence of each attack"


def _attack(report: ProofReport, proof: str) -> Iterable[Block]:
    yield Bullets(attack_lines(report, proof))
    evidence = {
        variant: found[proof]
        for variant, found in report.evidence.items()
        if proof in found
    }
    measures = Detail("All measures of this attack", [_measures(evidence)])
    plots = list(_plots(report, proof, evidence))
    drawn = [Plots("What the attack saw on each variant", plots)] if plots else []
    yield PageOnly([*drawn, measures])


def _plots(
    report: ProofReport, proof: str, evidence: Mapping[str, ProofEvidence]
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
        says = f"{proof} on {variant}: {'; '.join(evidence[variant].reasons)}"
        yield Plot(caption, says, partial(draw, series, variant))


def _measures(evidence: Mapping[str, ProofEvidence]) -> Table:
    names = dict.fromkeys(name for found in evidence.values() for name in found.figures)
    rows = (
        Row(name, tuple(_measure(found, name) for found in evidence.values()))
        for name in names
    )
    return Table(tuple(evidence), tuple(rows), "All measures of this attack")


def _measure(found: ProofEvidence, name: str) -> Cell:
    return Cell((f"{found.figures[name]:.6g}",)) if name in found.figures else Cell(())
