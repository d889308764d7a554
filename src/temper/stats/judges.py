"""Judges: from what an attack brought back to what it proves. Pure functions.

A judge is named in a proof of feature.toml and called with the attack's samples and
the kernel's own definitions, by name, and the proof's params as keywords.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import ceil

import numpy as np
from numpy.typing import NDArray
from scipy import special

from temper.catalog import Outcome
from temper.errors import InputError
from temper.stats.exact import successive_pairs
from temper.stats.predictors import Hits, predictor_hits, same_as_last

Arrays = Mapping[str, NDArray[np.int64]]

_LEAST_CALLS = 100
"""Enough for every predictor to have something to look back at."""


@dataclass(frozen=True)
class Verdict:
    """What a judge found."""

    outcome: Outcome
    reasons: list[str]
    """Sentences: why."""
    figures: dict[str, float]
    """The measures behind the reasons; docs/json.md explains each."""
    bins: list[tuple[int, int]] = field(default_factory=list)
    """[value, times], for the plot."""
    pairs: list[tuple[int, int, int]] = field(default_factory=list)
    """[value, the next value, times], for the plot."""


@dataclass(frozen=True)
class _Claim:
    """How offsets are distributed by the kernel's own definition."""

    displacements: NDArray[np.int64]
    """The displacements there are, ascending; shape (bins,)."""
    shares: NDArray[np.float64]
    """How often each one comes, if every drawn value is as likely."""

    @property
    def min_entropy(self) -> float:
        """Bits, by the likeliest displacement."""
        return float(-np.log2(self.shares.max()))

    @property
    def chance(self) -> float:
        """Hit rate of who always says the likeliest; none can do better."""
        return float(self.shares.max())

    @property
    def least_calls(self) -> int:
        """Calls that chi-square needs: 5 expected in the rarest bin (Cochran)."""
        return max(_LEAST_CALLS, ceil(5 / float(self.shares.min())))


def prediction(
    samples: Arrays, definitions: Arrays, *, least_bits: float, level: float
) -> Verdict:
    """Judge whether stack positions can be told from those before.

    ``samples["stack_position"]`` are the positions of successive calls, in bytes;
    ``definitions["displacement"]`` is where the kernel's own macros move the stack
    for every value that can be drawn. ``least_bits`` of min-entropy must be
    claimed; ``level`` is the chance of a false alarm over all tests together
    (Bonferroni).

    BLOCKED if there are as many positions as the kernel claims, all as frequent as
    it claims (chi-square), unrelated to the one before (serial correlation), and no
    predictor does better than chance (exact binomial test). UNSUPPORTED if there are
    too few positions for these tests to mean anything.
    """
    positions = samples["stack_position"]
    claim = _claim(definitions["displacement"])
    if len(positions) < claim.least_calls:
        few = f"{len(positions)} calls are too few to judge: {claim.least_calls} needed"
        return Verdict(Outcome.UNSUPPORTED, [few], {})
    offsets = positions - positions.min()
    numbers = np.searchsorted(claim.displacements, offsets)
    numbers = np.minimum(numbers, len(claim.displacements) - 1)
    foreign = int(np.count_nonzero(claim.displacements[numbers] != offsets))
    half = len(numbers) // 2
    hits = predictor_hits(numbers[:half], numbers[half:], len(claim.displacements))
    best = max(hits, key=lambda name: hits[name].mean())
    last = same_as_last(numbers)
    counts = np.bincount(numbers, minlength=len(claim.displacements))
    each = level / (3 + len(hits))
    figures = {
        "calls": float(len(numbers)),
        "claimed_bits": claim.min_entropy,
        "claimed_positions": float(len(claim.displacements)),
        "distinct_positions": float(len(np.unique(positions))),
        "min_entropy_bits": _min_entropy(counts),
        "uniform_p": _uniform_p(counts, claim.shares),
        "serial_correlation": _serial_correlation(numbers),
        "serial_correlation_p": _correlation_p(numbers),
        "chance_rate": claim.chance,
        "same_as_last_rate": float(last.mean()),
        "same_as_last_p": _luck(last, claim.chance),
        "best_predictor_rate": float(hits[best].mean()),
        "best_predictor_p": _luck(hits[best], claim.chance),
    }
    reasons = _faults(figures, foreign, best, least_bits, each)
    return Verdict(
        outcome=Outcome.VULNERABLE if reasons else Outcome.BLOCKED,
        reasons=reasons or [_sound(figures, level)],
        figures=figures,
        bins=_bins(offsets),
        pairs=successive_pairs(offsets.tolist()),
    )


