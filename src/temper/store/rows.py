"""Converts between the models and the rows of the tables."""

import json
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel
from sqlalchemy import RowMapping

from temper.errors import StoreError
from temper.invocation import as_typed
from temper.record.boot import BootFacts
from temper.record.plan import FORMAT, USUAL_BASE, RunPlan, Shard, Slot
from temper.store.rawfile import RunHead


class PlanHead(BaseModel):
    """The part of a plan that is readable whichever version of Temper stored it."""

    title: str = ""
    machine: str
    arch: str
    setting: str = ""
    cpu: str = ""
    base: str = USUAL_BASE
    slots: list[Slot]
    shard: Shard | None = None
    command: str
    format: int = 1
    """Plans of the first format do not have this field."""


def timestamp(time: datetime) -> str:
    """Return a time as text that sorts chronologically."""
    return time.astimezone(UTC).isoformat(timespec="microseconds")


def _text(model: BaseModel) -> str:
    # ASCII, because PostgreSQL accepts no NUL and a kernel may have printed one.
    return json.dumps(model.model_dump(mode="json"))


def run_row(
    uuid: str, plan: RunPlan, started: datetime, finished: datetime | None = None
) -> dict[str, Any]:
    """Return the row of a run in ``schema.runs``, without its id."""
    return {
        "uuid": uuid,
        "kind": plan.kind.value,
        "feature": plan.feature,
        "plan": _text(plan),
        "started": timestamp(started),
        "finished": timestamp(finished) if finished else None,
    }


def boot_row(run: int, facts: BootFacts, sha256: str) -> dict[str, Any]:
    """Return the row of a boot in ``schema.boots``."""
    return {
        "run": run,
        "variant": facts.variant,
        "repeat": facts.repeat,
        "facts": _text(facts),
        "sha256": sha256,
    }


def stored_plan(row: RowMapping) -> RunPlan:
    """Read a run's plan back.

    Raises StoreError for a plan from another version of Temper, JSONDecodeError or
    ValidationError for a damaged one.
    """
    head = plan_head(row)
    if head.format != FORMAT:
        raise StoreError(
            f"run {row['id']} was stored by another version of Temper, in a format "
            "that this version cannot judge",
            f"measure again: {as_typed(head.command)}",
        )
    return RunPlan.model_validate(json.loads(row["plan"]))


def plan_head(row: RowMapping) -> PlanHead:
    """Read the part of a plan that all versions have.

    Raises JSONDecodeError or ValidationError if it is damaged.
    """
    return PlanHead.model_validate(json.loads(row["plan"]))


def run_head(row: RowMapping, store: str) -> RunHead:
    """Read a run's row back; raise as ``stored_plan`` does."""
    return RunHead.model_validate({**row, "store": store, "plan": stored_plan(row)})
