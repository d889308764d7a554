"""The tables of a price: what goes into which row and column."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from temper.analysis.models import ClassRow, PriceReport, PriceRow
from temper.analysis.whole import WHOLE_LOOP
from temper.report.document import Cell, Row, Table, Tone
from temper.report.numbers import absolute, percent, signed, span, spread
from temper.report.summary import FEW, MEDIAN, Summary
from temper.report.words import upper_bound
from temper.stats.comparison import Mark

_TONES = {
    Mark.REGRESSION: Tone.BAD,
    Mark.IMPROVEMENT: Tone.GOOD,
    Mark.MOVED: Tone.DOUBT,
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


OTHER_CLASSES = "other classes"
_PRICES = "What each workload costs under each variant at the median"
_CLASSES = "What each workload costs in all result classes"
_TICKED = "The same with samples hit by a timer tick"
_INSTRUCTIONS = "Instructions by class, per operation"


def summary_table(report: PriceReport, summaries: Sequence[Summary]) -> Table:
    """Return a table with one line for each workload and variant.

    If there is only one variant, its price stands beside its workload.
    """
    baseline = report.baseline
    variants = list(dict.fromkeys(each.variant for each in summaries))
    if len(variants) == 1:
        rows = [
            Row(each.workload, (_before(each), *_after(report, each)))
            for each in summaries
        ]
        columns = (baseline, *variants, OTHER_CLASSES)
        return Table(columns, tuple(rows), _PRICES, repeated=1, words=True)
    rows = []
    workload = ""
    for each in summaries:
        if each.workload != workload:
            workload = each.workload
            cells = (_before(each), _EMPTY, _EMPTY)
            rows.append(Row(workload, cells, heading=True))
        rows.append(Row(each.variant, (_EMPTY, *_after(report, each))))
    columns = (baseline, f"more than {baseline}", OTHER_CLASSES)
    return Table(columns, tuple(rows), _PRICES, repeated=1, words=True)


def _before(summary: Summary) -> Cell:
    return Cell((absolute(_brief(summary.median.baseline_value)),))


def _after(report: PriceReport, summary: Summary) -> tuple[Cell, Cell]:
    row = summary.median
    row = row.model_copy(update={"delta": _brief(row.delta)})
    remark = summary.remark
    if whole := summary.whole:
        price = whole.model_copy(update={"delta": _brief(whole.delta)})
        parts = ("whole loop", *price_cell(report, price).parts)
        remark = f"{remark}; {' '.join(filter(None, parts))}"
    if bound := upper_bound(report, summary.workload, summary.variant):
        remark = bound if remark == FEW else f"{remark}; {bound}"
    return price_cell(report, row), Cell((remark,))


def _brief(value: float) -> float:
    """Round large values: all columns of a summary have to fit side by side."""
    return round(value) if abs(value) >= _LARGE else value


_LARGE = 1000


def price_table(report: PriceReport, without_ticks: bool) -> Table | None:
    """Return the table of all result classes, with or without samples that ticks hit.

    Without them, a workload whose samples are all the same has one row, beside that of
    its whole loop. With them,
    there are only the rows that ticks change, and how many samples they hit. None if
    there are no rows.
    """
    if without_ticks:
        rows = [row for row in report.rows if row.without_ticks]
        loops = [row for row in report.rows if row.result_class == WHOLE_LOOP]
        shown = [*_without_constants(rows), *loops]
        places = list(dict.fromkeys(row.workload for row in shown))
        shown.sort(key=lambda row: places.index(row.workload))
        entries = [_price_entry(report, row) for row in shown]
        return _grouped(report.baseline, entries, _CLASSES)
    entries = [_price_entry(report, row) for row in _changed_by_ticks(report)]
    return _grouped(report.baseline, _with_hits(report, entries), _TICKED)


_RARE = 0.005
"""A smaller difference per operation prints as 0.00: ticks cause it."""


def class_table(report: PriceReport) -> Table | None:
    """Return instructions by class per operation, where variants differ."""
    differing = {
        (row.workload, row.instruction_class)
        for row in report.classes
        if abs(row.delta) >= _RARE
    }
    entries = [
        _class_entry(row)
        for row in report.classes
        if (row.workload, row.instruction_class) in differing
    ]
    return _grouped(report.baseline, entries, _INSTRUCTIONS)


def switch_table(report: PriceReport) -> Table | None:
    """Return how many expensive register writes each variant adds per operation."""
    if not report.switches:
        return None
    before, cells = {}, {}
    for r in report.switches.rows:
        counts = [(r.baseline_per_operation, r.delta), *r.others.values()]
        before[r.workload] = _slashed(absolute(count) for count, _ in counts)
        cells[r.workload, r.variant] = _slashed(signed(more) for _, more in counts)
    caption = f"{report.switches.title.capitalize()} per operation"
    return _by_workload(cells, caption, report.baseline, before)


def _slashed(texts: Iterable[str]) -> Cell:
    first, *others = texts
    return Cell((first, *(f"/ {text}" for text in others)))


def once_table(report: PriceReport) -> Table | None:
    """Return what each variant takes once, in instructions and bytes."""
    if not report.once:
        return None
    before, cells = {}, {}
    for row in report.once:
        label = f"{row.what} ({row.unit})"
        base = row.baseline_value
        share = percent(100 * row.delta / base if base else None)
        before[label] = Cell((absolute(base),))
        cells[label, row.variant] = Cell((signed(row.delta), share))
    return _by_workload(cells, "Start and memory", report.baseline, before)


def model_table(report: PriceReport) -> Table | None:
    """Return what those writes would cost on hardware, by the stated model."""
    if not report.switches:
        return None
    return _by_workload(
        {
            (r.workload, r.variant): Cell((span([signed(end) for end in r.cycles]),))
            for r in report.switches.rows
        },
        f"Cycles for the {report.switches.title} per operation, by a model",
    )


def _by_workload(
    cells: Mapping[tuple[str, str], Cell],
    caption: str,
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
        caption=caption,
        repeated=len(first),
    )


def _price_entry(report: PriceReport, row: PriceRow) -> _Entry:
    return _Entry(
        workload=row.workload,
        label=row.result_class,
        variant=row.variant,
        baseline=absolute(row.baseline_value),
        cell=price_cell(report, row),
    )


def price_cell(report: PriceReport, row: PriceRow) -> Cell:
    """Return a price: the difference, its spread, its share of the baseline, its mark.

    Counts that are exact may differ by chance even so, without a mark.
    """
    moved = (spread(row.spread),) if report.layouts > 1 else ()
    price = (signed(row.delta), *moved, percent(row.delta_percent))
    if report.exact and row.mark is Mark.UNKNOWN:
        return Cell((*price, ""))
    return Cell((*price, row.mark.value), _TONES.get(row.mark, Tone.PLAIN))


ALL_CLASSES = "every sample"


def _without_constants(rows: Sequence[PriceRow]) -> list[PriceRow]:
    """Replace the rows of each workload whose samples are all the same by one."""
    values: dict[str, set[tuple[str, float, float]]] = {}
    for row in rows:
        found = (row.variant, row.value, row.baseline_value)
        values.setdefault(row.workload, set()).add(found)
    constant = {
        workload
        for workload, found in values.items()
        if len(found) == len({variant for variant, *_ in found})
    }
    return [
        row.model_copy(update={"result_class": ALL_CLASSES})
        if row.workload in constant
        else row
        for row in rows
        if row.workload not in constant or row.result_class == MEDIAN
    ]


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
    ticked = [
        row
        for row in report.rows
        if not row.without_ticks and row.result_class != WHOLE_LOOP
    ]
    changed = set()
    for row in ticked:
        twin = quiet.get((row.workload, row.result_class, row.variant))
        values = (row.value, row.baseline_value)
        if twin is None or values != (twin.value, twin.baseline_value):
            changed.add((row.workload, row.result_class))
    return [row for row in ticked if (row.workload, row.result_class) in changed]


def _grouped(baseline: str, entries: Sequence[_Entry], caption: str) -> Table | None:
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
    return Table((baseline, *variants), tuple(rows), caption, repeated=1)


_EMPTY = Cell(())
