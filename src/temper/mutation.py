"""Reads what mutants of a feature need not be noticed: ``features/*/mutants.toml``."""

from collections.abc import Collection
from itertools import chain
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from temper.catalog import Feature, feature_named, feature_names
from temper.errors import InputError
from temper.record.boot import StoredRun
from temper.record.plan import Plain
from temper.toml import read_toml

GUIDE = "docs/mutants.md lists every field"


class Accepted(Plain):
    """A mutant that no proof has to notice, and why."""

    mutant: str
    """Its id."""
    why: Literal["equivalent", "performance", "message", "robustness"]
    """It is as secure; only slower or faster; only says something else; or only fails
    where the code it is in does not run, such as after another failure."""
    reason: str = Field(min_length=20)
    """A sentence, for this mutant."""


class Condition(Plain):
    """Something without which some of the series' code never runs."""

    words: str = ""
    """For the kernel."""
    on: bool = True
    """Whether the feature is on. If it is off, nobody attacks, since all would land,
    but the kernel must work."""
    proofs: tuple[str, ...] = ()
    """Those that attack, if others would land on the series itself; empty: all do."""

    @model_validator(mode="after")
    def _is_on_to_be_attacked(self) -> Self:
        if self.proofs and not self.on:
            raise ValueError("nobody attacks where the feature is off")
        return self


class Mutation(Plain):
    """What there is to know of a feature's mutants."""

    kunit: str = ""
    """The KUnit suites of the series, which run as mutants boot: a name, or a pattern
    as the kernel takes one; empty: there are none."""
    first: tuple[str, ...] = ()
    """Proofs that attack mutants before the others do, in order.

    Those that notice most: a boot ends with what notices it first."""
    conditions: dict[str, Condition] = Field(default_factory=dict)
    """Name -> under which mutants that nothing notices boot, too."""
    accepted: tuple[Accepted, ...] = ()

    @field_validator("conditions")
    @classmethod
    def _are_no_second_boots(
        cls, conditions: dict[str, Condition]
    ) -> dict[str, Condition]:
        if taken := [name for name in conditions if name.endswith("again")]:
            raise ValueError(f"'{taken[0]}' is what second boots are called")
        return conditions

    @property
    def reasons(self) -> dict[str, str]:
        """Return id -> why it is accepted."""
        return {each.mutant: f"{each.why}: {each.reason}" for each in self.accepted}


def mutation_of(feature: Feature, mutants: Collection[str]) -> Mutation:
    """Return what a feature says of its mutants; it may say nothing.

    ``mutants``: the ids of all that its series has. Raises InputError for a reason
    whose mutant is not among them any more, or that is there twice, and for an unknown
    proof.
    """
    path, mutation = _read(feature)
    chosen = (condition.proofs for condition in mutation.conditions.values())
    for name in chain(mutation.first, *chosen):
        if name not in feature.proofs:
            raise InputError(f"{path}: {feature.name} has no proof '{name}'")
    names = [each.mutant for each in mutation.accepted]
    for name in names:
        if name not in mutants:
            raise InputError(
                f"{path}: the reason for mutant {name} is stale: the series has no "
                "such mutant any more",
                "remove it; if the line only moved to other company, its mutant has a "
                "new id",
            )
        if names.count(name) > 1:
            raise InputError(f"{path}: mutant {name} is there twice")
    return mutation


def with_reasons(run: StoredRun) -> StoredRun:
    """Return a run of mutants with the reasons that its feature has for them now.

    Those of the plan may be older: survivors are what reasons are written for. A
    feature that is not here any more has no others. Raises InputError for a
    feature.toml or mutants.toml that cannot be read.
    """
    plan = run.plan
    if plan.feature not in feature_names():
        return run
    _, mutation = _read(feature_named(plan.feature))
    reasons = mutation.reasons
    mutants = {
        name: mutant.model_copy(update={"accepted": reasons.get(name, "")})
        for name, mutant in plan.mutants.items()
    }
    judged = plan.model_copy(update={"mutants": mutants})
    return run.model_copy(update={"plan": judged})


def _read(feature: Feature) -> tuple[Path, Mutation]:
    """Return a feature's mutants.toml, and what it says; it may be missing."""
    path = feature.folder / "mutants.toml"
    return path, read_toml(path, Mutation, GUIDE) if path.exists() else Mutation()
