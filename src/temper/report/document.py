"""A report as a tree of blocks: made once, written by each writer.

A new section of a report is one function that returns a block. The writers
(``terminal``, ``markdown``, ``html``) know blocks, and nothing of prices or proofs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto


class Tone(Enum):
    """What a text means for whoever reads the report; a writer may colour it."""

    PLAIN = auto()
    GOOD = auto()
    BAD = auto()
    DOUBT = auto()
    NOTE = auto()
    """What a table holds, and the like: less loud than the rest."""


@dataclass(frozen=True)
class Paragraph:
    """Some sentences."""

    text: str
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True)
class Bullets:
    """A list without an order."""

    lines: Sequence[str]


@dataclass(frozen=True)
class Command:
    """A command line that can be pasted."""

    line: str


@dataclass(frozen=True)
class Cell:
    """A cell of a table."""

    parts: tuple[str, ...]
    """Texts that stand under their like in the column; most cells have one."""
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True)
class Row:
    """A line of a table; without cells it heads the lines that follow."""

    label: str
    cells: tuple[Cell, ...] = ()


@dataclass(frozen=True)
class Table:
    """Labels on the left, and columns of cells."""

    columns: tuple[str, ...]
    """Headings of the cells; labels have none."""
    rows: tuple[Row, ...]
    repeated: int = 0
    """So many first columns stand in each part of a table that is too wide."""


@dataclass(frozen=True)
class Plot:
    """A drawing, for pages only."""

    caption: str
    draw: Callable[[str], str]
    """Makes the SVG; it is given a name that no other plot of the page has."""


@dataclass(frozen=True)
class Plots:
    """Drawings that belong side by side."""

    plots: Sequence[Plot]


@dataclass(frozen=True)
class Section:
    """Blocks under a heading."""

    heading: str
    blocks: Sequence["Block"]


@dataclass(frozen=True)
class Fold:
    """Blocks behind a summary."""

    summary: str
    blocks: Sequence["Block"]


@dataclass(frozen=True)
class Folds:
    """What a page folds; in text only the summaries stand, as bullets."""

    folds: Sequence[Fold]


@dataclass(frozen=True)
class PageOnly:
    """Blocks that nobody reads as text."""

    blocks: Sequence["Block"]


@dataclass(frozen=True)
class FinePrint:
    """Blocks for mail and pages: on a terminal they would bury the rest."""

    blocks: Sequence["Block"]


@dataclass(frozen=True)
class Framed:
    """Blocks that must not be taken for what was measured."""

    blocks: Sequence["Block"]


Block = (
    Paragraph
    | Bullets
    | Command
    | Table
    | Plot
    | Plots
    | Section
    | Folds
    | PageOnly
    | FinePrint
    | Framed
)


@dataclass(frozen=True)
class Document:
    """One report."""

    heading: str
    """As ``Price of kstack``."""
    feature: str
    title: str
    """Of the feature."""
    conclusion: Sequence[Paragraph]
    """What it comes to; on a terminal it stands last, where people look."""
    blocks: Sequence[Block]
    source: str
    """What it was made from, as ``price run 7``."""
