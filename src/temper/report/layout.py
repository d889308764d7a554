"""Tables as grids of text that fit into a mail, however long the names are.

Columns that do not fit side by side continue in the next grid.
"""

import shlex
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from temper.report.document import Cell, Code, Command, Table, Tone

WIDTH = 78
BARS = 4
"""Characters around a line of a grid in Markdown; a terminal shows none."""
_LABEL = 24
"""Longer labels continue on the next line."""
_FIRST, _HEADING = 17, 27
"""Longer names of repeated and of other columns are cut in the middle."""
_INDENT = "  "
_WORDS = 14
"""A column of words is at least this wide."""


@dataclass(frozen=True)
class Line:
    """Cells of text, padded so that their parts line up."""

    label: str
    cells: tuple[str, ...]
    tones: tuple[Tone, ...]
    is_heading: bool
    """Whether this is a heading for the lines below it."""


@dataclass(frozen=True)
class Grid:
    """Lines under headings; the first column is text, the rest are right-aligned."""

    headings: tuple[str, ...]
    lines: tuple[Line, ...]
    words: bool
    """Whether the last column is text, too."""

    @property
    def widths(self) -> list[int]:
        """The width of each column in characters, the labels' column first."""
        rows = [("", *self.headings), *((x.label, *x.cells) for x in self.lines)]
        return [max(map(len, column)) for column in zip(*rows, strict=True)]

    @property
    def width(self) -> int:
        """The width of a line with ``| `` and `` |`` around the cells."""
        return sum(self.widths) + 3 * (len(self.widths) - 1) + BARS

    @property
    def text_columns(self) -> tuple[int, ...]:
        """The columns that are left-aligned, counting the labels' as the first."""
        return (0, len(self.headings)) if self.words else (0,)


def grids(table: Table, width: int = WIDTH) -> list[Grid]:
    """Lay a table out in grids that are, as far as possible, at most ``width`` wide."""
    columns = [_padded(table, number) for number in range(len(table.columns))]
    repeated = tuple(range(table.repeated))
    others = range(table.repeated, len(table.columns))
    return _side_by_side(
        others, lambda group: _grid(table, columns, (*repeated, *group), width), width
    )


def _side_by_side(
    numbers: Iterable[int], grid: Callable[[Sequence[int]], Grid], width: int
) -> list[Grid]:
    """Put as many columns side by side as fit, and the rest into further grids."""
    found: list[Grid] = []
    group: list[int] = []
    for number in numbers:
        wider = grid([*group, number])
        if group and wider.width > width:
            group = [number]
            found.append(grid(group))
        else:
            group.append(number)
            found[-1:] = [wider]
    return found


def _padded(table: Table, number: int) -> dict[int, str]:
    """Return row -> the text of a column, with parts padded to line up."""
    cells = {
        place: row.cells[number] for place, row in enumerate(table.rows) if row.cells
    }
    parts = max((len(cell.parts) for cell in cells.values()), default=0)
    widths = [
        max((len(_part(cell, which)) for cell in cells.values()), default=0)
        for which in range(parts)
    ]
    if table.words and number == len(table.columns) - 1:
        return {place: " ".join(cell.parts) for place, cell in cells.items()}
    return {
        place: " ".join(
            _part(cell, which).rjust(width) for which, width in enumerate(widths)
        )
        if any(cell.parts)
        else ""
        for place, cell in cells.items()
    }


def _part(cell: Cell, which: int) -> str:
    return cell.parts[which] if which < len(cell.parts) else ""


def _grid(
    table: Table, columns: Sequence[dict[int, str]], numbers: Sequence[int], width: int
) -> Grid:
    """Return the columns ``numbers`` of a table; words fill the room that is left."""
    words = table.words and numbers[-1] == len(table.columns) - 1
    grid = _unwrapped(table, columns, numbers, words)
    if not words or grid.width <= width:
        return grid
    room = max(_WORDS, grid.widths[-1] - (grid.width - width))
    lines = [part for line in grid.lines for part in _in_parts(line, room)]
    return replace(grid, lines=tuple(lines))


def _in_parts(line: Line, room: int) -> Iterable[Line]:
    """Yield a line with its last cell wrapped, and what continues it."""
    first, *others = textwrap.wrap(line.cells[-1], room) or [""]
    empty = tuple("" for _ in line.cells[1:])
    yield replace(line, cells=(*line.cells[:-1], first))
    for other in others:
        yield replace(line, label="", cells=(*empty, other))


def _unwrapped(
    table: Table,
    columns: Sequence[dict[int, str]],
    numbers: Sequence[int],
    words: bool,
) -> Grid:
    grouped = any(row.is_heading for row in table.rows)
    lines: list[Line] = []
    for place, row in enumerate(table.rows):
        indent = _INDENT if grouped and not row.is_heading else ""
        labels = _wrapped(row.label, indent)
        cells = [tuple("" for _ in numbers) for _ in labels]
        tones = [tuple(Tone.PLAIN for _ in numbers) for _ in labels]
        if row.cells:
            cells[-1] = tuple(columns[number][place] for number in numbers)
            tones[-1] = tuple(row.cells[number].tone for number in numbers)
        lines += map(partial(Line, is_heading=row.is_heading), labels, cells, tones)
    headings = tuple(
        _short(table.columns[number], _HEADING if number >= table.repeated else _FIRST)
        for number in numbers
    )
    return Grid(headings, tuple(lines), words)


def _wrapped(label: str, indent: str) -> list[str]:
    """Return the lines of a label; the cells go beside the last one.

    A word is never broken: it may be the name of a function.
    """
    return textwrap.wrap(
        label,
        len(indent) + _LABEL,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
    ) or [""]


def _short(name: str, limit: int) -> str:
    if len(name) <= limit:
        return name
    head = (limit - 2) // 2
    return name[:head] + ".." + name[head + 2 - limit :]


def command_lines(command: str, width: int) -> list[str]:
    """Break a command line between words, so that it can still be pasted.

    A line is longer than ``width`` only if a single word is.
    """
    lines: list[list[str]] = [[]]
    used = 0
    for word in map(shlex.quote, shlex.split(command)):
        if lines[-1] and used + len(f" {word} \\") > width:
            lines.append([])
        used = len(_INDENT) + len(" ".join([*lines[-1], word]))
        lines[-1].append(word)
    return f" \\\n{_INDENT}".join(map(" ".join, lines)).splitlines()


def code_lines(block: Code | Command, width: int) -> list[str]:
    """Break lines of code that are longer than ``width``; tabs become spaces.

    A line of a command is longer only if a single word is.
    """
    if isinstance(block, Command):
        return command_lines(block.line, width)
    return [
        part
        for line in block.lines
        for part in textwrap.wrap(
            line,
            width,
            subsequent_indent=_INDENT * 3,
            drop_whitespace=False,
        )
        or [""]
    ]


def fits(table: Table) -> bool:
    """Return whether all columns fit side by side."""
    return len(grids(table)) <= 1
