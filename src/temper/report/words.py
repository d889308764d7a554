"""The sentences of a report, the same in terminal, Markdown and HTML."""

from collections.abc import Mapping, Sequence

from temper.catalog import Outcome
from temper.report.configuration import shared_settings
from temper.report.in_force import objection, on_off
from temper.report.models import (
    PriceReport,
    PriceRow,
    ProofEvidence,
    ProofReport,
)
from temper.report.numbers import absolute, percent, signed

_OPERATIONS = {"syscall": "call", "ctx": "context switch", "generator": "draw"}


def operation(workload: str) -> str:
    """Name what a workload counts one of: ``call``, ``context switch``."""
    return _OPERATIONS.get(workload.partition("/")[0], "operation")


def heading(report: PriceReport | ProofReport) -> str:
    """Name the report; its title says more."""
    if report.kind == "compare":
        return "Comparison"
    return f"{'Price' if report.kind == 'price' else 'Proof'} of {report.feature}"


def headlines(report: PriceReport) -> list[str]:
    """Say in a sentence per variant what it costs."""
    if not report.rows:
        return [f"{report.feature} has no price: every variant is refused."]
    return [
        _headline(report, variant, rows) for variant, rows in _medians(report).items()
    ]


def _headline(report: PriceReport, variant: str, rows: Sequence[PriceRow]) -> str:
    low, high = min(r.delta for r in rows), max(r.delta for r in rows)
    if low == high == 0:
        return (
            f"At the median, {variant} costs exactly as much as "
            f"{report.baseline} on {_workloads(rows)}."
        )
    percents = sorted(r.delta_percent for r in rows if r.delta_percent is not None)
    share = f" ({_span([percent(p) for p in percents])})" if percents else ""
    return (
        f"At the median, {variant} costs {_span([signed(low), signed(high)])} "
        f"{report.unit} an operation against {report.baseline}{share}, "
        f"on {_workloads(rows)}."
    )


def _medians(report: PriceReport) -> dict[str, list[PriceRow]]:
    medians: dict[str, list[PriceRow]] = {}
    for row in report.rows:
        if row.result_class == "p50" and row.without_ticks:
            medians.setdefault(row.variant, []).append(row)
    return medians


def _workloads(rows: Sequence[PriceRow]) -> str:
    return "1 workload" if len(rows) == 1 else f"{len(rows)} workloads"


def _span(texts: Sequence[str]) -> str:
    return texts[0] if texts[0] == texts[-1] else f"{texts[0]} to {texts[-1]}"


def table_title(report: PriceReport, without_ticks: bool) -> str:
    """Name what the price table holds: unit, direction, baseline, machine."""
    ticks = "without" if without_ticks else "with"
    doubt = "" if report.exact else "NOT EXACT. "
    return (
        f"{doubt}{report.unit.capitalize()} per operation, timing included, "
        f"{ticks} the samples a timer tick fell into. {report.baseline}: absolute; "
        f"the others: difference from {report.baseline}, + is dearer. "
        f"{configuration_line(report)}."
    )


def configuration_line(report: PriceReport | ProofReport) -> str:
    """Name in a line what every variant ran on."""
    shared = shared_settings(report.variants)
    named = [
        f"{label} {shared[label]}"
        for label in ("Linux", "QEMU", "CPU model")
        if label in shared
    ]
    return ", ".join([report.arch, f"machine {report.machine}", *named])


def legend(report: PriceReport) -> str:
    """Explain the marks that occur in the report."""
    meanings = {
        "=": "exactly equal",
        "(R)": "regression, dearer",
        "(I)": "improvement, cheaper",
        "(?)": "the counts did not repeat, so this may be noise",
    }
    seen = {row.mark.value for row in report.rows}
    return "Marks: " + "; ".join(
        f"{mark} {meaning}" for mark, meaning in meanings.items() if mark in seen
    )


def reading(report: PriceReport) -> str:
    """Read one row of the table aloud, as an example; empty without rows."""
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
        word = "dearer" if row.delta > 0 else "cheaper"
        relative = f", {percent(abs(row.delta_percent)).lstrip('+')} {word}"
    return (
        f"{subject}{_THE[row.result_class]} {what} takes "
        f"{absolute(abs(row.delta))} {row.unit} {than} than with "
        f"{report.baseline}{relative}."
    )


_THE = {
    "mean": "the average",
    "p50": "the median",
    "p99": "the 99th of 100",
    "p99.9": "the 999th of 1000",
    "max": "the dearest",
}


IN_FORCE_TITLE = "In force, checked in the same boots"
TICKED_TITLE = "With the samples a timer tick fell into"
TICKED_NOTE = "Only the rows that this changes, and how many samples were hit."
CLASS_TITLE = "Instructions by class"


