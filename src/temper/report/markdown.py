"""Writes reports for mail: valid Markdown that reads well as text, 78 columns."""

import shlex
import textwrap
from collections.abc import Iterable, Sequence

from temper.report.document import (
    Block,
    Bullets,
    Command,
    Document,
    FinePrint,
    Folds,
    Framed,
    Paragraph,
    Section,
    Table,
)
from temper.report.layout import WIDTH, Grid, grids


def to_markdown(documents: Iterable[Document]) -> str:
    """Return the reports as Markdown for a mail.

    No line is longer than 78 columns, unless a single word of a command is: breaking
    the word would break the command.
    """
    parts = [part for document in documents for part in _document(document)]
    return "\n\n".join(parts) + "\n"


def _document(document: Document) -> Iterable[str]:
    yield f"# {document.heading}"
    yield _wrap(f"{document.title}.")
    for paragraph in document.conclusion:
        yield _wrap(f"**{paragraph.text}**")
    yield from _blocks(document.blocks, 2)


def _blocks(blocks: Sequence[Block], level: int) -> Iterable[str]:
    for block in blocks:
        yield from _block(block, level)


def _block(block: Block, level: int) -> Iterable[str]:
    match block:
        case Paragraph():
            yield _wrap(block.text)
        case Bullets():
            yield _bullets(block.lines)
        case Command():
            yield _command(block.line)
        case Table():
            yield from map(_grid, grids(block))
        case Section():
            yield f"{'#' * level} {block.heading}"
            yield from _blocks(block.blocks, level + 1)
        case Folds():
            yield _bullets(fold.summary for fold in block.folds)
        case FinePrint() | Framed():
            yield from _blocks(block.blocks, level)
        case _:
            # Plots and their folds are for pages only.
            return


def _grid(grid: Grid) -> str:
    widths = grid.widths
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    lines = [("", *grid.headings), rule, *((x.label, *x.cells) for x in grid.lines)]
    return "\n".join(_line(line, widths) for line in lines)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = zip(cells, widths, strict=True)
    padded = [first[0].ljust(first[1]), *(cell.rjust(w) for cell, w in others)]
    return "| " + " | ".join(padded) + " |"


def _command(command: str) -> str:
    """Return an indented code block; lines break between words, after ``\\``."""
    lines = [""]
    for word in map(shlex.quote, shlex.split(command)):
        if lines[-1] and len(lines[-1]) + len(word) > WIDTH - 8:
            lines.append("  " + word)
        else:
            lines[-1] = f"{lines[-1]} {word}".lstrip() if lines[-1] else word
    return " \\\n".join(f"    {line}" for line in lines)


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
