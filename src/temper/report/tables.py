"""Tables as grids of text that fit a mail, whatever the variants are called.

A grid has a label column, a baseline column, and one column a variant; where
the variants do not fit side by side they go on in the next grid.
"""

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from temper.analysis.models import ClassRow, PriceReport, PriceRow
from temper.report.numbers import absolute, percent, signed, span

WIDTH = 78
_LABEL = 24
"""Workload names longer than this go on in the next line."""
_BASELINE, _VARIANT = 17, 27
"""Names longer than these are cut in the middle, in the headers only."""


@dataclass(frozen=True)
class Grid:
    """Rows of cells under a header; the first column is text, the rest numbers."""

    header: list[str]
    rows: list[list[str]]

    @property
    def widths(self) -> list[int]:
        """Characters that each column needs."""
        lines = [self.header, *self.rows]
        return [max(map(len, column)) for column in zip(*lines, strict=True)]

    @property
    def width(self) -> int:
        """Characters of a line with ``| `` and `` |`` around the cells."""
        return sum(self.widths) + 3 * len(self.header) + 1


@dataclass(frozen=True)
class _Entry:
    """What one variant adds to one line of a table."""

    workload: str
    label: str
    variant: str
    baseline: str
    parts: tuple[str, ...]
    """Texts that stand under their like in the variant's column."""


def price_grids(report: PriceReport, without_ticks: bool) -> list[Grid]:
    """Return the price table, with or without the samples that ticks hit.

    The one with ticks is short: it has only the rows that ticks change, and how
    many samples they hit.
    """
    if without_ticks:
        rows = [row for row in report.rows if row.without_ticks]
        return _grids(report.baseline, [_price_entry(row) for row in rows])
    entries = [_price_entry(row) for row in _changed_by_ticks(report)]
    return _grids(report.baseline, _with_hits(report, entries))


_RARE = 0.005
"""Instructions per operation that print as 0.00: what ticks alone bring."""


def counted_classes(report: PriceReport) -> list[str]:
    """Return the classes that belong to operations, in the plugin's order."""
    return list(
        dict.fromkeys(
            row.instruction_class
            for row in report.classes
            if max(row.per_operation, row.baseline_per_operation) >= _RARE
        )
    )


def class_grids(report: PriceReport) -> list[Grid]:
    """Return instructions by class per operation, without what hardly occurs."""
    seen = counted_classes(report)
    entries = [
        _class_entry(row) for row in report.classes if row.instruction_class in seen
    ]
    return _grids(report.baseline, entries)


def switch_grids(report: PriceReport) -> list[Grid]:
    """Return how many costly register writes each variant adds to an operation."""
    if not report.switches:
        return []
    rows = report.switches.rows
    baselines = {r.workload: absolute(r.baseline_per_operation) for r in rows}
    cells = {(r.workload, r.variant): signed(r.delta) for r in rows}
    heading = _short(report.baseline, _BASELINE)
    return side_by_side(
        dict.fromkeys(row.variant for row in rows),
        lambda variants: _by_workload(
            ["", heading, *map(short_name, variants)],
            {
                workload: [before, *(cells[workload, name] for name in variants)]
                for workload, before in baselines.items()
            },
        ),
    )


def model_grids(report: PriceReport) -> list[Grid]:
    """Return what those writes would take on hardware by the stated model."""
    if not report.switches:
        return []
    rows = report.switches.rows
    cells = {
        (r.workload, r.variant): span([signed(end) for end in r.cycles]) for r in rows
    }
    return side_by_side(
        dict.fromkeys(row.variant for row in rows),
        lambda variants: _by_workload(
            ["", *map(short_name, variants)],
            {
                workload: [cells[workload, name] for name in variants]
                for workload in dict.fromkeys(row.workload for row in rows)
            },
        ),
    )


def _by_workload(header: list[str], cells: Mapping[str, list[str]]) -> Grid:
    """Return a row a workload; of a long name the last line has the cells."""
    rows: list[list[str]] = []
    for workload, values in cells.items():
        *above, last = textwrap.wrap(workload, _LABEL)
        rows += [[line, *("" for _ in values)] for line in above]
        rows.append([last, *values])
    return Grid(header, rows)


