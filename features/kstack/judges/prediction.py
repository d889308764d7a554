"""Judge of the proof that the next position cannot be told from those before."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from scipy import special

from temper.stats.judging import (
    Arrays,
    Finding,
    Ints,
    Verdict,
    sentences,
    unsupported,
)

from .claim import Claim
from .measures import (
    concluded_by,
    luck,
    noticeable,
    noticed_text,
    p_text,
    percent,
    uneven_margin,
    unevenness,
    uniform_p,
)
from .predictors import Hits, predictor_hits, same_as_last
from .series import series_of


def prediction(
    samples: Arrays,
    definitions: Arrays,
    *,
    least_bits: float,
    level: float,
    margin: float,
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

    A deviation is VULNERABLE only if it is both significant and of use: a predictor
    ``margin`` times as often right as chance; frequencies that are off by half of
    ``margin`` - 1 (see ``unevenness``); a correlation that brings the best guess
    after the most telling position to ``margin`` (see ``_correlation_margin``).
    Below that it is said, as "a bias too small to use". Why not by significance
    alone: the entropy of stock Linux is a clock, and on a quiet host real but tiny
    correlations are left (0.2 % of calls over 100,000 of them). Why not by the size
    alone: of a few thousand calls luck makes 1.25 x chance.

    With level 1e-6 a sound kernel raises less than one false alarm in a million
    boots, whatever the number of calls; with 50,000 guesses a predictor at 1.25 x
    chance of 1 in 64 is 7 standard deviations off.
    """
    positions = samples["stack_position"]
    claim = Claim.of(definitions["displacement"])
    if len(positions) < claim.least_calls:
        return unsupported(
            f"{len(positions)} calls are too few to judge: {claim.least_calls} needed"
        )
    numbers, foreign = claim.numbers(positions)
    half = len(numbers) // 2
    hits = predictor_hits(numbers[:half], numbers[half:], claim.bins)
    best = max(hits, key=lambda name: hits[name].mean())
    figures = _figures(numbers, claim, hits[best])
    findings = _findings(figures, best, len(hits), margin)
    landed, small = sentences(findings, level)
    # Of all predictors, whether or not the best one is told apart in a finding.
    least = noticeable(half, claim.chance, level / (len(hits) + len(findings)))
    figures["noticeable"] = max(margin, least)
    landed += _broken_promises(figures, foreign, least_bits)
    verdict = concluded_by(landed, small, _sound(figures), figures)
    return replace(verdict, series=series_of(positions - positions.min()))


def _figures(numbers: Ints, claim: Claim, best: Hits) -> dict[str, float]:
    last = same_as_last(numbers)
    counts = np.bincount(numbers, minlength=claim.bins)
    return {
        "calls": float(len(numbers)),
        "claimed_bits": claim.min_entropy,
        "claimed_positions": float(claim.bins),
        "distinct_positions": float(np.count_nonzero(counts)),
        "min_entropy_bits": _min_entropy(counts),
        "uniform_p": uniform_p(counts, claim.shares),
        "unevenness": unevenness(counts, claim.shares),
        "serial_correlation": _serial_correlation(numbers),
        "serial_correlation_p": _correlation_p(numbers),
        "chance_rate": claim.chance,
        "same_as_last_rate": float(last.mean()),
        "same_as_last_p": luck(int(last.sum()), last.size, claim.chance),
        "best_predictor_rate": float(best.mean()),
        "best_predictor_p": luck(int(best.sum()), best.size, claim.chance),
    }


def _findings(
    f: Mapping[str, float], best: str, predictors: int, margin: float
) -> list[Finding]:
    """Return the tests, in the order of how bad their outcome would be."""
    chance = f"(chance: {percent(f['chance_rate'])})"
    repeated = Finding(
        f"the next position is the last one in {percent(f['same_as_last_rate'])} "
        f"of calls {chance}",
        f["same_as_last_p"],
        f["same_as_last_rate"] / f["chance_rate"],
        margin,
    )
    predicted = Finding(
        f"the predictor '{best}' is right in {percent(f['best_predictor_rate'])} "
        f"of calls {chance}",
        f["best_predictor_p"],
        f["best_predictor_rate"] / f["chance_rate"],
        margin,
        predictors,
    )
    uneven = Finding(
        f"positions are not as frequent as claimed: {f['distinct_positions']:.0f} of "
        f"{f['claimed_positions']:.0f} seen, off by {percent(f['unevenness'])}, "
        f"chi-square {p_text(f['uniform_p'])}",
        f["uniform_p"],
        f["unevenness"],
        uneven_margin(margin),
    )
    related = Finding(
        f"a position depends on the one before: correlation "
        f"{f['serial_correlation']:+.3f}, {p_text(f['serial_correlation_p'])}",
        f["serial_correlation_p"],
        abs(f["serial_correlation"]),
        _correlation_margin(margin),
    )
    if best == "lag 1":
        # It would say the same in other words.
        return [repeated, uneven, related]
    return [repeated, predicted, uneven, related]


def _correlation_margin(margin: float) -> float:
    """Return the correlation that serves an attacker.

    Of two uniform values with a linear dependence of correlation r, the second is
    1 + 3r times as likely as by chance where the first is at the end of its range.
    """
    return (margin - 1) / 3


def _broken_promises(
    f: Mapping[str, float], foreign: int, least_bits: float
) -> list[str]:
    broken = []
    if f["claimed_bits"] < least_bits:
        broken.append(
            f"the kernel claims {f['claimed_bits']:.1f} bits, less than {least_bits:g}"
        )
    if foreign:
        broken.append(
            f"{foreign} positions are none that the kernel's definition allows"
        )
    return broken


def _sound(f: Mapping[str, float]) -> str:
    return (
        f"{f['distinct_positions']:.0f} positions ({f['claimed_bits']:.0f} bits), each "
        f"about as frequent as claimed; best guess right in "
        f"{percent(f['best_predictor_rate'])} of calls, chance is "
        f"{percent(f['chance_rate'])}; {noticed_text(f['noticeable'])}"
    )


def _min_entropy(counts: Ints) -> float:
    """Estimate bits by the most common value: NIST SP 800-90B, section 6.3.1."""
    total = int(counts.sum())
    share = counts.max() / total
    upper = share + 2.576 * np.sqrt(share * (1 - share) / (total - 1))
    return float(abs(np.log2(min(1.0, upper))))


def _serial_correlation(numbers: Ints) -> float:
    """Return the correlation of each value with the next; 1 for a constant.

    A constant after one other value counts as one: its variance is 0 as well.
    """
    now, then = numbers[:-1], numbers[1:]
    if np.ptp(now) == 0 or np.ptp(then) == 0:
        return 1.0
    return float(np.corrcoef(now, then)[0, 1])


def _correlation_p(numbers: Ints) -> float:
    """Without correlation, r times the root of n is standard normal (Bartlett)."""
    z = abs(_serial_correlation(numbers)) * np.sqrt(len(numbers))
    return float(2 * special.ndtr(-z))
