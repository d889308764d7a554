"""Tables as grids of text that fit into a mail, however long the names are.

Columns that do not fit side by side continue in the next grid.
"""

import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from temper.report.document import Cell, Table, Tone

WIDTH = 78
_LABEL = 24
"""Longer labels continue on the next line."""
_FIRST, _HEADING = 17, 27
"""Longer names of repeated and of other columns are cut in the middle."""
_INDENT = "  "


@dataclass(frozen=True)
class Line:
    """Cells of text, padded so that their parts line up."""

    label: str
    cells: tuple[str, ...]
    tones: tuple[Tone, ...]

    @property
    def is_heading(self) -> bool:
        """Whether this is a heading for the lines below it."""
        return not any(self.cells)


@dataclass(frozen=True)
class Grid:
    """Lines under headings; the first column is text, the rest are right-aligned."""

    headings: tuple[str, ...]
    lines: tuple[Line, ...]

    @property
    def widths(self) -> list[int]:
        """The width of each column in characters, the labels' column first."""
        rows = [("", *self.headings), *((x.label, *x.cells) for x in self.lines)]
        return [max(map(len, column)) for column in zip(*rows, strict=True)]

    @property
    def width(self) -> int:
        """The width of a line with ``| `` and `` |`` around the cells."""
        return sum(self.widths) + 3 * len(self.widths) + 1


def grids(table: Table) -> list[Grid]:
    """Lay a table out in grids at most ``WIDTH`` wide."""
    columns = [_padded(table, number) for number in range(len(table.columns))]
    repeated = tuple(range(table.repeated))
    others = range(table.repeated, len(table.columns))
    return _side_by_side(
        others, lambda group: _grid(table, columns, (*repeated, *group))
    )


def _side_by_side(
    numbers: Iterable[int], grid: Callable[[Sequence[int]], Grid]
) -> list[Grid]:
    """Put as many columns side by side as fit, and the rest into further grids."""
    found: list[Grid] = []
    group: list[int] = []
    for number in numbers:
        wider = grid([*group, number])
        if group and wider.width > WIDTH:
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
    table: Table, columns: Sequence[dict[int, str]], numbers: Sequence[int]
) -> Grid:
    grouped = any(not row.cells for row in table.rows)
    lines: list[Line] = []
    for place, row in enumerate(table.rows):
        indent = _INDENT if grouped and row.cells else ""
        labels = _wrapped(row.label, indent)
        cells = [tuple("" for _ in numbers) for _ in labels]
        tones = [tuple(Tone.PLAIN for _ in numbers) for _ in labels]
        if row.cells:
            cells[-1] = tuple(columns[number][place] for number in numbers)
            tones[-1] = tuple(row.cells[number].tone for number in numbers)
        lines += map(Line, labels, cells, tones)
    headings = tuple(
        _short(table.columns[number], _HEADING if number >= table.repeated else _FIRST)
        for number in numbers
    )
    return Grid(headings, tuple(lines))


def _wrapped(label: str, indent: str) -> list[str]:
    """Return the lines of a label; the cells go beside the last one."""
    width = len(indent) + _LABEL
    return textwrap.wrap(
        label, width, initial_indent=indent, subsequent_indent=indent
    ) or [""]


def _short(name: str, limit: int) -> str:
    if len(name) <= limit:
        return name
    head = (limit - 2) // 2
    return name[:head] + ".." + name[head + 2 - limit :]


def fits(table: Table) -> bool:
    """Return whether all columns fit side by side."""
    return len(grids(table)) <= 1
