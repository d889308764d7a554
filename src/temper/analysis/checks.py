"""A report as checks that passed or failed, which is what CI systems show."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from temper.analysis.audit import AuditedOption, AuditReport
from temper.analysis.exposure import ExposureReport
from temper.analysis.in_force import objection
from temper.analysis.models import (
    InForceSummary,
    PriceReport,
    ProofEvidence,
    ProofReport,
)
from temper.analysis.mutants import MutantFound, MutateReport
from temper.analysis.selftest import ExactnessReport
from temper.analysis.trial import TrialBoot, TrialReport
from temper.record.outcome import Outcome


class Result(StrEnum):
    """How a check ended."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    """It says neither: any outcome will do, the attack does not apply, or it lands
    as a known limit."""


@dataclass(frozen=True)
class Check:
    """Something that is true or not."""

    name: str
    result: Result
    why: tuple[str, ...]
    """Sentences; the first one sums up the others."""
    seconds: float = 0.0


@dataclass(frozen=True)
class Suite:
    """Checks of one variant, or of the whole run; never empty."""

    name: str
    checks: tuple[Check, ...]

    @property
    def result(self) -> Result:
        """Whether any failed; skipped if none says anything."""
        results = {check.result for check in self.checks}
        order = (Result.FAILED, Result.PASSED, Result.SKIPPED)
        return next(result for result in order if result in results)


Checked = (
    PriceReport
    | ProofReport
    | MutateReport
    | AuditReport
    | TrialReport
    | ExactnessReport
    | ExposureReport
)


def suites(report: Checked) -> list[Suite]:
    """Return the checks of a report.

    One fails exactly if the command that made the report fails.
    """
    match report:
        case PriceReport():
            parts = _of_price(report)
        case ProofReport():
            parts = _of_proof(report)
        case MutateReport():
            parts = _of_mutants(report)
        case AuditReport():
            parts = _of_audit(report)
        case TrialReport():
            parts = {"boots": [*map(_boot, report.boots), *_missing(report.missing)]}
        case ExactnessReport():
            parts = {"counts": [_check("the same in all boots", *_equality(report))]}
        case ExposureReport():
            parts = {name: list(_exposed(report, name)) for name in report.variants}
    return [
        Suite(f"{report.kind} {report.feature}: {name}", tuple(checks))
        for name, checks in parts.items()
    ]


_Parts = dict[str, list[Check]]
"""Variant, or what else the checks are about -> the checks."""


def _check(name: str, passed: bool, why: Iterable[str]) -> Check:
    return Check(name, Result.PASSED if passed else Result.FAILED, tuple(why))


def _of_mutants(report: MutateReport) -> _Parts:
    sound = [report.unsound] if report.unsound else []
    return {
        "series": [_check("noticed by nothing as it is", not sound, sound)],
        "mutants": [*map(_mutant, report.mutants), *_missing(report.pending)],
    }


def _mutant(found: MutantFound) -> Check:
    name = f"{found.id} {found.file}:{found.line} {found.does}"
    if found.noticed:
        return _check(name, True, [f"by {found.noticed.by}: {found.noticed.how}"])
    return _check(name, bool(found.accepted), [found.accepted or "nothing noticed it"])


def _of_proof(report: ProofReport) -> _Parts:
    parts = {
        variant: [
            *_in_force(report.in_force, variant, variant not in report.sabotages),
            *(_proof(report, name, found) for name, found in proofs.items()),
        ]
        for variant, proofs in report.evidence.items()
    }
    roles = [f"control: {report.control}"]
    roles.append(f"hardened: {', '.join(report.hardened) or 'none'}")
    return parts | {
        "verdict": [
            _check("proven", report.proven, roles),
            _check("all as expected", report.as_expected, []),
        ]
    }


def _proof(report: ProofReport, proof: str, found: ProofEvidence) -> Check:
    name = report.label(proof)
    if found.surprising:
        summary = f"{found.outcome}, but {found.expected} is expected"
        return Check(name, Result.FAILED, (summary, *found.reasons))
    if found.expected is None:
        return Check(
            name, Result.SKIPPED, (f"{found.outcome}; any will do", *found.reasons)
        )
    # Neither a skip nor a limit is ever green, even one that was expected.
    lands = found.outcome is Outcome.VULNERABLE
    says = found.outcome is not Outcome.UNSUPPORTED and not (
        lands and proof in report.limits
    )
    result = Result.PASSED if says else Result.SKIPPED
    return Check(name, result, (f"{found.outcome}, as expected", *found.reasons))


def _in_force(
    summaries: Mapping[str, InForceSummary], variant: str, counts: bool = True
) -> Iterator[Check]:
    """Yield the check that the mitigation was on, or off, if it ``counts``."""
    summary = summaries.get(variant)
    if summary and counts:
        why = objection(summary)
        yield _check("in force", not why, [why or summary.how])


def _of_price(report: PriceReport) -> _Parts:
    names = dict.fromkeys([report.baseline, *report.variants, *report.refused])
    parts = {name: list(_of_variant(report, name)) for name in names}
    counts = [
        _check("exact", report.exact, [report.exact_why]),
        *(_check(name, False, [why]) for name, why in report.failed.items()),
    ]
    return {name: checks for name, checks in parts.items() if checks} | {
        "counts": counts
    }


def _of_variant(report: PriceReport, variant: str) -> Iterator[Check]:
    yield from _in_force(report.in_force, variant)
    if variant in report.refused:
        yield _check("price", False, [report.refused[variant]])
    for row in report.rows:
        if row.result_class == "p50" and row.without_ticks and row.variant == variant:
            price = f"p50 {row.value:g} {row.unit}, {row.delta:+g} compared with "
            yield _check(row.workload, True, [price + report.baseline])


def _of_audit(report: AuditReport) -> _Parts:
    why = [report.refused] if report.refused else []
    why += [f"{name}: {error}" for name, error in report.failed.items()]
    why += [f"{name}: it has not booted yet" for name in report.missing]
    return {
        "options": list(map(_audited, report.options)),
        "audit": [_check("complete", report.complete, why)],
    }


def _audited(option: AuditedOption) -> Check:
    """Return what an option is worth: red against the policy, green if it holds."""
    why = [f"{option.outcome}; {option.promise}"]
    if option.must:
        why[0] = f"{option.outcome}, and must be {option.must}; {option.promise}"
    for attack in option.attacks:
        if attack.shipped:
            why.append(f"{attack.name}: {attack.shipped.outcome}, {attack.shipped.why}")
    if not option.meets_policy:
        return Check(option.name, Result.FAILED, tuple(why))
    holds = option.outcome is Outcome.BLOCKED or option.must is not None
    return Check(option.name, Result.PASSED if holds else Result.SKIPPED, tuple(why))


def _exposed(report: ExposureReport, variant: str) -> Iterator[Check]:
    yield from _in_force(report.in_force, variant)
    refused = report.refused.get(variant)
    yield _check("measured", not refused, [refused] if refused else [])
    if not refused:
        faults = report.faults.get(variant, [])
        yield _check("never open when it must not be", not faults, faults)


def _boot(boot: TrialBoot) -> Check:
    why = (*boot.wrong, *(f"never done: {name}" for name in boot.never_done))
    result = Result.PASSED if boot.clean else Result.FAILED
    return Check(boot.variant, result, why, boot.wall_seconds)


def _missing(variants: Iterable[str]) -> Iterator[Check]:
    for variant in variants:
        yield _check(variant, False, ["it has not booted yet"])


def _equality(report: ExactnessReport) -> tuple[bool, list[str]]:
    why = [f"{report.pairs} of {report.planned} pairs of boots have counts"]
    why += [f"pair {each.pair}: {each.what}" for each in report.unequal]
    why += [f"boot {each.boot}: {each.error}" for each in report.failed]
    return report.exact, why
