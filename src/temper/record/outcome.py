"""How a proof can end."""

from collections.abc import Iterable
from enum import StrEnum


class Outcome(StrEnum):
    """The ways an attack can end."""

    VULNERABLE = "VULNERABLE"
    DETECTED = "DETECTED"
    """It landed, and the kernel reported it."""
    BLOCKED = "BLOCKED"
    UNSUPPORTED = "UNSUPPORTED"


WORST_FIRST = (
    Outcome.VULNERABLE,
    Outcome.DETECTED,
    Outcome.UNSUPPORTED,
    Outcome.BLOCKED,
)


def worst_outcome(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the outcome of several proofs together; there must be one at least."""
    return min(outcomes, key=WORST_FIRST.index)
