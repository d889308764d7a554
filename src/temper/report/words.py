"""The sentences of a report, the same in terminal, Markdown and HTML."""

from collections.abc import Sequence
from math import ceil

from temper.analysis.models import (
    PriceReport,
    PriceRow,
    ProofReport,
    Switches,
)
from temper.report.configuration import shared_settings
from temper.report.numbers import absolute, percent, signed, span
from temper.stats.comparison import Mark

_OPERATIONS = {"syscall": "call", "ctx": "context switch", "generator": "draw"}


def operation(workload: str) -> str:
    """Name one operation of a workload: ``call``, ``context switch``."""
    return _OPERATIONS.get(workload.partition("/")[0], "operation")


def heading(report: PriceReport | ProofReport) -> str:
    """Return the report's heading; its title says more."""
    if report.kind == "compare":
        return "Comparison"
    return f"{'Price' if report.kind == 'price' else 'Proof'} of {report.feature}"


def headlines(report: PriceReport) -> list[str]:
    """Say what each variant costs, in one sentence each."""
    if not report.rows:
        return [f"{report.feature} has no price: Temper refused every variant."]
    lines = [
        _headline(report, variant, rows) for variant, rows in _medians(report).items()
    ]
    return [*lines, *_unproven(report)]


def _unproven(report: PriceReport) -> list[str]:
    if report.has_proofs:
        return []
    return [
        f"{report.feature} is NOT PROVEN: Temper has no attack on it, so this report "
        "says what it costs, not that it holds."
    ]


def _headline(report: PriceReport, variant: str, rows: Sequence[PriceRow]) -> str:
    low, high = min(r.delta for r in rows), max(r.delta for r in rows)
    if low == high == 0:
        return (
            f"At the median, {variant} costs exactly as much as "
            f"{report.baseline} on {_workloads(rows)}."
        )
    percents = sorted(r.delta_percent for r in rows if r.delta_percent is not None)
    share = f" ({span([percent(p) for p in percents])})" if percents else ""
    return (
        f"At the median, {variant} costs {span([signed(low), signed(high)])} "
        f"{report.unit} per operation compared with {report.baseline}{share}, "
        f"on {_workloads(rows)}{_by_layout(report, rows)}{_moved(rows)}."
    )


def upper_bound(report: PriceReport, workload: str, variant: str) -> str:
    """Say what the stated model adds at most to an operation; empty if nothing."""
    rows = report.switches.rows if report.switches else ()
    upper = {(row.workload, row.variant): row.cycles[1] for row in rows}
    most = upper.get((workload, variant), 0)
    return f"model: up to {signed(ceil(most))} cycles" if most > 0 else ""


def upper_bound_line(report: PriceReport) -> str:
    """Say what the cycles beside a price are; empty if there are none."""
    if not report.switches or all(row.cycles[1] <= 0 for row in report.switches.rows):
        return ""
    return (
        f"Model: what hardware may take for {report.switches.title} in addition, at "
        "the upper bound that is stated, not measured."
    )


def _by_layout(report: PriceReport, rows: Sequence[PriceRow]) -> str:
    """Say on how many workloads a median differs no more than layout alone does."""
    within = [row for row in rows if row.spread and abs(row.delta) <= row.spread]
    if not within or not report.exact:
        return ""
    return f"; on {len(within)} of them, no more than the layout of memory alone makes"


def _moved(rows: Sequence[PriceRow]) -> str:
    """Say on how many workloads the whole loop denies a cheaper median."""
    count = sum(row.mark is Mark.MOVED for row in rows)
    if not count:
        return ""
    return f"; on {count} of them, the whole loop does not confirm that it is cheaper"


def _medians(report: PriceReport) -> dict[str, list[PriceRow]]:
    medians: dict[str, list[PriceRow]] = {}
    for row in report.rows:
        if row.result_class == "p50" and row.without_ticks:
            medians.setdefault(row.variant, []).append(row)
    return medians


def _workloads(rows: Sequence[PriceRow]) -> str:
    return "1 workload" if len(rows) == 1 else f"{len(rows)} workloads"


