"""How a proof can end."""

from collections.abc import Iterable
from enum import StrEnum


class Outcome(StrEnum):
    """The three ways a proof can end."""

    VULNERABLE = "VULNERABLE"
    BLOCKED = "BLOCKED"
    UNSUPPORTED = "UNSUPPORTED"


def worst_outcome(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the outcome of several proofs together; there must be one at least."""
    found = set(outcomes)
    order = (Outcome.VULNERABLE, Outcome.UNSUPPORTED, Outcome.BLOCKED)
    return next(outcome for outcome in order if outcome in found)
