"""How a feature's prices or outcomes went from run to run, as a tree of blocks."""

from collections.abc import Iterable, Mapping, Sequence

from temper.analysis.history import (
    HistoryReport,
    PastOutcome,
    PastPrice,
    PastRun,
)
from temper.invocation import as_typed
from temper.record.outcome import worst_outcome
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
from temper.report.numbers import absolute, signed
from temper.report.outcomes import OUTCOME_TONES

_SHORT = 8
"""Digits of a kernel's key that are enough to tell two apart in a list."""
_MOST_PROOFS = 12
"""With more proofs, only the worst outcome of all is shown."""


def history_document(report: HistoryReport) -> Document:
    """Return the history of a feature as blocks, oldest run first."""
    setting = f", with {report.setting}" if report.setting else ""
    return Document(
        heading=f"History of {report.feature}",
        feature=report.feature,
        title=f"{report.of}, {report.arch}{setting}",
        conclusion=[Paragraph(_conclusion(report))],
        blocks=[
            Section("Runs", [_runs(report), *_refusals(report)]),
            *(_variant(report, variant) for variant in report.variants),
            *_left_out(report),
        ],
    )


def _conclusion(report: HistoryReport) -> str:
    count = len(report.runs)
    if count == 1:
        return "1 finished run."
    diff = as_typed("temper diff RUN RUN")
    return f"{count} finished runs. '{diff}' says what changed."


def _runs(report: HistoryReport) -> Table:
    priced = report.of == "prices"
    of_prices = ("baseline", "calls", "exact")
    return Table(
        ("started (UTC)", "machine", *(of_prices if priced else ("proven",))),
        tuple(_run(run, priced) for run in report.runs),
        "Finished runs",
    )


def _run(run: PastRun, priced: bool) -> Row:
    good = Cell(("yes",), Tone.GOOD) if run.good else Cell(("NO",), Tone.BAD)
    own = (Cell((run.baseline,)), Cell((f"{run.calls:,}",))) if priced else ()
    # Distributions append their own version, in brackets.
    machine = f"{run.machine_version.partition(' (')[0]}, {run.cpu_model}"
    started = Cell((f"{run.started:%Y-%m-%d %H:%M}",))
    return Row(str(run.run), (started, Cell((machine,)), *own, good))


def _refusals(report: HistoryReport) -> Iterable[Block]:
    lines = [
        f"run {run.run}: no price of {variant}: {why}"
        for run in report.runs
        for variant, why in run.refused.items()
    ]
    if lines:
        yield Bullets(lines)


def _variant(report: HistoryReport, variant: str) -> Section:
    if report.of == "outcomes":
        return Section(variant, [_outcome_table(report, variant)])
    prices = [price for price in report.prices if price.variant == variant]
    note = f"Median per operation in {prices[0].unit}: {_what(prices)}."
    return Section(variant, [Paragraph(note, Tone.NOTE), _price_table(report, prices)])


def _what(prices: Sequence[PastPrice]) -> str:
    absolute = [price.price is None for price in prices]
    if all(absolute):
        return "the baseline"
    if any(absolute):
        return "+ and - from the run's baseline; without a sign, it is the baseline"
    return "difference from the run's baseline"


def _price_table(report: HistoryReport, prices: Sequence[PastPrice]) -> Table:
    workloads = tuple(report.workloads)
    rows = []
    for run in report.runs:
        own = {price.workload: price for price in prices if price.run == run.run}
        if own:
            cells = (_price(own.get(name), run) for name in workloads)
            rows.append(Row(_label(next(iter(own.values()))), tuple(cells)))
    return Table(workloads, tuple(rows), "Medians from run to run")


def _price(price: PastPrice | None, run: PastRun) -> Cell:
    if price is None:
        return Cell(())
    text = absolute(price.p50) if price.price is None else signed(price.price)
    return Cell((text,)) if run.good else Cell((f"{text} (?)",), Tone.DOUBT)


def _outcome_table(report: HistoryReport, variant: str) -> Table:
    found = [outcome for outcome in report.outcomes if outcome.variant == variant]
    deciding = {outcome.proof for outcome in found if not outcome.limit}
    many = len(deciding) > _MOST_PROOFS
    if many:
        found = [outcome for outcome in found if not outcome.limit]
    proofs = tuple(dict.fromkeys(outcome.proof for outcome in found))
    rows = []
    for run in report.runs:
        own = {outcome.proof: outcome for outcome in found if outcome.run == run.run}
        if own:
            cells = (_worst(own.values()),) if many else _outcome_cells(proofs, own)
            rows.append(Row(_label(next(iter(own.values()))), cells))
    columns = (f"worst of {len(proofs)} proofs",) if many else proofs
    return Table(columns, tuple(rows), "Outcomes from run to run")


def _worst(found: Iterable[PastOutcome]) -> Cell:
    worst = worst_outcome(each.outcome for each in found)
    return Cell((worst.value,), OUTCOME_TONES[worst])


def _outcome_cells(
    proofs: Iterable[str], found: Mapping[str, PastOutcome]
) -> tuple[Cell, ...]:
    return tuple(_outcome(found.get(name)) for name in proofs)


def _outcome(found: PastOutcome | None) -> Cell:
    if found is None:
        return Cell(())
    if found.limit:
        return Cell((f"{found.outcome} (limit)",))
    return Cell((found.outcome.value,), OUTCOME_TONES[found.outcome])


def _label(row: PastPrice | PastOutcome) -> str:
    """Name a run and its kernel in 24 characters."""
    key = row.kernel_key.removeprefix("file:")[:_SHORT]
    return f"{row.run} {row.kernel_release} {key}"


def _left_out(report: HistoryReport) -> Iterable[Block]:
    if report.left_out:
        lines = [f"run {run}: {why}" for run, why in report.left_out.items()]
        yield Section("Left out", [Bullets(lines)])