def table_title(report: PriceReport) -> str:
    """Say what the price table holds: unit, direction, baseline, machine."""
    doubt = "" if report.exact else "NOT EXACT. "
    return (
        f"{doubt}{report.unit.capitalize()} per operation, including the timing, "
        f"without samples hit by a timer tick. {report.baseline}: absolute values; "
        f"other columns: difference from {report.baseline}, + is more expensive. "
        f"{layout_line(report)} {configuration_line(report)}."
    )


def configuration_line(report: PriceReport | ProofReport) -> str:
    """Say in one line what every variant ran on."""
    shared = shared_settings(report.variants)
    forms = {"Linux": "Linux {}", "machine": "{}", "CPU model": "CPU model {}"}
    named = [
        form.format(shared[label]) for label, form in forms.items() if label in shared
    ]
    return ", ".join([report.arch, f"machine {report.machine}", *named])


def legend(report: PriceReport) -> str:
    """Explain the marks that occur in the report."""
    meanings = {
        "=": "exactly equal",
        "(R)": "regression, more expensive",
        "(I)": "improvement, cheaper",
        "(M)": "cheaper in the samples, not confirmed by the whole loop",
        "(?)": "the counts did not repeat, so this may be noise",
    }
    if report.exact:
        # Such differences have no mark: only chance tells them from others.
        del meanings["(?)"]
    seen = {row.mark.value for row in report.rows}
    return "Marks: " + "; ".join(
        f"{mark} {meaning}" for mark, meaning in meanings.items() if mark in seen
    )


def layout_line(report: PriceReport) -> str:
    """Say how far the layout of memory alone moves the differences."""
    if all(row.spread is None for row in report.rows):
        return (
            "How far another layout of memory would move the differences was not "
            "measured."
        )
    return (
        f"±: how far the difference moves with the layout of memory, in "
        f"{report.layouts} layouts; within that it has no mark."
    )


def reading(report: PriceReport) -> str:
    """Explain one row of the table as an example; empty without rows."""
    rows = [row for row in report.rows if row.without_ticks]
    if not rows:
        return ""
    row = next((r for r in rows if r.result_class == "p50" and r.delta), rows[0])
    what = operation(row.workload)
    subject = f"Reading: {row.workload} {row.result_class} {row.variant} "
    subject += f"{signed(row.delta)} means: "
    if row.delta == 0:
        return (
            f"{subject}a {what} takes exactly as many {row.unit} "
            f"as with {report.baseline}."
        )
    than = "more" if row.delta > 0 else "fewer"
    relative = ""
    if row.delta_percent is not None:
        word = "more expensive" if row.delta > 0 else "cheaper"
        relative = f", {percent(abs(row.delta_percent)).lstrip('+')} {word}"
    return (
        f"{subject}{_THE[row.result_class]} {what} takes "
        f"{absolute(abs(row.delta))} {than} {row.unit} than with "
        f"{report.baseline}{relative}."
    )


_THE = {
    "mean": "the average",
    "p50": "the median",
    "p99": "the 99th-percentile",
    "p99.9": "the 99.9th-percentile",
    "max": "the most expensive",
}


TICKED_TITLE = "Including samples hit by a timer tick"
TICKED_NOTE = "Only the rows that ticks change, and how many samples they hit."
ONCE_TITLE = "Start and memory"
CLASS_TITLE = "Instructions by class"


def class_note(report: PriceReport) -> str:
    """Say what the class table holds, and what it adds to the price."""
    return (
        "Instructions of each class per operation over the whole region, ticks "
        f"included, as counted by the QEMU plugin. {report.baseline}: absolute "
        f"values; other columns: difference from {report.baseline}. Classes in which "
        "no variant differs are left out. The price counts each as one instruction; "
        "on hardware some of them cost far more, and iterations of rep-string "
        "instructions (rep_string) far less."
    )


def once_note(report: PriceReport) -> str:
    """Say what the table of a start and of memory holds: unit, direction, baseline."""
    return (
        f"What a kernel takes once. {report.baseline}: absolute values; other columns: "
        f"difference from {report.baseline}, + is more. Start: instructions of the "
        "kernel from power-on to the first workload. Memory: bytes of the kernel's own "
        "image, without padding of code, what is only cleared, and what the kernel "
        "allocates later; data per CPU come once for each."
    )