def class_note(report: PriceReport) -> str:
    """Say what the class table holds, and why it stands beside the price."""
    return (
        "Instructions of each class per operation, the whole region with its "
        f"ticks, counted by the QEMU plugin. {report.baseline}: absolute; the "
        f"others: difference from {report.baseline}. Each is one instruction in "
        "the price above; on hardware some of them cost far more."
    )


def exact_line(report: PriceReport) -> str:
    """State whether the counts are exact, and how that was found."""
    return f"{'Exact' if report.exact else 'NOT EXACT'}: {report.exact_why}."


def notes(report: PriceReport) -> list[str]:
    """Return what has to be known to trust the table."""
    lines = [exact_line(report), tick_line(report), *overhead_lines(report)]
    return [line for line in lines if line]


def overhead_lines(report: PriceReport) -> list[str]:
    """State what the timing itself costs, workloads with equal cost together."""
    groups: dict[tuple[int, int], list[str]] = {}
    for workload, cost in report.overhead.items():
        groups.setdefault((cost, report.operations[workload]), []).append(workload)
    return [
        f"Timing a sample itself costs {absolute(cost)} {report.unit}, included "
        f"in the values of {', '.join(workloads)}" + _shared_by(operations)
        for (cost, operations), workloads in groups.items()
    ]


def _shared_by(operations: int) -> str:
    if operations == 1:
        return "."
    return f" (shared by the {operations} operations of a sample)."


def tick_line(report: PriceReport) -> str:
    """State how rare the samples hit by a timer tick are; empty without counts."""
    if not report.ticks:
        return ""
    hits = sorted(count.hit for count in report.ticks)
    taken = sorted(count.samples for count in report.ticks)
    return (
        f"A timer tick fell into {_span([f'{n:,}' for n in hits])} of "
        f"{_span([f'{n:,}' for n in taken])} samples of each workload "
        "(seen by the tick's own clock, not guessed from the value)."
    )


def warnings(report: PriceReport) -> list[str]:
    """Say what is refused and why, and that counts are not exact if so."""
    lines = [
        f"REFUSED: no price of {variant}: {reason.rstrip('.')}."
        for variant, reason in report.refused.items()
    ]
    if report.rows and not report.exact:
        lines.append(exact_line(report))
    return lines


def in_force_lines(report: PriceReport | ProofReport) -> list[str]:
    """State for each variant what its in-force checks found."""
    lines = [
        f"{variant}: found {on_off(summary.expected)} by {summary.agreed} of "
        f"{summary.checks} checks" + (f" ({summary.how})" if summary.how else "")
        for variant, summary in report.in_force.items()
    ]
    if isinstance(report, PriceReport) and report.in_force_note:
        lines.append(f"Not checked: {report.in_force_note}.")
    return lines


def verdict(report: ProofReport) -> str:
    """Say in one line whether the feature holds, and why not where it does not.

    Of a part of the feature it says what of it was shown, and what was left out.
    """
    return ". ".join([*_conclusion(report), *_left_out(report)]) + "."


def _conclusion(report: ProofReport) -> list[str]:
    if report.proven:
        return [_proven(report), *_beside(report)]
    line = f"{report.feature} is NOT PROVEN: {'; '.join(_doubts(report))}"
    if report.hardened:
        return [line]
    return [line, _shown(report)]


def _proven(report: ProofReport) -> str:
    held = ", ".join(f"{variant} is BLOCKED" for variant in report.hardened)
    line = f"{report.feature} is PROVEN{_scope(report)}: "
    line += f"{report.control} is VULNERABLE, {held}"
    if len(report.proofs) > 1:
        line += f", by each of {len(report.proofs)} proofs{_exempt(report)}"
    return line


def _scope(report: ProofReport) -> str:
    """Say of which variants and proofs a part of the feature tells."""
    scope = ""
    if report.variants_left_out:
        scope += f" for {', '.join(report.hardened)}"
    if report.proofs_left_out:
        scope += f" by {', '.join(report.proofs)}"
    return scope


def _left_out(report: ProofReport) -> list[str]:
    left_out = {"variants": report.variants_left_out, "proofs": report.proofs_left_out}
    parts = [f"the {what} {', '.join(left)}" for what, left in left_out.items() if left]
    return [f"Left out: {'; '.join(parts)}"] if parts else []


