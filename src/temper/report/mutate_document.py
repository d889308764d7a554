"""The report on mutants, as a tree of blocks."""

from collections.abc import Iterable

from temper.analysis.mutants import MutantFound, MutateReport
from temper.invocation import as_typed
from temper.record.plan import Fate
from temper.report.document import (
    Block,
    Bullets,
    Cell,
    Code,
    Command,
    Detail,
    Document,
    Paragraph,
    Row,
    Section,
    Table,
    Tone,
)
from temper.report.provenance import downloads, made
from temper.report.strength import count, score

_FATES = {
    Fate.DISTINCT: "kernels of their own",
    Fate.SAME: "the same objects as without the mutant",
    Fate.DUPLICATE: "the same objects as another mutant",
    Fate.BROKEN: "do not compile",
    Fate.UNREACHED: "in lines that this configuration leaves out",
}


def mutate_document(report: MutateReport) -> Document:
    """Return the report as blocks: what was noticed by what, and what survived."""
    return Document(
        heading=f"Mutants of {report.feature}, run {report.run}",
        feature=report.feature,
        title=report.title,
        conclusion=list(_conclusion(report)),
        blocks=[
            *_compiled(report),
            *_noticed(report),
            *(_mutant(each) for each in report.survivors),
            *_excused(report),
            *_all_noticed(report),
            Section("To reproduce", [Command(as_typed(report.command))]),
        ],
        made=made(report, _speed(report)),
        full=as_typed(f"temper report {report.run} --full"),
        downloads=downloads(report),
    )


def _conclusion(report: MutateReport) -> Iterable[Paragraph]:
    if report.unsound:
        yield Paragraph(f"NO SCORE: {report.unsound}.", Tone.BAD)
    elif not report.mutants:
        yield Paragraph("NO SCORE: no mutant has booted yet.", Tone.BAD)
    else:
        tone = Tone.GOOD if report.clean else Tone.BAD
        yield Paragraph(f"{report.feature}: {_found(report)}.", tone)
    if report.pending:
        waiting = f"NOT FINISHED: {count(len(report.pending))} still to boot."
        yield Paragraph(waiting, Tone.BAD)


def _found(report: MutateReport) -> str:
    if report.strength:
        return score(report.strength)
    total, survived = len(report.mutants), len(report.survivors)
    why = "they were chosen" if report.chosen else "no score yet"
    return f"{total - survived} of {count(total)} noticed or accepted; {why}"


def _speed(report: MutateReport) -> str:
    return f"{report.per_hour:.0f} mutants an hour" if report.per_hour else ""


def _compiled(report: MutateReport) -> Iterable[Block]:
    rows = tuple(
        Row(says, (Cell((str(report.fates[fate]),)),))
        for fate, says in _FATES.items()
        if report.fates.get(fate)
    )
    table = Table(("mutants",), rows, "What the compiler made of the mutants")
    yield Section("What the compiler makes of them", [table])
    if places := report.unreached:
        lines = [f"{place.file}:{place.line}" for place in places]
        yield Detail("Lines that this configuration leaves out", [Bullets(lines)])


def _noticed(report: MutateReport) -> Iterable[Block]:
    counts = {
        **report.noticed_by,
        "nothing, and accepted": len(report.excused),
        "nothing": len(report.survivors),
    }
    rows = tuple(
        Row(by, (Cell((str(count),)),)) for by, count in counts.items() if count
    )
    if rows:
        table = Table(("mutants",), rows, "What noticed each mutant first")
        yield Section("What noticed them first", [table])


def _mutant(found: MutantFound) -> Block:
    heading = f"SURVIVED: {found.id} {found.does}"
    return Section(heading, [Code(found.hunk.split("\n")), *_once(found)])


def _once(found: MutantFound) -> Iterable[Block]:
    if found.once:
        yield Paragraph(
            f"One boot of two was noticed, by {found.once.by}: {found.once.how}."
        )


def _excused(report: MutateReport) -> Iterable[Block]:
    if report.excused:
        blocks: list[Block] = []
        for found in report.excused:
            blocks += [
                Paragraph(f"{found.id} {found.does}: {found.accepted}"),
                Code(found.hunk.split("\n")),
            ]
        yield Detail("Survivors that are accepted, with reasons", blocks)


def _all_noticed(report: MutateReport) -> Iterable[Block]:
    lines = [
        f"{found.id} {found.file}:{found.line} {found.does}: by {found.noticed.by}: "
        f"{found.noticed.how}"
        for found in report.mutants
        if found.noticed
    ]
    if lines:
        yield Detail("How each was noticed", [Bullets(lines)])
