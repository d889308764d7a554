"""Reports on the terminal: what a stranger needs, never wider than 78 columns."""

from collections.abc import Iterable

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from temper.analysis.models import Mark, PriceReport, ProofReport
from temper.record.outcome import Outcome
from temper.report import words
from temper.report.attacks import clock_lines, sections
from temper.report.outcomes import outcome_grids, outcome_notes
from temper.report.tables import (
    WIDTH,
    Grid,
    class_grids,
    model_grids,
    price_grids,
    switch_grids,
)
from temper.report.verdict import verdict

_STYLES = {
    Mark.DEARER: "red",
    Mark.CHEAPER: "green",
    Mark.UNKNOWN: "yellow",
    Outcome.VULNERABLE: "red",
    Outcome.BLOCKED: "green",
    Outcome.UNSUPPORTED: "yellow",
}


def print_price(console: Console, report: PriceReport) -> None:
    """Print a price: what it costs, the tables, and what backs them."""
    out = _Printer(console)
    out.title(f"{words.heading(report)}: {report.title}")
    for line in words.warnings(report):
        out.text(line, "bold red")
    for line in words.headlines(report):
        out.text(line, "bold")
    if report.rows:
        _print_tables(out, report)
    else:
        out.gap()
    out.section(words.IN_FORCE_TITLE)
    out.bullets(words.in_force_lines(report))
    _print_variants(out, report)


def print_proof(console: Console, report: ProofReport) -> None:
    """Print a proof: the outcomes, why each is what it is, then the verdict."""
    out = _Printer(console)
    out.title(f"{words.heading(report)}: {report.title}")
    for grid in outcome_grids(report):
        out.print(_table(grid))
        out.gap()
    for line in outcome_notes(report):
        out.text(line)
        out.gap()
    for part in sections(report):
        out.section(f"{part.heading}: {part.subject}")
        out.bullets(part.lines)
        out.gap()
    for line in clock_lines(report):
        out.text(line)
    out.gap()
    out.section(words.IN_FORCE_TITLE)
    out.bullets(words.in_force_lines(report))
    _print_variants(out, report)
    out.gap()
    good = report.proven and report.as_expected
    out.text(verdict(report), "bold green" if good else "bold red")


def _print_variants(out: "_Printer", report: PriceReport | ProofReport) -> None:
    out.gap()
    out.section("Variants")
    out.bullets(words.variant_lines(report))


class _Printer:
    """Prints plain text, never markup: kernels print brackets too."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._width = min(WIDTH, console.width)

    def print(self, what: Table | Text) -> None:
        self._console.print(what, width=self._width)

    def text(self, text: str, style: str = "") -> None:
        self.print(Text(text, style))

    def gap(self) -> None:
        self._console.print()

    def title(self, text: str) -> None:
        self.text(text, "bold underline")
        self.gap()

    def section(self, text: str) -> None:
        self.text(text, "bold")

    def bullets(self, lines: Iterable[str]) -> None:
        for line in lines:
            bullet = Table.grid(padding=(0, 1, 0, 0))
            bullet.add_row(" -", Text(line))
            self.print(bullet)

    def grids(self, grids: Iterable[Grid]) -> None:
        self.gap()
        for grid in grids:
            self.print(_table(grid))
            self.gap()


def _print_tables(out: _Printer, report: PriceReport) -> None:
    out.gap()
    out.text(words.table_title(report, without_ticks=True), "italic")
    out.grids(price_grids(report, without_ticks=True))
    out.text(words.legend(report))
    out.text(words.reading(report))
    out.gap()
    out.bullets(words.notes(report))
    out.gap()
    ticked = price_grids(report, without_ticks=False)
    if ticked:
        out.section(words.TICKED_TITLE)
        out.text(words.TICKED_NOTE, "italic")
        out.grids(ticked)
    classes = class_grids(report)
    if classes:
        out.section(words.CLASS_TITLE)
        out.text(words.class_note(report), "italic")
        out.grids(classes)
    if report.switches:
        out.section(words.switch_title(report.switches))
        out.text(words.switch_note(report, report.switches), "italic")
        out.grids(switch_grids(report))
        out.section(words.model_title(report.switches))
        out.text(words.model_note(report, report.switches), "italic")
        out.grids(model_grids(report))


def _table(grid: Grid) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column(Text(grid.header[0]))
    for name in grid.header[1:]:
        table.add_column(Text(name), justify="right")
    for label, *cells in grid.rows:
        style = "" if any(cells) else "bold"
        table.add_row(Text(label, style), *map(_marked, cells))
    return table


def _marked(cell: str) -> Text:
    for mark, style in _STYLES.items():
        if cell.removesuffix(" !").endswith(mark):
            return Text(cell, style)
    return Text(cell)
