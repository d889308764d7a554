"""The judge against sequences whose fault is known, and its arithmetic."""

from fractions import Fraction
from itertools import pairwise
from math import comb, log2

import numpy as np
import pytest
from generators import explained
from numpy.typing import NDArray
from scipy import special, stats

from temper.extension import judge_named
from temper.paths import FEATURES
from temper.record.outcome import Outcome
from temper.stats.judging import Verdict

Numbers = NDArray[np.int64]

PARAMS = ("least_bits", "level", "margin")
prediction = judge_named(FEATURES / "kstack", "prediction", PARAMS)

CALLS = 100_000
BINS = 64
STEP = 16
"""Bytes from one position of the stack to the next."""
LEVEL = 1e-6
MARGIN = 1.25

# As on x86-64: ten bits are drawn, the four lowest have no effect.
DEFINITION = np.arange(1024) & ~15


def judge(
    bins: Numbers,
    definition: Numbers = DEFINITION,
    level: float = LEVEL,
    margin: float = MARGIN,
) -> Verdict:
    """Judge bin numbers as positions somewhere on a stack."""
    return judge_positions(bins * STEP, definition, level, margin)


def judge_positions(
    offsets: Numbers,
    definition: Numbers = DEFINITION,
    level: float = LEVEL,
    margin: float = MARGIN,
) -> Verdict:
    return prediction(
        {"stack_position": 408 + offsets},
        {"displacement": definition},
        least_bits=5,
        level=level,
        margin=margin,
    )


