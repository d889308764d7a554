"""The report on any run: what it says, how it is drawn, and its exit status."""

from collections.abc import Callable, Mapping

import typer

from temper.analysis.audit import AuditReport, audit_report
from temper.analysis.exposure import ExposureReport, exposure_report
from temper.analysis.models import PriceReport, ProofReport
from temper.analysis.mutants import MutateReport, mutate_report
from temper.analysis.price import price_report
from temper.analysis.proof import proof_report
from temper.analysis.selftest import ExactnessReport, exactness_report
from temper.analysis.trial import TrialReport, trial_report
from temper.cli.files import Files
from temper.errors import InputError
from temper.invocation import as_typed
from temper.mutation import with_reasons
from temper.record.boot import StoredRun
from temper.record.plan import Kind
from temper.record.wire import UNSUPPORTED
from temper.report.as_json import Report
from temper.report.audit_document import audit_document
from temper.report.document import Document
from temper.report.exposure_document import exposure_document
from temper.report.mutate_document import mutate_document
from temper.report.price_document import price_document
from temper.report.proof_document import proof_document
from temper.report.selftest_document import exactness_document
from temper.report.trial_document import trial_document


def whole(run: StoredRun) -> StoredRun:
    """Return a run; raise InputError if it is a shard that shows nothing alone.

    One of mutants is a smaller sample of them.
    """
    if run.plan.shard and not run.plan.mutants:
        raise InputError(
            f"run {run.id} is shard {run.plan.shard} of a plan",
            f"when all are made: {as_typed('temper merge FOLDER...')}",
        )
    return run


def report_of(run: StoredRun) -> Report:
    """Judge a run; raises what ``whole`` does."""
    return _JUDGED[whole(run).plan.kind](run)


def judged_today(run: StoredRun) -> MutateReport:
    """Judge mutants, with the reasons of today; raises what ``with_reasons`` does."""
    return mutate_report(with_reasons(run))


_JUDGED: Mapping[Kind, Callable[[StoredRun], Report]] = {
    Kind.PRICE: price_report,
    Kind.COMPARE: price_report,
    Kind.PROVE: proof_report,
    Kind.MUTATE: judged_today,
    Kind.STRESS: trial_report,
    Kind.EVENTS: trial_report,
    Kind.SELFTEST: exactness_report,
    Kind.AUDIT: audit_report,
    Kind.EXPOSURE: exposure_report,
}
"""Kind of run -> what judges it."""


def document_of(report: Report) -> Document:
    """Draw a report."""
    match report:
        case ProofReport():
            document = proof_document(report)
        case MutateReport():
            document = mutate_document(report)
        case AuditReport():
            document = audit_document(report)
        case TrialReport():
            document = trial_document(report)
        case ExactnessReport():
            document = exactness_document(report)
        case ExposureReport():
            document = exposure_document(report)
        case PriceReport():
            document = price_document(report)
    return document


def status_of(report: Report) -> int:
    """Return the exit status of the command that made the run: 0 if all is well."""
    match report:
        case ProofReport():
            well = report.proven and report.as_expected
        case AuditReport():
            if report.refused:
                return UNSUPPORTED
            well = report.complete and report.meets_policy
        case TrialReport() | ExposureReport() | MutateReport():
            well = report.clean
        case ExactnessReport():
            well = report.exact
        case PriceReport():
            well = report.exact and not (report.refused or report.failed)
    return 0 if well else 1


def show(report: Report, files: Files, *, full: bool = False) -> None:
    """Write and print a report."""
    files.publish(report, document_of(report), full=full)


def conclude(report: Report, files: Files, *, full: bool = False) -> None:
    """Write and print a report; raise typer.Exit with its status unless that is 0."""
    show(report, files, full=full)
    if status := status_of(report):
        raise typer.Exit(status)
