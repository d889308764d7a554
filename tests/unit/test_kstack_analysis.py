"""The attacks on the candidates for kstack's generator: they land where they must."""

from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from numpy.typing import NDArray

from temper.paths import REPOSITORY

Ints = NDArray[np.int64]

ANALYSIS = REPOSITORY / "features" / "kstack" / "analysis"


@pytest.fixture(autouse=True)
def _on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ANALYSIS))


def module(name: str) -> ModuleType:
    """Import a module of the analysis, and make sure that it is that one."""
    found = import_module(name)
    assert Path(str(found.__file__)).parent == ANALYSIS
    return found


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(7)


def seen(kind: str, calls: int, random: np.random.Generator, keys: int = 1) -> Ints:
    candidates = module("candidates")
    words = candidates.random_words(random, (2, keys))
    return np.asarray(candidates.leak(getattr(candidates, kind)(*words).draw, calls))


@pytest.mark.parametrize("width", [8, 16, 32, 64])
def test_a_product_has_two_halves(width: int, random: np.random.Generator) -> None:
    candidates = module("candidates")
    a, b = candidates.random_words(random, (2, 1000), width)
    a[0] = b[0] = (1 << width) - 1
    low, high = candidates.product(a, b, width)
    whole = [x * y for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    assert low.tolist() == [x & (1 << width) - 1 for x in whole]
    assert high.tolist() == [x >> width for x in whole]


def test_the_lfsr_is_that_of_the_kernel() -> None:
    # Four calls of prandom_u32_state() on the words 1000, 2000, 3000, 4000.
    candidates = module("candidates")
    lfsr = candidates.Lfsr(np.array([[1000], [2000], [3000], [4000]], dtype=np.uint64))
    drawn = [int(lfsr.draw()[0]) for _ in range(4)]
    assert drawn == [240502603, 49521368, 2665686764, 4218537760]


def test_some_twenty_leaks_tell_all_of_an_lfsr(random: np.random.Generator) -> None:
    attack = module("lfsr_attack")
    offsets = attack.one_run(random, 200)
    assert attack.predicted_share(offsets, 10) < 0.1
    assert 18 <= attack.leaks_needed(offsets) <= 22
    assert attack.predicted_share(offsets, 22) == 1


def test_linear_algebra_tells_nothing_of_the_fold(random: np.random.Generator) -> None:
    attack = module("lfsr_attack")
    assert attack.predicted_share(seen("Folded", 200, random)[0], 40) < 0.1


def test_lags_tell_a_counter_but_not_the_fold(random: np.random.Generator) -> None:
    attack = module("lag_attack")
    rates = {
        kind: [attack.hit_rate(one, 8192) for one in seen(kind, 12288, random, 10)]
        for kind in ("Counter", "Folded")
    }
    assert np.mean(rates["Counter"]) > 0.2
    # 40,960 guesses: six standard deviations are 0.4 %.
    assert abs(np.mean(rates["Folded"]) - 1 / 64) < 0.004


def test_correlations_of_successive_offsets_show(random: np.random.Generator) -> None:
    correlation = module("correlation")
    assert correlation.largest(seen("Counter", 256, random, 512)) > 20
    folded = seen("Folded", 256, random, 512)
    assert correlation.largest(folded) < 7
    assert abs(correlation.chi_square(folded, 1)) < 6


def test_a_biased_bit_is_the_largest_correlation(random: np.random.Generator) -> None:
    correlation = module("correlation")
    offsets = random.integers(0, 64, (100, 1000))
    assert correlation.largest(offsets) < 7
    offsets[:, ::20] |= 1
    assert correlation.largest(offsets) > 7


@pytest.mark.parametrize(("xor_key", "fixed"), [(False, [0, 255]), (True, [])])
def test_the_xored_key_leaves_no_trap(xor_key: bool, fixed: list[int]) -> None:
    assert module("scaled").fixed_by_every_key(8, xor_key) == fixed


@pytest.mark.parametrize(("xor_key", "share"), [(False, 1.0), (True, 0.0)])
def test_states_get_stuck_without_the_key(
    xor_key: bool, share: float, random: np.random.Generator
) -> None:
    stuck = module("scaled").calls_until_stuck(12, 10, 50, 20_000, xor_key, random)
    assert stuck[1] == share


@pytest.mark.parametrize(("xor_key", "least", "most"), [(False, 0.5, 1), (True, 0, 0)])
def test_weak_keys_repeat(
    xor_key: bool, least: float, most: float, random: np.random.Generator
) -> None:
    share = module("scaled").share_that_repeats(2**32 - 1, 20, 16_384, xor_key, random)
    assert least <= share <= most


def test_state_and_key_take_their_bits_in_leaks(random: np.random.Generator) -> None:
    assert 6 <= module("scaled").leaks_for_one(8, 2, random) <= 14


def test_a_state_that_was_met_has_two_preimages(random: np.random.Generator) -> None:
    scaled, candidates = module("scaled"), module("candidates")
    keys = candidates.random_words(random, 20, 12).tolist()
    counts = np.array([scaled.preimages(12, key) for key in keys], dtype=float)
    assert np.all(counts.sum(axis=1) == 4096)
    assert 1.5 < np.median(np.sum(counts**2, axis=1)) / 4096 < 3
