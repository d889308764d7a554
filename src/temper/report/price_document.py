"""The report of a price, as a tree of blocks."""

from collections.abc import Iterable, Sequence

from temper.analysis.models import Distribution, PriceReport, Switches
from temper.report import words
from temper.report.configuration import configuration
from temper.report.document import (
    Block,
    Bullets,
    Document,
    Framed,
    PageOnly,
    Paragraph,
    Plot,
    Section,
    Table,
    Tone,
)
from temper.report.tables import class_table, model_table, price_table, switch_table


def price_document(report: PriceReport) -> Document:
    """Return a price report as blocks, in reading order."""
    return Document(
        heading=words.heading(report),
        feature=report.feature,
        title=report.title,
        conclusion=[
            *(Paragraph(line, Tone.BAD) for line in words.warnings(report)),
            *(Paragraph(line) for line in words.headlines(report)),
        ],
        blocks=[
            *_prices(report),
            *_ticks(report),
            *_distributions(report),
            *_classes(report),
            *(_switches(report, report.switches) if report.switches else []),
            Section(words.IN_FORCE_TITLE, [Bullets(words.in_force_lines(report))]),
            *configuration(report),
        ],
        source=f"{report.kind} run {report.run}",
    )


def _prices(report: PriceReport) -> Iterable[Block]:
    table = price_table(report, without_ticks=True)
    if table is None:
        return
    yield Paragraph(words.table_title(report), Tone.NOTE)
    yield table
    yield Paragraph(words.legend(report))
    yield Paragraph(words.reading(report))
    yield Bullets(words.notes(report))


def _ticks(report: PriceReport) -> Iterable[Block]:
    table = price_table(report, without_ticks=False)
    if table is not None:
        yield _noted(words.TICKED_TITLE, words.TICKED_NOTE, table)


def _classes(report: PriceReport) -> Iterable[Block]:
    table = class_table(report)
    if table is not None:
        yield _noted(words.CLASS_TITLE, words.class_note(report), table)


def _switches(report: PriceReport, switches: Switches) -> Iterable[Block]:
    counted, model = switch_table(report), model_table(report)
    if counted is None or model is None:
        return
    note = words.switch_note(report, switches)
    yield _noted(words.switch_title(switches), note, counted)
    note = words.model_note(report, switches)
    yield Framed([_noted(words.model_title(switches), note, model)])


def _noted(heading: str, note: str, table: Table) -> Section:
    return Section(heading, [Paragraph(note, Tone.NOTE), table])


def _distributions(report: PriceReport) -> Iterable[Block]:
    workloads = dict.fromkeys(one.workload for one in report.distributions)
    plots = [
        _distribution([one for one in report.distributions if one.workload == name])
        for name in workloads
    ]
    if plots:
        yield PageOnly([Section("Distributions", plots)])


def _distribution(distributions: Sequence[Distribution]) -> Plot:
    def draw(name: str) -> str:
        # Imported here: matplotlib takes a second to load, and only HTML needs it.
        from temper.report.plots import distribution_svg  # noqa: PLC0415

        return distribution_svg(name, distributions)

    return Plot(words.distribution_caption(distributions), draw)
