"""What changed from one stored run to another: of two prices, or of two proofs."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from temper.analysis.comparable import check_machines, check_plans
from temper.analysis.diff_models import (
    Change,
    ClassChange,
    DiffReport,
    OutcomeChange,
    Unmatched,
    ValueChange,
)
from temper.analysis.models import (
    InForceSummary,
    PriceReport,
    ProofReport,
    VariantInfo,
)
from temper.analysis.price import price_report
from temper.analysis.proof import proof_report
from temper.analysis.variants import variant_infos
from temper.record.boot import StoredRun
from temper.record.outcome import Outcome
from temper.record.plan import Kind


def diff_report(before: StoredRun, after: StoredRun) -> DiffReport:
    """Compare two finished prices, or two proofs, of the same on the same machine.

    Raises InputError, with the reason, for runs that cannot be compared, and what
    ``price_report`` and ``proof_report`` raise.
    """
    check_plans(before, after)
    check_machines(before.id, after.id, variant_infos(before), variant_infos(after))
    if before.plan.kind is Kind.PROVE:
        return _of_proofs(before, after, proof_report(before), proof_report(after))
    return _of_prices(before, after, price_report(before), price_report(after))


def _of_prices(
    before: StoredRun, after: StoredRun, ours: PriceReport, theirs: PriceReport
) -> DiffReport:
    values, others = _values(ours), _values(theirs)
    return DiffReport(
        **_head(before, after),
        unit=ours.unit,
        compared=len(values.keys() & others.keys()),
        exact=ours.exact and theirs.exact,
        verdicts=[
            *_changes("exact", "", _exactness(ours), _exactness(theirs)),
            *_refusals(ours, theirs),
            *_in_force(ours.in_force, theirs.in_force),
        ],
        values=list(_value_changes(values, others)),
        classes=list(_class_changes(ours, theirs)),
        outcomes=[],
        conditions=list(_conditions(before, after, ours.variants, theirs.variants)),
        unmatched=[
            *_unmatched("variant", before, after, ours.variants, theirs.variants),
            *_unmatched("workload", before, after, ours.calls, theirs.calls),
        ],
    )


def _of_proofs(
    before: StoredRun, after: StoredRun, ours: ProofReport, theirs: ProofReport
) -> DiffReport:
    outcomes, others = _outcomes(ours), _outcomes(theirs)
    yes_no = {True: "yes", False: "no"}
    return DiffReport(
        **_head(before, after),
        unit="",
        compared=len(outcomes.keys() & others.keys()),
        exact=True,
        verdicts=[
            *_changes("proven", "", yes_no[ours.proven], yes_no[theirs.proven]),
            *_changes(
                "as_expected", "", yes_no[ours.as_expected], yes_no[theirs.as_expected]
            ),
            *_in_force(ours.in_force, theirs.in_force),
        ],
        values=[],
        classes=[],
        outcomes=[
            OutcomeChange(
                variant=key[0], proof=key[1], before=outcome, after=others[key]
            )
            for key, outcome in outcomes.items()
            if others.get(key, outcome) is not outcome
        ],
        conditions=list(_conditions(before, after, ours.variants, theirs.variants)),
        unmatched=[
            *_unmatched("variant", before, after, ours.variants, theirs.variants),
            *_unmatched("proof", before, after, ours.proofs, theirs.proofs),
        ],
    )


def _head(before: StoredRun, after: StoredRun) -> dict[str, Any]:
    plan = after.plan
    return {
        "of": plan.kind.value,
        "feature": plan.feature,
        "title": plan.title,
        "arch": plan.arch,
        "machine": plan.machine,
        "before": before.id,
        "after": after.id,
    }


_Values = dict[tuple[str, str, str, bool], tuple[float, float | None]]
"""Workload, variant, class, without ticks -> value and price."""


def _value_changes(values: _Values, others: _Values) -> Iterator[ValueChange]:
    for key, (value, price) in values.items():
        if others.get(key, (value, price)) == (value, price):
            continue
        workload, variant, name, without_ticks = key
        yield ValueChange(
            workload=workload,
            variant=variant,
            result_class=name,
            without_ticks=without_ticks,
            before=value,
            after=others[key][0],
            price_before=price,
            price_after=others[key][1],
        )


def _values(report: PriceReport) -> _Values:
    found: _Values = {}
    for row in report.rows:
        key = (row.workload, report.baseline, row.result_class, row.without_ticks)
        found[key] = (row.baseline_value, None)
    for row in report.rows:
        key = (row.workload, row.variant, row.result_class, row.without_ticks)
        found[key] = (row.value, row.delta)
    return found


def _class_changes(ours: PriceReport, theirs: PriceReport) -> Iterator[ClassChange]:
    counts, others = _class_counts(ours), _class_counts(theirs)
    measured = {key[:2] for key in counts} & {key[:2] for key in others}
    for key in dict.fromkeys((*counts, *others)):
        count, other = counts.get(key, 0), others.get(key, 0)
        if key[:2] in measured and count != other:
            workload, variant, name = key
            yield ClassChange(
                workload=workload,
                variant=variant,
                instruction_class=name,
                before=count,
                after=other,
            )


def _class_counts(report: PriceReport) -> dict[tuple[str, str, str], float]:
    """Return workload, variant, class -> instructions per operation."""
    found = {}
    for row in report.classes:
        base = (row.workload, report.baseline, row.instruction_class)
        found[base] = row.baseline_per_operation
    for row in report.classes:
        own = (row.workload, row.variant, row.instruction_class)
        found[own] = row.per_operation
    return found


def _outcomes(report: ProofReport) -> dict[tuple[str, str], Outcome]:
    return {
        (variant, proof): found.outcome
        for variant, proofs in report.evidence.items()
        for proof, found in proofs.items()
    }


def _exactness(report: PriceReport) -> str:
    return "yes" if report.exact else f"no: {report.exact_why}"


def _refusals(ours: PriceReport, theirs: PriceReport) -> Iterator[Change]:
    for variant in _shared(ours.variants, theirs.variants):
        was, now = (each.refused.get(variant, "no") for each in (ours, theirs))
        yield from _changes("refused", variant, was, now)


def _in_force(
    ours: Mapping[str, InForceSummary], theirs: Mapping[str, InForceSummary]
) -> Iterator[Change]:
    for variant in _shared(ours, theirs):
        yield from _changes(
            "in_force", variant, _agreement(ours[variant]), _agreement(theirs[variant])
        )


def _agreement(summary: InForceSummary) -> str:
    """Say whether the checks agreed; how many there were depends on the job."""
    if summary.found is None:
        return "not checked"
    return "as expected" if summary.found is summary.expected else "not as expected"


_CONDITIONS = ("kernel_release", "kernel_key", "config_hash", "compiler", "cmdline")


def _conditions(
    before: StoredRun,
    after: StoredRun,
    ours: Mapping[str, VariantInfo],
    theirs: Mapping[str, VariantInfo],
) -> Iterator[Change]:
    for what in ("calls", "setting", "base", "temper_version"):
        was, now = (str(getattr(run.plan, what)) for run in (before, after))
        yield from _changes(what, "", was, now)
    for what in _CONDITIONS:
        for variant in _shared(ours, theirs):
            was, now = (str(getattr(infos[variant], what)) for infos in (ours, theirs))
            yield from _changes(what, variant, was, now)


def _changes(what: str, variant: str, before: str, after: str) -> Iterator[Change]:
    if before != after:
        yield Change(what=what, variant=variant, before=before, after=after)


def _unmatched(
    what: Literal["variant", "workload", "proof"],
    before: StoredRun,
    after: StoredRun,
    ours: Mapping[str, object],
    theirs: Mapping[str, object],
) -> Iterator[Unmatched]:
    for run, these, those in ((before, ours, theirs), (after, theirs, ours)):
        for name in these:
            if name not in those:
                yield Unmatched(what=what, name=name, run=run.id)


def _shared(ours: Mapping[str, object], theirs: Mapping[str, object]) -> list[str]:
    return [name for name in ours if name in theirs]
