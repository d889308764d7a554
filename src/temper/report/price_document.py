"""The report of a price, as a tree of blocks."""

from collections.abc import Iterable
from functools import partial

from temper.analysis.models import PriceReport, Switches
from temper.invocation import as_typed
from temper.report import brief, words
from temper.report.configuration import configuration
from temper.report.distributions import distributions
from temper.report.document import (
    Block,
    Bullets,
    Detail,
    Document,
    Download,
    Framed,
    Paragraph,
    Table,
    Tone,
)
from temper.report.in_force import in_force_details
from temper.report.overall import overall_lines
from temper.report.picture import picture_of_all, price_picture
from temper.report.provenance import downloads, file_name, made
from temper.report.summary import leading, summaries
from temper.report.tables import (
    class_table,
    model_table,
    once_table,
    price_table,
    summary_table,
    switch_table,
)
from temper.report.whole_loop import whole_loop_notes


def price_document(report: PriceReport) -> Document:
    """Return a price report as blocks, in reading order."""
    return Document(
        heading=words.heading(report),
        feature=report.feature,
        title=report.title,
        conclusion=[
            *(Paragraph(line, Tone.BAD) for line in words.warnings(report)),
            *(Paragraph(line) for line in words.headlines(report)),
            *(Paragraph(line) for line in overall_lines(report)),
        ],
        blocks=[
            *_summary(report),
            Bullets(brief.trust_lines(report)),
            *_all_classes(report),
            *_ticks(report),
            *distributions(report),
            *_classes(report),
            *(_switches(report, report.switches) if report.switches else []),
            *_once(report),
            *in_force_details(report),
            *configuration(report),
        ],
        made=made(report, words.configuration_line(report)),
        full=as_typed(f"temper report {report.run} --full"),
        chart=price_picture(report),
        downloads=[*downloads(report), *_picture(report)],
    )


def price_svg(report: PriceReport) -> str:
    """Return the picture of all workloads as an SVG file; empty without prices."""
    # Imported here: only files and pages need what draws them, and that takes a second.
    from temper.report.bar_plot import bar_plot  # noqa: PLC0415

    picture = picture_of_all(report)
    title = f"{words.heading(report)}: {report.title}, {report.arch}"
    return bar_plot(picture, title) if picture else ""


def _picture(report: PriceReport) -> Iterable[Download]:
    if report.rows:
        yield Download(
            "SVG of all workloads",
            f"{file_name(report)}.svg",
            "image/svg+xml",
            partial(price_svg, report),
        )


def _summary(report: PriceReport) -> Iterable[Block]:
    """Show one line for each workload and variant, of the dearest workloads."""
    first, others = leading(summaries(report))
    if not first:
        return
    yield Paragraph(brief.brief_title(report), Tone.NOTE)
    yield summary_table(report, first)
    yield Paragraph(brief.brief_legend(report, first))
    if others:
        yield Bullets(brief.other_lines(others))
        table = summary_table(report, [*first, *others])
        picture = picture_of_all(report)
        yield Detail("All workloads", [*([picture] if picture else []), table])


def _all_classes(report: PriceReport) -> Iterable[Block]:
    table = price_table(report, without_ticks=True)
    if table is None:
        return
    yield Detail(
        "All result classes",
        [
            Paragraph(words.table_title(report), Tone.NOTE),
            table,
            Paragraph(words.legend(report)),
            Paragraph(words.reading(report)),
            Bullets([*words.notes(report), *whole_loop_notes(report)]),
        ],
    )


def _ticks(report: PriceReport) -> Iterable[Block]:
    table = price_table(report, without_ticks=False)
    if table is not None:
        note = words.TICKED_NOTE
        yield _noted(words.TICKED_TITLE, note, table, "samples hit by a timer tick")


def _classes(report: PriceReport) -> Iterable[Block]:
    table = class_table(report)
    if table is not None:
        yield _noted(words.CLASS_TITLE, words.class_note(report), table)


def _once(report: PriceReport) -> Iterable[Block]:
    table = once_table(report)
    if table is not None:
        yield _noted(words.ONCE_TITLE, words.once_note(report), table)


def _switches(report: PriceReport, switches: Switches) -> Iterable[Block]:
    counted, model = switch_table(report), model_table(report)
    if counted is None or model is None:
        return
    note = words.switch_note(report, switches)
    yield _noted(words.switch_title(switches), note, counted)
    note = words.model_note(report, switches)
    title = words.model_title(switches)
    yield Framed([_noted(title, note, model, "what hardware may take for them")])


def _noted(heading: str, note: str, table: Table, contents: str = "") -> Detail:
    return Detail(heading, [Paragraph(note, Tone.NOTE), table], contents=contents)
