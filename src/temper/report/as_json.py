"""Reports for other programs: JSON, and the schemas that describe it."""

import json

from temper.analysis.audit import AuditReport
from temper.analysis.checks import Checked
from temper.analysis.diff_models import DiffReport
from temper.analysis.exposure import ExposureReport
from temper.analysis.history import HistoryReport
from temper.analysis.models import PriceReport, ProofReport
from temper.analysis.mutants import MutateReport
from temper.analysis.selftest import ExactnessReport
from temper.analysis.trial import TrialReport

Report = Checked
"""The report of one run."""
Data = Report | DiffReport | HistoryReport
"""What ``--json`` writes and a schema describes."""

SCHEMAS: dict[str, type[Data]] = {
    "price.v2.json": PriceReport,
    "prove.v2.json": ProofReport,
    "mutate.v1.json": MutateReport,
    "audit.v1.json": AuditReport,
    "exposure.v1.json": ExposureReport,
    "trial.v1.json": TrialReport,
    "selftest.v1.json": ExactnessReport,
    "diff.v1.json": DiffReport,
    "history.v1.json": HistoryReport,
}
"""Name of a schema file in docs/schema/ -> the report it describes."""


def to_json(report: Data, indent: int | None = 2) -> str:
    """Return a report as JSON, with keys in the model's order.

    ``indent``: spaces a level; None: all in one line.
    """
    return report.model_dump_json(by_alias=True, indent=indent) + "\n"


def schema(name: str) -> str:
    """Return the JSON Schema that ``docs/schema/name`` must hold."""
    described = SCHEMAS[name].model_json_schema(by_alias=True, mode="serialization")
    return json.dumps(described, indent=2) + "\n"
