"""Writes reports on the terminal, never wider than 78 columns."""

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from temper.report.document import (
    Block,
    Bullets,
    Code,
    Command,
    Document,
    Framed,
    Paragraph,
    Section,
    Table,
    Tone,
)
from temper.report.layout import (
    BARS,
    WIDTH,
    Grid,
    Line,
    code_lines,
    grids,
)
from temper.report.text import text_blocks

_STYLES = {
    Tone.PLAIN: "",
    Tone.GOOD: "green",
    Tone.BAD: "red",
    Tone.DOUBT: "yellow",
    Tone.NOTE: "italic",
}


def print_documents(
    console: Console, documents: Iterable[Document], *, full: bool = False
) -> None:
    """Print reports, each with its conclusion last, where people look.

    ``full``: with all details.
    """
    writer = _Writer(console)
    for document in documents:
        writer.text(f"{document.heading}: {document.title}", "bold underline")
        writer.gap()
        writer.blocks(text_blocks(document, full=full))
        for paragraph in document.conclusion:
            weight = "" if paragraph.tone is Tone.NOTE else "bold "
            writer.text(paragraph.text, f"{weight}{_STYLES[paragraph.tone]}".strip())
        writer.gap()


class _Writer:
    """Prints plain text, never rich markup: kernel messages contain brackets."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._width = min(WIDTH, console.width)

    def gap(self) -> None:
        self._console.print()

    def text(self, text: str, style: str = "") -> None:
        self._print(Text(text, style))

    def blocks(self, blocks: Sequence[Block]) -> None:
        for block in blocks:
            self._block(block)

    def _block(self, block: Block) -> None:
        match block:
            case Paragraph():
                self.text(block.text, _STYLES[block.tone])
                self.gap()
            case Bullets():
                self._bullets(block.lines)
                self.gap()
            case Command() | Code():
                for line in code_lines(block, self._width):
                    self._console.print(Text(line), soft_wrap=True)
                self.gap()
            case Table():
                for grid in grids(block, self._width + BARS):
                    self._print(_table(grid))
                    self.gap()
            case Section():
                self.text(block.heading, "bold")
                self.blocks(block.blocks)
            case Framed():
                self.blocks(block.blocks)
            case _:
                raise AssertionError(f"{type(block).__name__} is not text")

    def _bullets(self, lines: Iterable[str]) -> None:
        for line in lines:
            bullet = RichTable.grid(padding=(0, 1, 0, 0))
            bullet.add_row(" -", Text(line))
            self._print(bullet)

    def _print(self, what: RichTable | Text) -> None:
        self._console.print(what, width=self._width)


def _table(grid: Grid) -> RichTable:
    table = RichTable(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for name in _aligned(("", *grid.headings), grid):
        table.add_column(Text(name))
    for line in grid.lines:
        table.add_row(*_cells(line, grid))
    return table


def _cells(line: Line, grid: Grid) -> Iterable[Text]:
    label, *cells = _aligned((line.label, *line.cells), grid)
    yield Text(label, "bold" if line.is_heading else "")
    for text, tone in zip(cells, line.tones, strict=True):
        yield Text(text, _STYLES[tone])


def _aligned(cells: Iterable[str], grid: Grid) -> Iterable[str]:
    """Pad cells: a column that Rich aligns to the right loses spaces at its end."""
    for number, (text, width) in enumerate(zip(cells, grid.widths, strict=True)):
        yield text if number in grid.text_columns else text.rjust(width)
