"""The tables of a price: what goes into which row and column."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from temper.analysis.models import ClassRow, PriceReport, PriceRow
from temper.report.document import Cell, Row, Table, Tone
from temper.report.numbers import absolute, percent, signed, span
from temper.stats.comparison import Mark

_TONES = {
    Mark.REGRESSION: Tone.BAD,
    Mark.IMPROVEMENT: Tone.GOOD,
    Mark.UNKNOWN: Tone.DOUBT,
}


@dataclass(frozen=True)
class _Entry:
    """What one variant adds to one line of a table."""

    workload: str
    label: str
    variant: str
    baseline: str
    cell: Cell


def price_table(report: PriceReport, without_ticks: bool) -> Table | None:
    """Return the price table, with or without the samples that ticks hit.

    The table with ticks is short: it has only the rows that ticks change, and how
    many samples they hit. None if there are no rows.
    """
    if without_ticks:
        rows = [row for row in report.rows if row.without_ticks]
        return _grouped(report.baseline, [_price_entry(row) for row in rows])
    entries = [_price_entry(row) for row in _changed_by_ticks(report)]
    return _grouped(report.baseline, _with_hits(report, entries))


_RARE = 0.005
"""Fewer instructions per operation than this print as 0.00: ticks cause them."""


def counted_classes(report: PriceReport) -> list[str]:
    """Return the classes that operations themselves use, in the plugin's order."""
    return list(
        dict.fromkeys(
            row.instruction_class
            for row in report.classes
            if max(row.per_operation, row.baseline_per_operation) >= _RARE
        )
    )


def class_table(report: PriceReport) -> Table | None:
    """Return instructions by class per operation, without very rare classes."""
    seen = counted_classes(report)
    entries = [
        _class_entry(row) for row in report.classes if row.instruction_class in seen
    ]
    return _grouped(report.baseline, entries)


def switch_table(report: PriceReport) -> Table | None:
    """Return how many expensive register writes each variant adds per operation."""
    if not report.switches:
        return None
    rows = report.switches.rows
    before = {r.workload: Cell((absolute(r.baseline_per_operation),)) for r in rows}
    cells = {(r.workload, r.variant): Cell((signed(r.delta),)) for r in rows}
    return _by_workload(cells, report.baseline, before)


def model_table(report: PriceReport) -> Table | None:
    """Return what those writes would cost on hardware, by the stated model."""
    if not report.switches:
        return None
    return _by_workload(
        {
            (r.workload, r.variant): Cell((span([signed(end) for end in r.cycles]),))
            for r in report.switches.rows
        }
    )


def _by_workload(
    cells: Mapping[tuple[str, str], Cell],
    baseline: str = "",
    before: Mapping[str, Cell] | None = None,
) -> Table:
    """Return one row per workload; ``before``: workload -> the baseline's cell."""
    variants = tuple(dict.fromkeys(variant for _, variant in cells))
    workloads = dict.fromkeys(workload for workload, _ in cells)
    first = (baseline,) if before else ()
    return Table(
        columns=(*first, *variants),
        rows=tuple(
            Row(
                workload,
                (
                    *((before[workload],) if before else ()),
                    *(cells[workload, variant] for variant in variants),
                ),
            )
            for workload in workloads
        ),
        repeated=len(first),
    )


def _price_entry(row: PriceRow) -> _Entry:
    parts = (signed(row.delta), percent(row.delta_percent), row.mark.value)
    return _Entry(
        workload=row.workload,
        label=row.result_class,
        variant=row.variant,
        baseline=absolute(row.baseline_value),
        cell=Cell(parts, _TONES.get(row.mark, Tone.PLAIN)),
    )


def _class_entry(row: ClassRow) -> _Entry:
    return _Entry(
        workload=row.workload,
        label=row.instruction_class,
        variant=row.variant,
        baseline=absolute(row.baseline_per_operation),
        cell=Cell((signed(row.delta),)),
    )


def _with_hits(report: PriceReport, entries: Sequence[_Entry]) -> list[_Entry]:
    """Add a first row to each workload that says how many samples ticks hit."""
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
            cell=Cell((signed(more),)),
        )
        lines += [entry] if first in lines else [first, entry]
    return lines


def _changed_by_ticks(report: PriceReport) -> list[PriceRow]:
    """Return the rows with ticks whose value, for any variant, ticks change."""
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


def _grouped(baseline: str, entries: Sequence[_Entry]) -> Table | None:
    """Return a table with one group of rows per workload; None without entries."""
    if not entries:
        return None
    variants = tuple(dict.fromkeys(entry.variant for entry in entries))
    cells = {(x.workload, x.label, x.variant): x.cell for x in entries}
    rows: list[Row] = []
    group = ""
    lines = {(x.workload, x.label): x.baseline for x in entries}
    for (workload, label), before in lines.items():
        if workload != group:
            group = workload
            rows.append(Row(workload))
        found = (cells.get((workload, label, name), _EMPTY) for name in variants)
        rows.append(Row(label, (Cell((before,)), *found)))
    return Table((baseline, *variants), tuple(rows), repeated=1)


_EMPTY = Cell(())
