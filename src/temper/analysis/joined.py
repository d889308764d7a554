"""What an audit proved of the lines of kernel-hardening-checker."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter

from temper.analysis.audit import AuditedOption, AuditReport
from temper.record.outcome import Outcome


class CheckerLine(BaseModel):
    """A line of ``kernel-hardening-checker -m json``; other fields stay as they are."""

    model_config = ConfigDict(extra="allow", frozen=True)

    option_name: str


CHECKER_LINES = TypeAdapter(list[CheckerLine])
"""All that it prints."""


def joined(
    lines: Sequence[CheckerLine], report: AuditReport
) -> list[Mapping[str, Any]]:
    """Return the lines, each with ``proof`` and, if it was tried, ``outcome``.

    ``proof`` is ``proven`` if the option stops each attack, and each lands without it;
    ``not proven`` if not, or if nothing weakens the option in this kernel; ``not
    tried`` if Temper has no attack on it.
    """
    by_name = {name: option for option in report.options for name in option.names}
    return [
        {**line.model_dump(), **_proof(by_name.get(line.option_name))} for line in lines
    ]


def _proof(option: AuditedOption | None) -> dict[str, str]:
    if option is None or option.outcome is Outcome.UNSUPPORTED:
        return {"proof": "not tried"}
    proof = "proven" if option.proven else "not proven"
    return {"proof": proof, "outcome": option.outcome.value}
