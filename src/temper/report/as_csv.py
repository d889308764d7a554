"""Reports for spreadsheets: one table as CSV (RFC 4180, UTF-8, with a header).

A price has a line for each row of its JSON, under the same names. A proof has a line
for each attack on each variant, an exposure one for each workload under each variant, a
trial one for each boot, mutants one for each of them that was booted, an audit one for
each attack in each role, a selftest one for each pair of boots that differ.
"""

import csv
import io
from collections.abc import Iterable, Mapping

from temper.analysis.audit import AuditReport
from temper.analysis.exposure import ExposureReport, StretchRow
from temper.analysis.models import PriceReport, PriceRow, ProofReport
from temper.analysis.mutants import MutateReport
from temper.analysis.selftest import ExactnessReport
from temper.analysis.trial import TrialReport
from temper.report.as_json import Report

_Line = Mapping[str, object]

_PRICE = tuple(
    field.serialization_alias or name for name, field in PriceRow.model_fields.items()
)
_PROOF = ("variant", "proof", "outcome", "expected", "reasons", "limit")
_EXPOSURE = tuple(StretchRow.model_fields)
_SELFTEST = ("pair", "what", "outliers")
_MUTATE = ("mutant", "file", "line", "does", "noticed_by", "how", "accepted")
_AUDIT = ("option", "attack", "role", "outcome", "tries", "landed", "why")
_TRIAL = ("variant", "clean", "wall_seconds", "wrong", "never_done")


def to_csv(report: Report) -> str:
    """Return a report as CSV; empty cells are what JSON calls null."""
    columns, lines = _table(report)
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, columns)
    writer.writeheader()
    writer.writerows(lines)
    return out.getvalue()


def _table(report: Report) -> tuple[tuple[str, ...], Iterable[_Line]]:
    table: tuple[tuple[str, ...], Iterable[_Line]]
    match report:
        case PriceReport():
            table = _PRICE, _prices(report)
        case ProofReport():
            table = _PROOF, _proofs(report)
        case MutateReport():
            table = _MUTATE, _mutants(report)
        case AuditReport():
            table = _AUDIT, _attacks(report)
        case TrialReport():
            table = _TRIAL, _boots(report)
        case ExactnessReport():
            table = _SELFTEST, _pairs(report)
        case ExposureReport():
            table = _EXPOSURE, (row.model_dump(mode="json") for row in report.rows)
    return table


def _prices(report: PriceReport) -> Iterable[_Line]:
    for row in report.rows:
        yield row.model_dump(mode="json", by_alias=True)


def _proofs(report: ProofReport) -> Iterable[_Line]:
    for variant, proofs in report.evidence.items():
        for proof, found in proofs.items():
            yield {
                "variant": variant,
                "proof": proof,
                "outcome": found.outcome.value,
                "expected": found.expected and found.expected.value,
                "reasons": "; ".join(found.reasons),
                "limit": proof in report.limits,
            }


def _mutants(report: MutateReport) -> Iterable[_Line]:
    for found in report.mutants:
        yield {
            "mutant": found.id,
            "file": found.file,
            "line": found.line,
            "does": found.does,
            "noticed_by": found.noticed.by if found.noticed else "",
            "how": found.noticed.how if found.noticed else "",
            "accepted": found.accepted,
        }


def _attacks(report: AuditReport) -> Iterable[_Line]:
    for option in report.options:
        for attack in option.attacks:
            for role in ("shipped", "control", "remedy"):
                if found := getattr(attack, role):
                    yield {
                        "option": option.name,
                        "attack": attack.name,
                        "role": role,
                        **found.model_dump(mode="json"),
                    }


def _boots(report: TrialReport) -> Iterable[_Line]:
    for boot in report.boots:
        yield {
            "variant": boot.variant,
            "clean": boot.clean,
            "wall_seconds": boot.wall_seconds,
            "wrong": "; ".join(boot.wrong),
            "never_done": "; ".join(boot.never_done),
        }


def _pairs(report: ExactnessReport) -> Iterable[_Line]:
    for each in report.unequal:
        outliers = " ".join(map(str, each.outliers))
        yield {"pair": each.pair, "what": each.what, "outliers": outliers}