def random(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def uniform(seed: int = 1, calls: int = CALLS, bins: int = BINS) -> Numbers:
    return random(seed).integers(0, bins, calls)


def sometimes(share: float, seed: int = 2) -> NDArray[np.bool_]:
    return random(seed).random(CALLS) < share


def weighted(weights: list[float]) -> Numbers:
    shares = np.array(weights) / sum(weights)
    return random().choice(len(weights), CALLS, p=shares)


def with_memory(share: float, lag: int, factor: int, add: int = 0) -> Numbers:
    """Make uniform values, of which a share follows from the one ``lag`` before."""
    values = uniform()
    for i in np.flatnonzero(sometimes(share)):
        if i >= lag:
            values[i] = (values[i - lag] * factor + add) % BINS
    return values


def generator_of_small_period() -> Numbers:
    """Return the six high bits of a congruential generator of 8: all 64, evenly."""
    values = [1]
    for _ in range(CALLS - 1):
        values.append((values[-1] * 5 + 3) % 256)
    return np.array(values) // 4


def constant_after_the_first() -> Numbers:
    values = np.full(CALLS, 7)
    values[0] = 40
    return values


FAULTY = {
    "constant": np.zeros(CALLS, dtype=int),
    "constant after the first call": constant_after_the_first(),
    "constant until the last call": constant_after_the_first()[::-1],
    "8 of 64": uniform(bins=8) * 8,
    "alternating": np.arange(CALLS) % 2 * 17,
    "lower half more often": weighted([1.25] * 32 + [0.75] * 32),
    # The upstream self-test counts distinct values and says "5 bits" of these.
    "16 skewed": weighted([0.5**i + 0.01 for i in range(16)]) * 4,
    "counter": np.arange(CALLS) % BINS,
    "counter backwards by 5": np.arange(CALLS) * 59 % BINS,
    "one of 64 missing": uniform(bins=63),
    "Markov chain": with_memory(0.1, lag=1, factor=17, add=5),
    "congruential generator": generator_of_small_period(),
    "one in ten as seven calls ago": with_memory(0.1, lag=7, factor=1),
    "16 positions in turn": np.arange(CALLS) % 16,
    "period of 128": np.resize(uniform(calls=128), CALLS),
}


@pytest.mark.parametrize("name", FAULTY)
def test_faulty_sequences_are_vulnerable(name: str) -> None:
    verdict = judge(FAULTY[name])
    assert verdict.outcome is Outcome.VULNERABLE, verdict.reasons
    assert np.isfinite(list(verdict.figures.values())).all()


def test_independent_uniform_positions_are_blocked() -> None:
    verdict = judge(uniform())
    assert verdict.outcome is Outcome.BLOCKED
    assert verdict.figures["distinct_positions"] == BINS
    assert verdict.reasons == [
        "64 positions (6 bits), each about as frequent as claimed; best guess right "
        "in 1.72 % of calls, chance is 1.56 %; 1.25 times chance would have been "
        "noticed"
    ]


def repeated_now_and_then(share: float) -> Numbers:
    """Repeat the last value in a share of calls."""
    values = uniform(seed=3)
    again = np.flatnonzero(sometimes(share, seed=3)[1:]) + 1
    values[again] = values[again - 1]
    return values


def half_follows_half(share: float) -> Numbers:
    """Stay in the same half a little more often than not, which says no number."""
    values, stay = uniform(), sometimes(share)
    for i in np.flatnonzero(stay[1:]) + 1:
        values[i] = values[i] % 32 + values[i - 1] // 32 * 32
    return values


def with_a_foreign_one() -> Numbers:
    offsets = uniform() * STEP
    offsets[1234] += 8
    return offsets


HALF = DEFINITION & ~0b1000110000

ALONE = {
    "the next position is the last": (repeated_now_and_then(0.006) * STEP, DEFINITION),
    "the predictor 'lag 7'": (
        FAULTY["one in ten as seven calls ago"] * STEP,
        DEFINITION,
    ),
    "not as frequent as claimed": (weighted([1.15, 0.85] * 32) * STEP, DEFINITION),
    "depends on the one before": (half_follows_half(0.15) * STEP, DEFINITION),
    "the kernel claims 4.0 bits, less than 5": (
        uniform(bins=16) * STEP,
        np.arange(256) & ~15,
    ),
    "1 positions are none that the kernel's": (with_a_foreign_one(), DEFINITION),
}
"""What a test says that no other test notices -> offsets, definition."""


@pytest.mark.parametrize("reason", ALONE)
def test_each_test_notices_what_no_other_does(reason: str) -> None:
    verdict = judge_positions(*ALONE[reason])
    assert verdict.outcome is Outcome.VULNERABLE
    landed = [why for why in verdict.reasons if not why.startswith("a bias too small")]
    assert len(landed) == 1, landed
    assert reason in landed[0]


def test_as_many_bits_as_are_asked_for_are_enough() -> None:
    assert judge(uniform(bins=32), np.arange(512) & ~15).outcome is Outcome.BLOCKED


def test_an_uneven_definition_is_kept_to() -> None:
    # The lowest of 64 is drawn twice as often, and the kernel says so.
    definition = np.concatenate([np.arange(BINS), [0]]) * STEP
    honest = random().choice(definition, CALLS)
    assert judge_positions(honest, definition).outcome is Outcome.BLOCKED
    # Of four times as often the lack is a fault, though no attacker's gain.
    more = np.concatenate([np.arange(BINS), [0, 0, 0]]) * STEP
    assert judge(uniform(), more).outcome is Outcome.VULNERABLE


def test_where_the_definition_begins_does_not_matter() -> None:
    shifted = judge(uniform(), DEFINITION + 48)
    assert shifted.figures == judge(uniform()).figures


def test_figures_of_an_uneven_definition() -> None:
    definition = np.concatenate([np.arange(BINS), [0]]) * STEP
    figures = judge_positions(random().choice(definition, CALLS), definition).figures
    assert figures["chance_rate"] == pytest.approx(2 / 65)
    assert figures["claimed_bits"] == pytest.approx(log2(65 / 2))
    assert figures["claimed_positions"] == BINS


def test_a_call_that_is_always_at_the_end_of_the_range_is_nothing_foreign() -> None:
    offsets = np.array([0, *np.full(CALLS - 1, 63 * STEP)])
    assert "none that the kernel" not in " ".join(judge_positions(offsets).reasons)
    above = np.array([0, *np.full(CALLS - 1, 64 * STEP)])
    assert "99999 positions are none that the kernel" in " ".join(
        judge_positions(above).reasons
    )


def test_too_few_calls_are_not_judged() -> None:
    assert "too few" not in judge(uniform(calls=320)).reasons[0]
    few = judge(uniform(calls=319))
    assert few.outcome is Outcome.UNSUPPORTED
    assert few.reasons == ["319 calls are too few to judge: 320 needed"]


SMALL = {
    "the next position is the last": repeated_now_and_then(0.0025),
    "the predictor 'lag 7' is right in": with_memory(0.0037, lag=7, factor=1),
    "not as frequent as claimed": weighted([1.04, 0.96] * 32),
    "depends on the one before": half_follows_half(0.04),
}
"""A deviation that is significant, and of no use."""


@pytest.mark.parametrize("reason", SMALL)
def test_a_bias_too_small_to_use_is_said_and_is_no_attack(reason: str) -> None:
    verdict = judge(SMALL[reason])
    assert verdict.outcome is Outcome.BLOCKED
    assert len(verdict.reasons) == 2
    assert verdict.reasons[1].startswith("a bias too small to use: ")
    assert reason in verdict.reasons[1]
    # It is the margin that makes the difference.
    assert judge(SMALL[reason], margin=1).outcome is Outcome.VULNERABLE


@pytest.mark.parametrize("rate", [1.79, 1.85])
def test_what_a_quiet_host_was_seen_to_leave_is_no_attack(rate: float) -> None:
    """Stock Linux, one of 16 lags: right in 1.79 % of calls, chance is 1.56 %."""
    share = (rate / 100 - 1 / BINS) / (1 - 1 / BINS)
    verdict = judge(with_memory(share, lag=13, factor=1))
    assert verdict.figures["best_predictor_rate"] == pytest.approx(rate / 100, abs=2e-3)
    assert verdict.outcome is Outcome.BLOCKED


def stock_on_a_quiet_host(jitter: int) -> Numbers:
    """Return ror32(offset, 5) ^ counter, where each call takes nearly as long."""
    late = np.abs(random(7).normal(0, jitter, CALLS)).astype(int)
    state, numbers = 0, []
    for counter in np.cumsum(2_000 + late).tolist():
        state = (state >> 5 | state << 27 & 0xFFFFFFFF) ^ counter & 0xFFFFFFFF
        numbers.append(state >> 4 & 63)
    return np.array(numbers)


def test_stock_linux_is_as_good_as_its_clock_is_unsteady() -> None:
    """At 16 counts no predictor is of use; at 1, on no real host, one is."""
    assert judge(stock_on_a_quiet_host(16)).outcome is Outcome.BLOCKED
    assert judge(stock_on_a_quiet_host(1)).outcome is Outcome.VULNERABLE


SEEDS = 200
SOUND = 0.05
"""The level of the tests below: 0.001 could not be told from 0.002 so soon."""


@pytest.fixture(scope="module")
def sound() -> list[Verdict]:
    return [judge(uniform(seed, 4_000), level=SOUND, margin=1) for seed in range(SEEDS)]


def test_false_alarms_are_no_more_than_stated(sound: list[Verdict]) -> None:
    alarms = sum(v.outcome is Outcome.VULNERABLE for v in sound)
    # Bonferroni is careful: fewer is right, more than luck allows is not.
    assert alarms <= stats.binom.ppf(0.999, SEEDS, SOUND)
    assert alarms > 0


@pytest.mark.parametrize("figure", ["uniform_p", "serial_correlation_p"])
def test_p_values_are_uniform_without_a_fault(
    sound: list[Verdict], figure: str
) -> None:
    found = [verdict.figures[figure] for verdict in sound]
    assert stats.kstest(found, "uniform").pvalue > 0.001


def test_min_entropy_is_that_of_the_standard() -> None:
    """The example of NIST SP 800-90B, section 6.3.1, five times over."""
    example = [0, 1, 1, 2, 0, 1, 2, 2, 0, 1, 0, 1, 1, 0, 2, 2, 1, 0, 2, 1]
    verdict = judge(np.array(example * 5), np.arange(3) * STEP)
    upper = 0.4 + 2.576 * (0.4 * 0.6 / 99) ** 0.5
    assert verdict.figures["min_entropy_bits"] == pytest.approx(-log2(upper))


def test_min_entropy_of_a_constant_is_zero() -> None:
    figure = judge(FAULTY["constant"]).figures["min_entropy_bits"]
    assert (figure, str(figure)) == (0, "0.0")


def test_chi_square_agrees_with_its_definition() -> None:
    bins = uniform(calls=1_000)
    expected = 1_000 / BINS
    counts = [int((bins == number).sum()) for number in range(BINS)]
    statistic = sum((count - expected) ** 2 / expected for count in counts)
    p = special.gammaincc((BINS - 1) / 2, statistic / 2)
    assert judge(bins).figures["uniform_p"] == pytest.approx(p)


def test_unevenness_is_by_how_much_frequencies_are_off() -> None:
    off = judge(weighted([1.25] * 32 + [0.75] * 32)).figures["unevenness"]
    assert off == pytest.approx(0.25, abs=0.01)
    # Of few calls luck alone makes 0.13, which is not counted.
    few = [judge(uniform(seed, 4_000)).figures["unevenness"] for seed in range(20)]
    assert max(few) < 0.09


def test_luck_is_the_binomial_tail() -> None:
    calls = 500
    bins = uniform(seed=4, calls=calls)
    repeats = sum(now == then for now, then in pairwise(bins))
    chance, tries = Fraction(1, BINS), calls - 1
    tail = sum(
        comb(tries, hits) * chance**hits * (1 - chance) ** (tries - hits)
        for hits in range(repeats, tries + 1)
    )
    assert judge(bins).figures["same_as_last_p"] == pytest.approx(float(tail))


def test_correlation_agrees_with_its_definition() -> None:
    bins = uniform(calls=1_000)
    figures = judge(bins).figures
    now, then = bins[:-1] - bins[:-1].mean(), bins[1:] - bins[1:].mean()
    r = (now * then).sum() / ((now**2).sum() * (then**2).sum()) ** 0.5
    assert figures["serial_correlation"] == pytest.approx(r)
    p = special.erfc(abs(r) * (1_000 / 2) ** 0.5)
    assert figures["serial_correlation_p"] == pytest.approx(p)


def test_offsets_and_their_pairs_are_kept_for_the_plot() -> None:
    verdict = judge(np.resize([5, 9, 5, 5], CALLS))
    assert verdict.series == {
        "positions": [[0, 75_000], [64, 25_000]],
        "successions": [[0, 0, 49_999], [0, 64, 25_000], [64, 0, 25_000]],
    }


def test_every_figure_is_documented() -> None:
    assert explained("prediction") == list(judge(uniform()).figures)
