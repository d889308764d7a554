"""A report as a tree of blocks, made once and written by each writer.

A new section of a report is one function that returns a block. The writers
(``terminal``, ``markdown``, ``html``) know about blocks, but not about prices or
proofs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto


class Tone(Enum):
    """What a text means to whoever reads the report; a writer may colour it."""

    PLAIN = auto()
    GOOD = auto()
    BAD = auto()
    DOUBT = auto()
    NOTE = auto()
    """Says what a table holds, for example; less prominent than the rest."""


@dataclass(frozen=True)
class Paragraph:
    """One or more sentences."""

    text: str
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True)
class Bullets:
    """An unordered list."""

    lines: Sequence[str]


@dataclass(frozen=True)
class Command:
    """A command line to copy and paste."""

    line: str


@dataclass(frozen=True)
class Code:
    """Lines of code, such as those of a patch."""

    lines: Sequence[str]


@dataclass(frozen=True)
class Cell:
    """A cell of a table."""

    parts: tuple[str, ...]
    """Texts that line up with the same part of other cells; usually there is one."""
    tone: Tone = Tone.PLAIN
    see: str = ""
    """The name of the detail that says why, for a link to it."""


@dataclass(frozen=True)
class Row:
    """A row of a table."""

    label: str
    cells: tuple[Cell, ...] = ()
    heading: bool = False
    """Whether it is a heading for the rows below it, as a row without cells is."""

    @property
    def is_heading(self) -> bool:
        """Whether it is a heading for the rows below it."""
        return self.heading or not self.cells


@dataclass(frozen=True)
class Table:
    """Labels on the left, and columns of cells."""

    columns: tuple[str, ...]
    """Headings of the cells; the labels have no heading."""
    rows: tuple[Row, ...]
    caption: str
    """What the table holds, for those who cannot see what is around it."""
    repeated: int = 0
    """How many leading columns to repeat in each part if the table is split."""
    words: bool = False
    """Whether the last column holds words, to be wrapped, instead of figures."""


@dataclass(frozen=True)
class Plot:
    """A drawing, for pages only."""

    caption: str
    says: str
    """What it shows, for those who cannot see it."""
    draw: Callable[[str], str]
    """Returns the SVG; its argument is a name that is unique in the page."""


@dataclass(frozen=True)
class Plots:
    """Drawings on the same scale, to put side by side; for pages only."""

    caption: str
    plots: Sequence[Plot]


@dataclass(frozen=True)
class Bar:
    """A bar of a chart, with its figure in words."""

    label: str
    value: float
    """Its length and direction, on the scale of the chart."""
    text: str
    note: str = ""
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True)
class BarGroup:
    """Bars that belong together."""

    label: str
    note: str
    bars: Sequence[Bar]


@dataclass(frozen=True)
class Chart:
    """Bars to both sides of a zero line, all on one scale; for pages only."""

    caption: str
    less: str
    more: str
    """What a bar to the left, and to the right, means."""
    groups: Sequence[BarGroup]

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the scale, with 0 between them or at one of them."""
        values = [bar.value for group in self.groups for bar in group.bars]
        return min(0.0, *values), max(0.0, *values)


@dataclass(frozen=True)
class Section:
    """Blocks under a heading."""

    heading: str
    blocks: Sequence["Block"]


@dataclass(frozen=True)
class Detail:
    """Blocks that readers may skip: folded on a page, and left out of short text."""

    summary: str
    blocks: Sequence["Block"]
    gist: Sequence["Block"] = ()
    """What short text has in place of ``blocks``."""
    name: str = ""
    """What cells refer to it by; unique in its report."""
    contents: str = ""
    """What short text leaves out, such as ``all measures``; empty: the summary.

    Details with the same contents are named once.
    """


@dataclass(frozen=True)
class PageOnly:
    """Blocks that only HTML shows."""

    blocks: Sequence["Block"]


@dataclass(frozen=True)
class Framed:
    """Blocks that readers must not mistake for measurements."""

    blocks: Sequence["Block"]


Block = (
    Paragraph
    | Bullets
    | Command
    | Code
    | Table
    | Plots
    | Chart
    | Section
    | Detail
    | PageOnly
    | Framed
)


@dataclass(frozen=True)
class Download:
    """The data of a report, for other programs."""

    title: str
    file: str
    media: str
    """Its media type, such as ``text/csv``."""
    write: Callable[[], str]


@dataclass(frozen=True)
class Document:
    """One report."""

    heading: str
    """For example ``Price of kstack``."""
    feature: str
    title: str
    """The feature's title."""
    conclusion: Sequence[Paragraph]
    """The result in short; on a terminal it comes last, where people look."""
    blocks: Sequence[Block]
    made: str = ""
    """The run it was made from: when, where and by what, in a sentence."""
    full: str = ""
    """The command that shows all details; empty if there are none."""
    chart: Chart | None = None
    """The picture that the page opens with."""
    downloads: Sequence[Download] = ()
