"""Writes reports for mail: valid Markdown that reads well as text, 78 columns."""

import textwrap
from collections.abc import Collection, Iterable, Sequence

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
from temper.report.layout import WIDTH, Grid, code_lines, grids
from temper.report.text import text_blocks


def to_markdown(documents: Iterable[Document], *, full: bool = False) -> str:
    """Return the reports as Markdown for a mail, with all details if ``full``.

    No line is longer than 78 columns, unless a single word of a command is: breaking
    the word would break the command.
    """
    parts = [part for document in documents for part in _document(document, full)]
    return "\n\n".join(parts) + "\n"


def _document(document: Document, full: bool) -> Iterable[str]:
    yield f"# {document.heading}"
    yield _wrap(f"{document.title}.")
    for paragraph in document.conclusion:
        weight = "" if paragraph.tone is Tone.NOTE else "**"
        yield _wrap(f"{weight}{paragraph.text}{weight}")
    yield from _blocks(text_blocks(document, full=full), 2)


def _blocks(blocks: Sequence[Block], level: int) -> Iterable[str]:
    for block in blocks:
        yield from _block(block, level)


def _block(block: Block, level: int) -> Iterable[str]:
    match block:
        case Paragraph():
            yield _wrap(block.text)
        case Bullets():
            yield _bullets(block.lines)
        case Command() | Code():
            yield _code(block)
        case Table():
            yield from map(_grid, grids(block))
        case Section():
            yield f"{'#' * level} {block.heading}"
            yield from _blocks(block.blocks, level + 1)
        case Framed():
            yield from _blocks(block.blocks, level)
        case _:
            raise AssertionError(f"{type(block).__name__} is not text")


def _grid(grid: Grid) -> str:
    widths, texts = grid.widths, grid.text_columns
    rule = [
        "-" * width if number in texts else "-" * (width - 1) + ":"
        for number, width in enumerate(widths)
    ]
    lines = [("", *grid.headings), rule, *((x.label, *x.cells) for x in grid.lines)]
    return "\n".join(_line(line, widths, texts) for line in lines)


def _line(cells: Sequence[str], widths: Sequence[int], texts: Collection[int]) -> str:
    padded = (
        cell.ljust(width) if number in texts else cell.rjust(width)
        for number, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "| " + " | ".join(padded) + " |"


def _code(block: Command | Code) -> str:
    lines = code_lines(block, WIDTH - len(_CODE))
    return "\n".join(f"{_CODE}{line}".rstrip() for line in lines)


_CODE = "    "
"""Starts the lines of a code block."""


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(_bullet(line) for line in lines if line)


def _bullet(text: str) -> str:
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent="- ",
        subsequent_indent="  ",
        break_on_hyphens=False,
    )


def _wrap(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_on_hyphens=False)
