import math
import random
from fractions import Fraction

import pytest

from temper.stats.exact import QUANTILES, merge, result_classes


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
