import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from temper.extension import loaded
from temper.paths import FEATURES

BINS = 64
LENGTH = 6_000
OF_SHORT_CYCLES = "linear relations"
"""Any sequence has some that repeats after fewer values than bits are looked at."""

predictors = loaded(FEATURES / "kstack" / "judges" / "__init__.py").predictors
LAGS = predictors.LAGS


def predictor_hits(
    train: NDArray[np.int64], test: NDArray[np.int64]
) -> dict[str, NDArray[np.bool_]]:
    found: dict[str, NDArray[np.bool_]] = predictors.predictor_hits(train, test, BINS)
    return found


def hits(values: NDArray[np.int64]) -> dict[str, NDArray[np.bool_]]:
    half = len(values) // 2
    return predictor_hits(values[:half], values[half:])


def perfect(values: NDArray[np.int64]) -> set[str]:
    return {name for name, found in hits(values).items() if found.all()}


def random(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def uniform(seed: int = 1) -> NDArray[np.int64]:
    return random(seed).integers(0, BINS, LENGTH)


def test_same_as_last_looks_at_each_value_but_the_first() -> None:
    assert predictors.same_as_last(np.array([3, 3, 5, 5, 5, 3])).tolist() == [
        *(True, False, True, True, False)
    ]


@pytest.mark.parametrize("lag", LAGS)
def test_a_lag_finds_the_pattern_of_its_length(lag: int) -> None:
    pattern = random().permutation(BINS)[:lag]
    found = hits(np.resize(pattern, LENGTH))
    assert found[f"lag {lag}"].all()
    for shorter in range(1, lag):
        assert not found[f"lag {shorter}"].any(), shorter


@pytest.mark.parametrize("step", [1, 5, 63])
def test_the_same_step_finds_a_counter_over_the_wrap(step: int) -> None:
    found = hits(np.arange(LENGTH) * step % BINS)
    assert found["same step again"].all()
    assert not any(found[f"lag {lag}"].any() for lag in LAGS)


def test_the_most_common_value_is_learnt_from_before() -> None:
    before, after = np.full(100, 3), np.array([5] * 90 + [3] * 10)
    found = predictor_hits(before, after)
    assert found["most common"].tolist() == [False] * 90 + [True] * 10


def walk(follows: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    values = [0]
    for _ in range(length - 1):
        values.append(int(follows[values[-1]]))
    return np.array(values)


CYCLE = np.roll(np.arange(BINS), -1)
"""value -> the next one, through all of them."""


def test_the_successor_of_one_finds_a_walk_through_all_values() -> None:
    order = random().permutation(BINS)
    values = order[walk(CYCLE, LENGTH)]
    assert perfect(values) == {"successor of one", "successor of two", OF_SHORT_CYCLES}


def test_a_successor_is_learnt_from_before() -> None:
    forward, backward = walk(CYCLE, 1000), walk(np.roll(np.arange(BINS), 1), 1000)
    found = predictor_hits(forward, backward)
    assert not found["successor of one"].any()


def test_the_successor_of_two_finds_what_one_value_does_not_tell() -> None:
    values = [1, 1]
    for _ in range(LENGTH - 2):
        values.append((values[-1] + values[-2]) % BINS)
    assert perfect(np.array(values)) == {"successor of two", OF_SHORT_CYCLES}


def test_a_bit_that_is_the_sum_of_two_earlier_ones_is_found() -> None:
    values = uniform()
    for i in range(28, LENGTH):
        bit = (values[i - 25] ^ values[i - 28]) & 8
        values[i] = values[i] & ~8 | bit
    found = hits(values)
    assert found["linear relations"].mean() == pytest.approx(2 / BINS, rel=0.2)
    assert found["successor of two"].mean() < 1.5 / BINS


def test_relations_are_not_sought_in_too_few_values() -> None:
    assert "linear relations" not in predictor_hits(uniform()[:500], uniform())


def test_nobody_makes_a_guess_without_something_to_look_back_at() -> None:
    found = hits(uniform())
    guesses = {name: len(right) for name, right in found.items()}
    back = {f"lag {lag}": lag for lag in LAGS}
    back |= {"same step again": 2, "most common": 0}
    back |= {"successor of one": 1, "successor of two": 2, "linear relations": 40}
    assert guesses == {name: LENGTH // 2 - first for name, first in back.items()}


@pytest.mark.parametrize("seed", range(20))
def test_nobody_beats_chance_on_independent_values(seed: int) -> None:
    for name, right in hits(uniform(seed)).items():
        luck = stats.binom.sf(right.sum() - 1, right.size, 1 / BINS)
        # 20 seeds by 20 predictors: by chance 0.04 of all 400 are as lucky.
        assert luck > 1e-4, name
