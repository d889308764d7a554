"""The report of an exposure, as a tree of blocks."""

from collections.abc import Iterable, Sequence

from temper.analysis.exposure import ExposureReport, FunctionRow, StretchRow
from temper.invocation import as_typed
from temper.report.configuration import configuration
from temper.report.document import (
    Block,
    Bullets,
    Cell,
    Detail,
    Document,
    Paragraph,
    Row,
    Section,
    Table,
    Tone,
)
from temper.report.in_force import in_force_details
from temper.report.provenance import downloads, made

_SHOWN = 20
_COLUMNS = ("stretches", "p50", "p99.9", "longest", "of the kernel's")
_NOTE = (
    "Instructions from the write that opens the register to the one that closes it. "
    "An interrupt, an exception or an NMI closes it first thing: a stretch ends there, "
    "and another one begins where the interrupted code gets its rights back. Beside "
    "them: the part of the kernel's instructions that ran while it was open."
)


def exposure_document(report: ExposureReport) -> Document:
    """Return the report as blocks: stretches, functions, what must not be."""
    return Document(
        heading=f"Exposure of {report.feature}, run {report.run}",
        feature=report.feature,
        title=f"{report.title}: for how long {report.register_title} are open",
        conclusion=list(_conclusion(report)),
        blocks=[
            *(_wrong(name, lines) for name, lines in report.faults.items()),
            *(block for name in _measured(report) for block in _variant(report, name)),
            *in_force_details(report),
            *configuration(report),
        ],
        made=made(report),
        full=as_typed(f"temper report {report.run} --full"),
        downloads=downloads(report),
    )


def _measured(report: ExposureReport) -> list[str]:
    return list(dict.fromkeys(row.variant for row in report.rows))


def _conclusion(report: ExposureReport) -> Iterable[Paragraph]:
    for variant, why in report.refused.items():
        yield Paragraph(f"{variant}: NOT MEASURED: {why}.", Tone.BAD)
    for row in report.rows:
        if not row.workload:
            yield Paragraph(_summary(row))
    for variant, lines in report.faults.items():
        more = f" (and {len(lines) - 1:,} more)" if len(lines) > 1 else ""
        yield Paragraph(f"{variant}: NOT CLEAN: {lines[0]}{more}.", Tone.BAD)


def _summary(row: StretchRow) -> str:
    if not row.stretches:
        return f"{row.variant}: never open."
    return (
        f"{row.variant}: open {row.stretches:,} times, at most for {row.longest:,} "
        f"instructions (p99.9: {row.p99_9:,}, p50: {row.p50:,})."
    )


def _wrong(variant: str, lines: Sequence[str]) -> Section:
    return Section(f"{variant}: what must not be", [Bullets(lines)])


def _variant(report: ExposureReport, variant: str) -> Iterable[Block]:
    rows = [row for row in report.rows if row.variant == variant]
    yield Section(
        f"{variant}: open stretches",
        [Paragraph(_NOTE, Tone.NOTE), _stretches(rows)],
    )
    functions = [row for row in report.functions if row.variant == variant]
    if not functions:
        return
    title = f"{variant}: functions that ran while it was open"
    first = [_functions(functions[:_SHOWN])]
    left = len(functions) - _SHOWN
    if left > 0:
        more = Paragraph(f"And {left:,} more, each with fewer instructions.")
        yield Detail(title, [_functions(functions)], gist=[*first, more])
    else:
        yield Section(title, first)


def _stretches(rows: Sequence[StretchRow]) -> Table:
    return Table(
        _COLUMNS,
        tuple(
            Row(
                row.workload or "all workloads",
                tuple(
                    Cell((text,))
                    for text in (
                        f"{row.stretches:,}",
                        f"{row.p50:,}",
                        f"{row.p99_9:,}",
                        f"{row.longest:,}",
                        f"{row.share:.2%}",
                    )
                ),
            )
            for row in rows
        ),
        "Stretches with the register open, in instructions",
    )


def _functions(rows: Sequence[FunctionRow]) -> Table:
    return Table(
        ("instructions", "share"),
        tuple(
            Row(
                row.function,
                (
                    Cell((f"{row.instructions:,}",), _tone(row)),
                    Cell((f"{row.share:.2%}",), _tone(row)),
                ),
            )
            for row in rows
        ),
        "Instructions that ran while the register was open, by function",
    )


def _tone(row: FunctionRow) -> Tone:
    return Tone.BAD if row.forbidden else Tone.PLAIN
