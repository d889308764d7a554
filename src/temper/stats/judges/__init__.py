"""Judges: from what an attack brought back to what it proves. Pure functions.

A judge is named in a proof of feature.toml and called with the attack's samples and
the kernel's own definitions, by name, and the proof's params as keywords.
"""

from collections.abc import Callable

from temper.errors import InputError
from temper.stats.judges.clock import clock
from temper.stats.judges.early import early
from temper.stats.judges.leak import leak
from temper.stats.judges.linear import linear
from temper.stats.judges.prediction import prediction
from temper.stats.judges.storm import storm
from temper.stats.judges.verdict import Arrays, Verdict
from temper.stats.judges.writes import writes

__all__ = ["Arrays", "Judge", "Verdict", "judge_named"]

Judge = Callable[..., Verdict]

_JUDGES: dict[str, Judge] = {
    "prediction": prediction,
    "linear": linear,
    "clock": clock,
    "storm": storm,
    "early": early,
    "leak": leak,
    "writes": writes,
}


def judge_named(name: str) -> Judge:
    """Return the judge that a feature.toml names; raise InputError if unknown."""
    try:
        return _JUDGES[name]
    except KeyError:
        known = ", ".join(_JUDGES)
        raise InputError(f"unknown judge '{name}'", f"known: {known}") from None
