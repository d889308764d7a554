"""What changed from one run to another, as data; ``temper diff --json`` prints it.

Documented in docs/json.md, like all reports.
"""

from typing import Literal

from pydantic import Field

from temper.analysis.part import Part
from temper.record.outcome import Outcome


class Change(Part):
    """Something about a run, or one of its variants, that differs; in words."""

    what: str
    """Such as ``exact``, ``refused``, ``proven``, ``kernel_key``, ``calls``."""
    variant: str
    """Empty: the run as a whole."""
    before: str
    after: str


class ValueChange(Part):
    """A result class with another value, or another price; per operation."""

    workload: str
    variant: str
    result_class: str = Field(serialization_alias="class", validation_alias="class")
    without_ticks: bool
    before: float
    after: float
    price_before: float | None
    """How much more than the baseline; None for the baseline itself."""
    price_after: float | None


class ClassChange(Part):
    """Another number of instructions of a class, per operation."""

    workload: str
    variant: str
    instruction_class: str = Field(
        serialization_alias="class", validation_alias="class"
    )
    before: float
    after: float


class OutcomeChange(Part):
    """A proof that ended otherwise."""

    variant: str
    proof: str
    before: Outcome
    after: Outcome


class Unmatched(Part):
    """What only one of the runs has, so that nothing of it could be compared."""

    what: Literal["variant", "workload", "proof"]
    name: str
    run: int


class DiffReport(Part):
    """What ``temper diff`` prints."""

    schema_version: Literal[1] = 1
    kind: Literal["diff"] = "diff"
    of: Literal["price", "compare", "prove"]
    """The kind of both runs."""
    feature: str
    title: str
    arch: str
    machine: str
    before: int
    """The number of the run that is compared with."""
    after: int
    unit: str
    """Of the values; empty for proofs."""
    compared: int
    """How many values, or outcomes, both runs have."""
    exact: bool
    """Whether all values of both runs are exact; true for proofs."""
    verdicts: list[Change]
    """What can be said of one run and not of the other: exactness, refusals, …"""
    values: list[ValueChange]
    classes: list[ClassChange]
    outcomes: list[OutcomeChange]
    conditions: list[Change]
    """What the runs were made with: kernels, command lines, …"""
    unmatched: list[Unmatched]

    @property
    def differs(self) -> bool:
        """Whether the results differ, whatever the runs were made with."""
        return bool(self.verdicts or self.values or self.classes or self.outcomes)