def _claim(displacements: NDArray[np.int64]) -> _Claim:
    values, times = np.unique(displacements - displacements.min(), return_counts=True)
    return _Claim(values, times / times.sum())


def _faults(
    figures: Mapping[str, float],
    foreign: int,
    best: str,
    least_bits: float,
    each: float,
) -> list[str]:
    """Say what is wrong, worst first; nothing: an empty list."""
    f = figures
    found = [
        (
            f["same_as_last_p"] < each,
            f"the next position is the last one in {_percent(f['same_as_last_rate'])} "
            f"of calls (chance: {_percent(f['chance_rate'])})",
        ),
        (
            # Lag 1 again would say the same in other words.
            f["best_predictor_p"] < each <= f["same_as_last_p"],
            f"the predictor '{best}' is right in "
            f"{_percent(f['best_predictor_rate'])} of calls "
            f"(chance: {_percent(f['chance_rate'])})",
        ),
        (
            f["uniform_p"] < each,
            f"positions are not as frequent as claimed: "
            f"{f['distinct_positions']:.0f} of {f['claimed_positions']:.0f} seen, "
            f"chi-square {_p(f['uniform_p'])}",
        ),
        (
            f["serial_correlation_p"] < each,
            f"a position depends on the one before: correlation "
            f"{f['serial_correlation']:+.3f}, {_p(f['serial_correlation_p'])}",
        ),
        (
            f["claimed_bits"] < least_bits,
            f"the kernel claims {f['claimed_bits']:.1f} bits, less than {least_bits:g}",
        ),
        (
            foreign > 0,
            f"{foreign} positions are none that the kernel's definition allows",
        ),
    ]
    return [sentence for wrong, sentence in found if wrong]


def _sound(figures: Mapping[str, float], level: float) -> str:
    f = figures
    return (
        f"{f['distinct_positions']:.0f} positions ({f['claimed_bits']:.0f} bits), all "
        f"as frequent as claimed; best guess right in "
        f"{_percent(f['best_predictor_rate'])} of calls, chance is "
        f"{_percent(f['chance_rate'])} (level {level:g})"
    )


def _p(value: float) -> str:
    return f"p = {value:.1g}" if value > 1e-99 else "p < 1e-99"


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def _min_entropy(counts: NDArray[np.int64]) -> float:
    """Estimate bits by the most common value: NIST SP 800-90B, section 6.3.1."""
    total = int(counts.sum())
    share = counts.max() / total
    upper = share + 2.576 * np.sqrt(share * (1 - share) / (total - 1))
    return float(abs(np.log2(min(1.0, upper))))


def _uniform_p(counts: NDArray[np.int64], shares: NDArray[np.float64]) -> float:
    """Return the p-value of Pearson's chi-square test of fit."""
    if len(counts) < 2:
        return 0.0
    expected = shares * counts.sum()
    statistic = np.sum((counts - expected) ** 2 / expected)
    return float(special.chdtrc(len(counts) - 1, statistic))


def _serial_correlation(numbers: NDArray[np.int64]) -> float:
    """Return the correlation of each value with the next; 1 for a constant.

    A constant after one other value counts as one: its variance is 0 as well.
    """
    now, then = numbers[:-1], numbers[1:]
    if np.ptp(now) == 0 or np.ptp(then) == 0:
        return 1.0
    return float(np.corrcoef(now, then)[0, 1])


def _correlation_p(numbers: NDArray[np.int64]) -> float:
    """Without correlation, r times the root of n is standard normal (Bartlett)."""
    z = abs(_serial_correlation(numbers)) * np.sqrt(len(numbers))
    return float(2 * special.ndtr(-z))


def _luck(hits: Hits, chance: float) -> float:
    """Return the chance of so many hits or more by luck: exact binomial."""
    # Of scipy, special alone: stats takes seconds to load.
    return float(special.bdtrc(hits.sum() - 1, hits.size, chance))


def _bins(offsets: NDArray[np.int64]) -> list[tuple[int, int]]:
    values, times = np.unique(offsets, return_counts=True)
    return list(zip(values.tolist(), times.tolist(), strict=True))


Judge = Callable[..., Verdict]

_JUDGES: dict[str, Judge] = {"prediction": prediction}


def judge_named(name: str) -> Judge:
    """Return the judge that a feature.toml names; raise InputError if unknown."""
    try:
        return _JUDGES[name]
    except KeyError:
        known = ", ".join(_JUDGES)
        raise InputError(f"unknown judge '{name}'", f"known: {known}") from None
