"""What an audit proved of the lines of kernel-hardening-checker."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter

from temper.analysis.audit import AuditedOption, AuditReport
from temper.record.outcome import Outcome, worst_outcome


class CheckerLine(BaseModel):
    """A line of ``kernel-hardening-checker -m json``; other fields stay as they are."""

    model_config = ConfigDict(extra="allow", frozen=True)

    option_name: str
    check_result_bool: bool | None = None
    """False: the setting is not as it should be."""


CHECKER_LINES = TypeAdapter(list[CheckerLine])
"""All that it prints."""


def joined(
    lines: Sequence[CheckerLine], report: AuditReport
) -> list[Mapping[str, Any]]:
    """Return the lines, each with ``proof`` and, if it was tried, ``outcome``.

    ``proof`` is ``proven`` if the setting is as it should be, all options that it sets
    stop each attack, and each lands without them; ``not proven`` if not, or if nothing
    weakens one in this kernel; ``not tried`` if Temper has no attack on it. ``outcome``
    is the worst of the options'.
    """
    return [
        {**line.model_dump(exclude_unset=True), **_proof(line, report)}
        for line in lines
    ]


def _set_by(name: str, report: AuditReport) -> Iterator[AuditedOption]:
    """Yield the options that a setting sets, if any attack on them had an outcome."""
    for option in report.options:
        tried = option.outcome is not Outcome.UNSUPPORTED
        if tried and any(setting.name == name for setting in option.settings):
            yield option


def _proof(line: CheckerLine, report: AuditReport) -> dict[str, str]:
    options = list(_set_by(line.option_name, report))
    if not options:
        return {"proof": "not tried"}
    holds = line.check_result_bool is not False and all(o.proven for o in options)
    proof = "proven" if holds else "not proven"
    outcome = worst_outcome([option.outcome for option in options])
    return {"proof": proof, "outcome": outcome.value}