def _beside(report: ProofReport) -> list[str]:
    """Say how variants came out that the feature's proof does not hang on."""
    surprises = _surprises(report)
    if surprises:
        return [f"But not all is as expected: {surprises}"]
    tried = [name for name in report.sabotages if _expected(report.evidence[name])]
    if len(tried) < 2:
        return [f"The sabotage {name} came out as it must" for name in tried]
    which = "sabotages"
    if len(tried) < len(report.sabotages):
        which += " that these proofs are there for"
    return [f"All {len(tried)} {which} came out as they must"]


def _shown(report: ProofReport) -> str:
    """Say what came out where nothing had to hold."""
    surprises = _surprises(report)
    if surprises:
        return f"Not all is as expected: {surprises}"
    shown = [
        f"{variant} is {outcome}{f' by {proofs}' if len(report.proofs) > 1 else ''}"
        for variant, found in report.evidence.items()
        for outcome, proofs in _expected(found).items()
    ]
    return f"As expected: {'; '.join(shown)}"


def _expected(evidence: Mapping[str, ProofEvidence]) -> dict[Outcome, str]:
    """Return outcome -> the proofs that it was expected of, and that found it."""
    return {
        outcome: ", ".join(p for p, found in evidence.items() if _is(found, outcome))
        for outcome in Outcome
        if any(_is(found, outcome) for found in evidence.values())
    }


def _is(found: ProofEvidence, outcome: Outcome) -> bool:
    return found.outcome is outcome is found.expected


def _surprises(report: ProofReport) -> str:
    return "; ".join(
        f"{variant} is {found.outcome}{_by(report, proof)}, "
        f"{found.expected} was expected"
        for variant, proof, found in _all_evidence(report)
        if found.surprising
    )


def _all_evidence(report: ProofReport) -> list[tuple[str, str, ProofEvidence]]:
    """Return variant, proof, what was found: in the order of the report."""
    return [
        (variant, proof, found)
        for variant, proofs in report.evidence.items()
        for proof, found in proofs.items()
    ]


def _by(report: ProofReport, proof: str) -> str:
    return f" by {proof}" if len(report.proofs) > 1 else ""


def _exempt(report: ProofReport) -> str:
    """Say which proofs cannot apply to the control, in brackets."""
    without = [
        proof
        for proof, found in report.evidence[report.control].items()
        if found.expected is Outcome.UNSUPPORTED
    ]
    return (
        f" ({', '.join(without)} cannot apply to {report.control})" if without else ""
    )


def variant_lines(report: PriceReport | ProofReport) -> list[str]:
    """Say of each variant what it is and how its kernel was started."""
    return [
        f"{name}: {info.title} (Linux {info.kernel_release}: {info.cmdline})"
        for name, info in report.variants.items()
    ]


def clock_lines(report: ProofReport) -> list[str]:
    """Say what clock the attacked kernels had, one line a clock."""
    clocks = dict.fromkeys(found.clock for *_, found in _all_evidence(report))
    return [f"Clock of the guest: {clock}." for clock in clocks]


def _doubts(report: ProofReport) -> list[str]:
    decisive = (report.control, *report.hardened)
    doubts = [] if report.hardened else ["no variant that has to hold was attacked"]
    doubts += [
        f"{variant} was not attacked"
        for variant in decisive
        if variant not in report.evidence
    ]
    doubts += [
        _doubt(report, variant, proof, found)
        for variant, proof, found in _all_evidence(report)
        if variant in decisive and found.surprising
    ]
    for variant, checks in report.in_force.items():
        if variant not in report.sabotages and objection(checks):
            doubts.append(f"{variant}: {objection(checks)}")
    return doubts or ["see the evidence"]


def _doubt(report: ProofReport, variant: str, proof: str, found: ProofEvidence) -> str:
    state = f"{variant} is {found.outcome}{_by(report, proof)}"
    if variant == report.control:
        return f"the control {state}, so the attack shows nothing"
    if found.outcome is Outcome.VULNERABLE:
        return f"{state}, the attack landed"
    return f"{state}, and what could not run proves nothing"


OUTCOMES_NOTE = "!: not what was expected."
_MOST_REASONS = 3


def surprised(report: ProofReport) -> bool:
    """Return whether any outcome is not the expected one."""
    return any(found.surprising for *_, found in _all_evidence(report))


def attack_lines(report: ProofReport, proof: str) -> list[str]:
    """Say of each variant how a proof ended on it, and why."""
    return [
        f"{variant} is {found.outcome}: {_why(found.reasons)}"
        for variant, name, found in _all_evidence(report)
        if name == proof
    ]


def _why(reasons: list[str]) -> str:
    """Join the first reasons; one would do, and nobody reads twenty."""
    more = len(reasons) - _MOST_REASONS
    said = "; ".join(reasons[:_MOST_REASONS]).rstrip(".")
    return f"{said}; and {more} more, in the JSON" if more > 0 else said
