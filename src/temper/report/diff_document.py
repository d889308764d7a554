"""What changed from one run to another, as a tree of blocks."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from temper.analysis.diff_models import (
    Change,
    ClassChange,
    DiffReport,
    OutcomeChange,
    ValueChange,
)
from temper.record.outcome import Outcome
from temper.report.document import (
    Block,
    Bullets,
    Cell,
    Document,
    Paragraph,
    Row,
    Section,
    Table,
    Tone,
)
from temper.report.numbers import absolute, percent, signed
from temper.report.outcomes import OUTCOME_TONES
from temper.report.words import CLASS_TITLE, TICKED_TITLE
from temper.stats.exact import RESULT_CLASSES

_KINDS = {
    "price": "price of {}",
    "prove": "proof of {}",
    "compare": "comparison of two kernels",
}
_WORDS = {
    "exact": "exact",
    "refused": "price refused",
    "in_force": "in force",
    "proven": "proven",
    "as_expected": "all as expected",
    "calls": "calls",
    "setting": "setting",
    "base": "base",
    "temper_version": "version of Temper",
    "kernel_release": "Linux",
    "kernel_key": "kernel key",
    "config_hash": "config hash",
    "compiler": "compiler",
    "cmdline": "command line",
}
_SHORT = 12
"""Digits of a key or hash that are enough to tell two apart."""
_RARE = 0.005
"""Smaller differences per operation would print as 0.00."""


def diff_document(report: DiffReport) -> Document:
    """Return what changed from one run to another as blocks."""
    return Document(
        heading=f"From run {report.before} to run {report.after}",
        feature=report.feature,
        title=f"{_KINDS[report.of]}, {report.arch}".format(report.feature),
        conclusion=[_conclusion(report)],
        blocks=[
            *_bullets("Verdicts", map(_said, report.verdicts)),
            *_outcomes(report),
            *_values(report),
            *_classes(report),
            *_bullets("What the runs were made with", map(_said, report.conditions)),
            *_bullets("Not compared", _unmatched(report)),
        ],
    )


def _conclusion(report: DiffReport) -> Paragraph:
    what = "outcomes" if report.of == "prove" else "values"
    runs = f"runs {report.before} and {report.after}"
    doubt = "" if report.exact else " The counts are NOT EXACT."
    if not report.differs:
        return Paragraph(
            f"Nothing differs between {runs}: all {report.compared:,} {what} that both "
            f"have are the same.{doubt}",
            Tone.GOOD if report.exact else Tone.DOUBT,
        )
    changed = len(report.outcomes) + len(report.values)
    also = " Verdicts differ." if report.verdicts else ""
    if report.classes:
        also += " Instructions by class differ."
    share = f"{changed:,} of {report.compared:,} {what}"
    return Paragraph(f"{share} differ between {runs}.{also}{doubt}", Tone.DOUBT)


def _bullets(heading: str, lines: Iterable[str]) -> Iterable[Block]:
    found = list(lines)
    if found:
        yield Section(heading, [Bullets(found)])


def _said(change: Change) -> str:
    subject = f"{change.variant}: " if change.variant else ""
    before, after = (_shortened(change.what, x) for x in (change.before, change.after))
    return f"{subject}{_WORDS[change.what]}: {before}; then {after}"


def _shortened(what: str, text: str) -> str:
    if not text:
        return "none"
    return text[:_SHORT] if what in ("kernel_key", "config_hash") else text


def _unmatched(report: DiffReport) -> Iterable[str]:
    for (what, run), found in groupby(report.unmatched, key=lambda x: (x.what, x.run)):
        names = [each.name for each in found]
        plural = "s" if len(names) > 1 else ""
        yield f"{what}{plural} of run {run} only: {', '.join(names)}"


def _outcomes(report: DiffReport) -> Iterable[Block]:
    rows: list[Row] = []
    for variant, changes in groupby(report.outcomes, key=lambda x: x.variant):
        rows += [Row(variant), *map(_outcome_row, changes)]
    if rows:
        yield Section(
            "Outcomes", [Table(_runs(report), tuple(rows), "Outcomes that differ")]
        )


def _outcome_row(change: OutcomeChange) -> Row:
    return Row(change.proof, (_outcome(change.before), _outcome(change.after)))


def _outcome(outcome: Outcome) -> Cell:
    return Cell((outcome.value,), OUTCOME_TONES[outcome])


def _values(report: DiffReport) -> Iterable[Block]:
    quiet = [change for change in report.values if change.without_ticks]
    told = {(x.workload, x.variant, x.result_class) for x in quiet}
    ticked = [
        change
        for change in report.values
        if (change.workload, change.variant, change.result_class) not in told
    ]
    note = f"{report.unit.capitalize()} per operation; + is more expensive. "
    if quiet:
        table = _value_table(report, quiet)
        yield Section("Values", [Paragraph(f"{note}{_PRICE_NOTE}", Tone.NOTE), table])
    if ticked:
        note += "Values that are the same without such samples."
        table = _value_table(report, ticked)
        yield Section(TICKED_TITLE, [Paragraph(note, Tone.NOTE), table])


_PRICE_NOTE = "The last column is the difference from the baseline of the same run."


def _value_table(report: DiffReport, changes: Sequence[ValueChange]) -> Table:
    rows: list[Row] = []
    for (workload, variant), group in groupby(
        changes, key=lambda x: (x.workload, x.variant)
    ):
        rows.append(Row(f"{workload}, {variant}"))
        rows += _value_rows(report, list(group))
    return Table((*_runs(report), "change", "price"), tuple(rows), "Values that differ")


def _value_rows(report: DiffReport, changes: Sequence[ValueChange]) -> Iterable[Row]:
    """Return a row for each difference; classes that share one share the row."""
    names: dict[tuple[Cell, ...], list[str]] = {}
    for change in changes:
        names.setdefault(_value_cells(report, change), []).append(change.result_class)
    for cells, classes in names.items():
        whole = tuple(classes) == RESULT_CLASSES
        yield Row("all classes" if whole else ", ".join(classes), cells)


def _value_cells(report: DiffReport, change: ValueChange) -> tuple[Cell, ...]:
    more = change.after - change.before
    share = 100 * more / change.before if change.before else None
    tone = _tone(more) if report.exact else Tone.DOUBT
    return (
        Cell((absolute(change.before),)),
        Cell((absolute(change.after),)),
        Cell((signed(more), percent(share)), tone),
        Cell((_price(change),)),
    )


def _tone(more: float) -> Tone:
    if not more:
        return Tone.PLAIN
    return Tone.BAD if more > 0 else Tone.GOOD


def _price(change: ValueChange) -> str:
    if change.price_before is None or change.price_after is None:
        return ""
    prices = (signed(change.price_before), signed(change.price_after))
    return " to ".join(dict.fromkeys(prices))


def _classes(report: DiffReport) -> Iterable[Block]:
    told = [x for x in report.classes if abs(x.after - x.before) >= _RARE]
    rows: list[Row] = []
    for (workload, variant), group in groupby(
        told, key=lambda x: (x.workload, x.variant)
    ):
        rows += [Row(f"{workload}, {variant}"), *map(_class_row, group)]
    blocks: list[Block] = []
    if rows:
        blocks.append(
            Table((*_runs(report), "change"), tuple(rows), "Instructions by class")
        )
    if rare := len(report.classes) - len(told):
        blocks.append(
            Paragraph(
                f"{rare} more differ by less than 0.005 per operation.", Tone.NOTE
            )
        )
    if blocks:
        yield Section(CLASS_TITLE, blocks)


def _class_row(change: ClassChange) -> Row:
    # Both are floats of exact fractions; digits after the ninth are rounding.
    more = round(change.after - change.before, 9)
    figures = (absolute(change.before), absolute(change.after), signed(more))
    return Row(change.instruction_class, tuple(Cell((text,)) for text in figures))


def _runs(report: DiffReport) -> tuple[str, str]:
    return f"run {report.before}", f"run {report.after}"
