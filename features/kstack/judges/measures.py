"""Measures that several judges take, and how they are put into words."""

import numpy as np
from numpy.typing import NDArray
from scipy import special

from temper.record.outcome import Outcome
from temper.stats.judging import Ints, Verdict, concluded

_LARGE = 1.5
"""Times chance: an attack that would not have noticed so much shows little."""


def luck(hits: int, tries: int, chance: float) -> float:
    """Return the chance of so many hits or more by luck: exact binomial."""
    # Of scipy, special alone: stats takes seconds to load.
    return float(special.bdtrc(hits - 1, tries, chance)) if hits > 0 else 1.0


def noticeable(tries: int, chance: float, level: float) -> float:
    """Return the smallest hit rate, as a multiple of ``chance``, of p < ``level``."""
    # bdtrik(p, n, q): so many hits or fewer have probability p.
    most_by_luck = special.bdtrik(1 - level, tries, chance)
    return float((np.floor(most_by_luck) + 2) / (tries * chance))


def repeated(words: Ints) -> int:
    """Return how many words came before."""
    return len(words) - len(np.unique(words))


def noticed_text(times: float) -> str:
    """Say the smallest rate that would have been noticed, in multiples of chance."""
    return f"{times:.2f} times chance would have been noticed"


def concluded_by(
    landed: list[str], small: list[str], sound: str, figures: dict[str, float]
) -> Verdict:
    """Return BLOCKED, for the reason ``sound``, if nothing landed that was looked for.

    ``figures["noticeable"]`` is the smallest rate that would have landed, in multiples
    of chance. UNSUPPORTED if that is 1.5 or more: more samples are needed.
    """
    verdict = concluded(landed, small, sound, figures)
    least = figures["noticeable"]
    if verdict.outcome is Outcome.BLOCKED and least >= _LARGE:
        said = f"only {noticed_text(least)}: to notice {_LARGE} takes more samples"
        return Verdict(Outcome.UNSUPPORTED, [said], figures)
    return verdict


def uniform_p(counts: Ints, shares: NDArray[np.float64]) -> float:
    """Return the p-value of Pearson's chi-square test of fit."""
    if len(counts) < 2:
        return 0.0
    return float(special.chdtrc(len(counts) - 1, _chi_square(counts, shares)))


def unevenness(counts: Ints, shares: NDArray[np.float64]) -> float:
    """Return by how much a position's frequency is off, as a share of it.

    Root mean square over the positions, without what chance adds (chi-square less
    its degrees of freedom). 0 if all are as frequent as claimed; 0.25 if half of
    them come 25 % too often and half too rarely; 0.126 if one of 64 never comes.
    """
    excess = _chi_square(counts, shares) - (len(counts) - 1)
    return float(np.sqrt(max(0.0, excess / counts.sum())))


def uneven_margin(margin: float) -> float:
    """Return the unevenness that serves an attacker.

    Half of what a predictor must be better by: it serves without looking at any
    call, and one position of 64 that never comes is no sound kernel.
    """
    return (margin - 1) / 2


def noticeable_rate(tries: int, bins: int, level: float) -> float:
    """Return how often a position must come, in multiples of chance, for p < ``level``.

    Twice the smallest unevenness of ``tries`` in ``bins``: half of the positions come
    so often, and the others as much too rarely (see ``uneven_margin``).
    """
    excess = special.chdtri(bins - 1, level) - (bins - 1)
    return 1 + 2 * float(np.sqrt(excess / tries))


def _chi_square(counts: Ints, shares: NDArray[np.float64]) -> float:
    expected = shares * counts.sum()
    return float(np.sum((counts - expected) ** 2 / expected))


def p_text(value: float) -> str:
    """Say a p-value."""
    return f"p = {value:.1g}" if value > 1e-99 else "p < 1e-99"


def percent(share: float) -> str:
    """Say a share."""
    return f"{100 * share:.2f} %"