def _price_entry(row: PriceRow) -> _Entry:
    return _Entry(
        workload=row.workload,
        label=row.result_class,
        variant=row.variant,
        baseline=absolute(row.baseline_value),
        parts=(signed(row.delta), percent(row.delta_percent), row.mark.value),
    )


def _with_hits(report: PriceReport, entries: Sequence[_Entry]) -> list[_Entry]:
    """Put before the entries of each workload how many samples ticks hit."""
    hit = {(count.workload, count.variant): count.hit for count in report.ticks}
    lines: list[_Entry] = []
    for entry in entries:
        before = hit[entry.workload, report.baseline]
        more = hit[entry.workload, entry.variant] - before
        first = _Entry(
            workload=entry.workload,
            label="samples hit",
            variant=entry.variant,
            baseline=absolute(before),
            parts=(signed(more), "", ""),
        )
        lines += [entry] if first in lines else [first, entry]
    return lines


def _class_entry(row: ClassRow) -> _Entry:
    return _Entry(
        workload=row.workload,
        label=row.instruction_class,
        variant=row.variant,
        baseline=absolute(row.baseline_per_operation),
        parts=(signed(row.delta),),
    )


def _changed_by_ticks(report: PriceReport) -> list[PriceRow]:
    """Rows with ticks whose class differs from that without, for any variant."""
    quiet = {
        (row.workload, row.result_class, row.variant): row
        for row in report.rows
        if row.without_ticks
    }
    ticked = [row for row in report.rows if not row.without_ticks]
    changed = set()
    for row in ticked:
        twin = quiet.get((row.workload, row.result_class, row.variant))
        values = (row.value, row.baseline_value)
        if twin is None or values != (twin.value, twin.baseline_value):
            changed.add((row.workload, row.result_class))
    return [row for row in ticked if (row.workload, row.result_class) in changed]


def _grids(baseline: str, entries: Sequence[_Entry]) -> list[Grid]:
    return side_by_side(
        dict.fromkeys(entry.variant for entry in entries),
        lambda variants: _grid(baseline, variants, entries),
    )


def side_by_side(
    columns: Iterable[str], grid: Callable[[Sequence[str]], Grid]
) -> list[Grid]:
    """Put as many columns side by side as fit, the others in further grids."""
    grids: list[Grid] = []
    group: list[str] = []
    for column in columns:
        wider = grid([*group, column])
        if group and wider.width > WIDTH:
            group = [column]
            grids.append(grid(group))
        else:
            group.append(column)
            grids[-1:] = [wider]
    return grids


def _grid(baseline: str, variants: Sequence[str], entries: Sequence[_Entry]) -> Grid:
    columns = [
        _column([entry for entry in entries if entry.variant == variant])
        for variant in variants
    ]
    absolutes = {(entry.workload, entry.label): entry.baseline for entry in entries}
    rows: list[list[str]] = []
    workload = ""
    for place, value in absolutes.items():
        if place[0] != workload:
            workload = place[0]
            names = textwrap.wrap(workload, _LABEL)
            rows += [[name, "", *("" for _ in variants)] for name in names]
        cells = [column.get(place, "") for column in columns]
        rows.append([f"  {place[1]}", value, *cells])
    heading = _short(baseline, _BASELINE)
    return Grid(["", heading, *map(short_name, variants)], rows)


def _column(entries: Sequence[_Entry]) -> dict[tuple[str, str], str]:
    """Return the cells of one variant by workload and label, parts aligned."""
    widths = [
        max(map(len, parts))
        for parts in zip(*(entry.parts for entry in entries), strict=True)
    ]
    return {
        (entry.workload, entry.label): " ".join(
            part.rjust(width) for part, width in zip(entry.parts, widths, strict=True)
        )
        for entry in entries
    }


def short_name(name: str) -> str:
    """Return the name of a variant or proof as the tables have room for."""
    return _short(name, _VARIANT)


def _short(name: str, limit: int) -> str:
    if len(name) <= limit:
        return name
    head = (limit - 2) // 2
    return name[:head] + ".." + name[head + 2 - limit :]