def switch_title(switches: Switches) -> str:
    """Return the heading of the table of expensive register writes."""
    return switches.title.capitalize()


def switch_note(report: PriceReport, switches: Switches) -> str:
    """Say what that table holds: unit, direction, baseline."""
    beside = "".join(f" / {name}" for name in switches.others)
    return (
        f"{switch_title(switches)} per operation over the whole region, ticks "
        f"included: how many more {switches.counted_as}{beside} than with "
        f"{report.baseline}, as counted by the QEMU plugin; + is more. "
        f"{report.baseline}: absolute values; these use other registers and are not "
        "switches."
    )


def model_title(switches: Switches) -> str:
    """Return the heading of the model's table, which says it is not measured."""
    return f"A stated model, not measured: cycles for the {switches.title}"


def model_note(report: PriceReport, switches: Switches) -> str:
    """Say what the model is, where it comes from, and what its table holds."""
    every = {switches.counted_as: switches.cycles, **switches.others}
    each = " and ".join(
        f"{span([absolute(end) for end in cycles])} for each {name}"
        for name, cycles in every.items()
    )
    borrowed = f"{switches.borrowed.strip()} " if switches.borrowed else ""
    return (
        f"Cycles that the {switches.title} above would add to an operation on "
        f"hardware, at {each}; + is more expensive than {report.baseline}. "
        f"{borrowed}Not part of the price. "
        f"Source: {switches.source.strip().rstrip('.')}."
    )


def exact_line(report: PriceReport) -> str:
    """State whether the counts are exact, and why or why not."""
    return f"{'Exact' if report.exact else 'NOT EXACT'}: {report.exact_why}."


def notes(report: PriceReport) -> list[str]:
    """Return what a reader needs to know to trust the table."""
    lines = [exact_line(report), tick_line(report), all_hit_line(report)]
    return [line for line in (*lines, *overhead_lines(report)) if line]


def all_hit_line(report: PriceReport) -> str:
    """Name the workloads that are missing from the table without ticks."""
    hit = [
        f"{count.workload} with {count.variant}"
        for count in report.ticks
        if count.samples == count.hit > 0
    ]
    if not hit:
        return ""
    return (
        f"A timer tick hit every sample of {', '.join(hit)}, so the table without such "
        "samples lacks that; see the table that includes them."
    )


def overhead_lines(report: PriceReport) -> list[str]:
    """State what the timing itself costs; group workloads of equal cost."""
    groups: dict[tuple[int, int], list[str]] = {}
    for workload, cost in report.overhead.items():
        groups.setdefault((cost, report.operations[workload]), []).append(workload)
    return [
        f"Timing a sample costs {absolute(cost)} {report.unit}, included "
        f"in the values of {', '.join(workloads)}" + _shared_by(operations)
        for (cost, operations), workloads in groups.items()
    ]


def _shared_by(operations: int) -> str:
    if operations == 1:
        return "."
    return f" (shared by the {operations} operations of a sample)."


def tick_line(report: PriceReport) -> str:
    """State how many samples a timer tick hit; empty without counts."""
    if not report.ticks:
        return ""
    hits = sorted(count.hit for count in report.ticks)
    taken = sorted(count.samples for count in report.ticks)
    return (
        f"A timer tick hit {span([f'{n:,}' for n in hits])} of "
        f"{span([f'{n:,}' for n in taken])} samples of each workload "
        "(seen by the tick's own clock, not guessed from the value)."
    )


def warnings(report: PriceReport) -> list[str]:
    """Say what has no price and why, and whether counts are not exact."""
    lines = [
        *(
            f"REFUSED: no price of {name}: {_stop(why)}"
            for name, why in report.refused.items()
        ),
        *(
            f"FAILED: no price on {name}: {_stop(why)}"
            for name, why in report.failed.items()
        ),
    ]
    if report.rows and not report.exact:
        lines.append(exact_line(report))
    return lines


def _stop(sentence: str) -> str:
    return sentence.rstrip(". ") + "."


def judges_lines(report: ProofReport) -> list[str]:
    """Say that the judges are not those of the time when the run was made."""
    if not report.judges_changed:
        return []
    return [
        f"The judges of {report.feature} have changed since this run was planned: the "
        "verdict is theirs as they are now."
    ]
