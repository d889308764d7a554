"""How a proof can end."""

from enum import StrEnum


class Outcome(StrEnum):
    """The three ways a proof can end."""

    VULNERABLE = "VULNERABLE"
    BLOCKED = "BLOCKED"
    UNSUPPORTED = "UNSUPPORTED"
