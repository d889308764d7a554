"""What a judge is: what it is given, what it returns, and how it concludes.

A judge finds out what the samples that an attack brought back prove. It is a function
of the package ``judges`` in a feature's folder, listed in its ``__all__`` and named by
a proof of feature.toml. It is pure, and called with the attack's samples and the
kernel's own definitions, by name, and the proof's params as keywords::

    def writes(samples: Arrays, definitions: Arrays, *, kind: float) -> Verdict:
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from temper.record.outcome import Outcome

Ints = NDArray[np.int64]
Arrays = Mapping[str, Ints]
"""Name of a record -> its values, in the order they came."""


Series = dict[str, list[list[int]]]
"""Name of a table -> its rows."""


@dataclass(frozen=True)
class Verdict:
    """What a judge found."""

    outcome: Outcome
    reasons: list[str]
    """Sentences: why."""
    figures: dict[str, float]
    """The measures behind the reasons; the judge's README.md explains each."""
    series: Series = field(default_factory=dict)
    """What the feature's plots are drawn from, if it has any."""
    tries: int | None = None
    """How often the attack was made: BLOCKED by fewer than on the control is nothing.

    None: the number says nothing, because the attack is no series of tries, or because
    chance decides how many there are.
    """


Judge = Callable[..., Verdict]
"""Called as ``judge(samples, definitions, **params)``."""


def unsupported(reason: str) -> Verdict:
    """Return the verdict on what cannot be judged."""
    return Verdict(Outcome.UNSUPPORTED, [reason], {})


@dataclass(frozen=True)
class Finding:
    """One test: how sure it is that something is wrong, and how wrong.

    An attack landed only where both hold. With enough calls the smallest bias is
    significant, and no attacker can live on it; with few calls a large one is luck.
    """

    sentence: str
    """What is wrong, if it is."""
    p: float
    """Chance of what was seen, or worse, on a sound kernel."""
    effect: float
    """How large it is, in the unit of ``margin``."""
    margin: float
    """From which effect on it serves an attacker."""
    tries: int = 1
    """Of so many tests it is the best; each had its chance to be it by luck."""

    def is_sure(self, level: float) -> bool:
        """Return whether luck is out of the question."""
        return self.p < level

    def landed(self, level: float) -> bool:
        """Return whether it is sure and large enough to serve an attacker."""
        return self.is_sure(level) and self.effect >= self.margin


def sentences(findings: list[Finding], level: float) -> tuple[list[str], list[str]]:
    """Return what landed, and what is sure but too small to use.

    ``level`` is the chance of a false alarm over all tests together: each has its
    share of it (Bonferroni).
    """
    each = level / sum(found.tries for found in findings)
    landed = [found.sentence for found in findings if found.landed(each)]
    small = [
        f"a bias too small to use: {found.sentence}"
        for found in findings
        if found.is_sure(each) and not found.landed(each)
    ]
    return landed, small


def concluded(
    landed: list[str],
    small: list[str],
    sound: str,
    figures: dict[str, float],
) -> Verdict:
    """Return BLOCKED, for the reason ``sound``, if nothing landed."""
    if landed:
        return Verdict(Outcome.VULNERABLE, [*landed, *small], figures)
    return Verdict(Outcome.BLOCKED, [sound, *small], figures)
