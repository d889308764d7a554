import math
import random
from fractions import Fraction
from random import Random

import pytest

from temper.stats.comparison import Bins, Difference, Mark, Sample
from temper.stats.exact import QUANTILES, Exact, merge, result_classes


def test_classes_of_one_value() -> None:
    assert result_classes({210: 1_000_000}, 1) == {
        "mean": 210,
        "p50": 210,
        "p99": 210,
        "p99.9": 210,
        "max": 210,
    }


def test_a_quantile_is_the_smallest_value_that_enough_samples_reach() -> None:
    exactly = {1: 999_000, 2: 1_000}
    one_short = {1: 998_999, 2: 1_001}
    assert result_classes(exactly, 1)["p99.9"] == 1
    assert result_classes(one_short, 1)["p99.9"] == 2


@pytest.mark.parametrize("seed", range(20))
def test_classes_agree_with_the_definition_on_sorted_samples(seed: int) -> None:
    rng = random.Random(seed)
    samples = sorted(rng.choices(range(100, 4000), k=rng.randint(1, 3000)))
    bins = {value: samples.count(value) for value in set(samples)}
    found = result_classes(bins, 1)
    for name, q in QUANTILES.items():
        rank = math.ceil(Fraction(str(q)) * len(samples))
        assert found[name] == samples[rank - 1], name
    assert found["mean"] == Fraction(sum(samples), len(samples))
    assert found["max"] == samples[-1]


def test_values_are_per_operation() -> None:
    assert result_classes({2719: 4}, 2)["p50"] == Fraction(2719, 2)


def test_the_mean_is_exact_where_floats_are_not() -> None:
    many = 10**12
    off = result_classes({210: many - 1, 211: 1}, 1)
    on = result_classes({224: many - 1, 225: 1}, 1)
    assert on["mean"] - off["mean"] == 14


def test_a_histogram_without_samples_has_no_classes() -> None:
    with pytest.raises(ValueError, match="without samples"):
        result_classes({}, 1)


def test_merge_adds_bin_by_bin() -> None:
    assert merge([{1: 2, 5: 1}, {5: 3}, {}]) == {1: 2, 5: 4}
    assert merge([{"rdtsc": 2}, {"rdtsc": 3, "wrmsr": 1}]) == {"rdtsc": 5, "wrmsr": 1}


def mean(before: list[int], after: list[int], operations: int = 1) -> Difference:
    """Compare means of samples that have one value in each layout of memory."""
    (usual, *layouts), (ours, *others) = (
        [{x: 100} for x in of] for of in (before, after)
    )
    samples = (
        Sample([usual], operations, layouts),
        Sample([ours], operations, others),
    )
    return Exact(repeated=True).compare(*samples)["mean"]


@pytest.mark.parametrize(
    ("before", "after", "spread", "mark"),
    [
        # From any layout of one to any of the other.
        ([100, 103], [110, 109], 4, Mark.REGRESSION),
        ([110, 109], [100, 103], 4, Mark.IMPROVEMENT),
        ([100, 103], [104, 104], 3, Mark.REGRESSION),
        ([100, 104], [104, 104], 4, Mark.UNKNOWN),
        ([100, 100], [104, 108], 4, Mark.UNKNOWN),
        ([100, 100, 100], [96, 99, 100], 4, Mark.UNKNOWN),
        # Equal here, but not everywhere.
        ([100, 101], [100, 100], 1, Mark.UNKNOWN),
        ([100, 100], [100, 100], 0, Mark.EQUAL),
        ([100, 100], [101, 101], 0, Mark.REGRESSION),
    ],
)
def test_a_difference_counts_only_beyond_its_spread(
    before: list[int], after: list[int], spread: int, mark: Mark
) -> None:
    found = mean(before, after)
    assert found.spread == spread
    assert found.mark is mark
    assert found.delta == after[0] - before[0]
    assert mean(before, after, operations=2).spread == Fraction(spread, 2)


@pytest.mark.parametrize(
    ("before", "after"),
    [([100], [101]), ([100, 103], [101]), ([100], [101, 103]), ([1, 2, 3], [4, 5])],
)
def test_the_spread_is_unknown_if_one_lacks_a_layout(
    before: list[int], after: list[int]
) -> None:
    found = mean(before, after)
    assert found.spread is None
    assert found.mark is Mark.REGRESSION


def test_the_spread_is_unknown_if_a_layout_has_no_sample() -> None:
    empty: list[Bins] = [{}]
    other: list[Bins] = [{100: 5}]
    compared = Exact(repeated=True).compare(
        Sample([{100: 5}], 1, empty), Sample([{101: 5}], 1, other)
    )
    assert {each.spread for each in compared.values()} == {None}


@pytest.mark.parametrize(("layouts", "expected"), [(3, 0.06), (4, 0.02), (5, 0.005)])
@pytest.mark.parametrize("shape", ["normal", "uniform"])
def test_layout_alone_is_marked_as_seldom_as_we_say(
    shape: str, layouts: int, expected: float
) -> None:
    """The figures of docs/exact-counts.md, by simulation."""
    random = Random(1)
    draws = {
        "normal": lambda: random.gauss(0, 1000),
        "uniform": lambda: 9999 * random.random(),
    }
    marked = 0
    for _ in range(1000):
        before, after = (
            [10_000 + round(draws[shape]()) for _ in range(layouts)] for _ in "ab"
        )
        marked += mean(before, after).mark in (Mark.REGRESSION, Mark.IMPROVEMENT)
    assert marked / 1000 == pytest.approx(expected, abs=0.012)
