"""Whether states and keys can be guessed, or found in memory."""

import re

import numpy as np
import pytest
from generators import DEFINITION, Ints

from temper.extension import judge_named
from temper.paths import FEATURES
from temper.record.outcome import Outcome
from temper.stats.judging import Arrays, Verdict

seeds = judge_named(FEATURES / "kstack", "seeds", ("level",))

STATES, KEYS, STORE = 2_000, 256, 12


def words(count: int, bits: int = 64) -> Ints:
    """Return so many words with so many random bits, spread over all of them."""
    random = np.random.default_rng(bits)
    seed = random.integers(0, 2**bits, count, dtype=np.uint64, endpoint=False)
    spread = seed if bits == 64 else _hashed(seed)
    return spread.astype(np.int64)


def _hashed(seed: np.ndarray) -> np.ndarray:
    """SplitMix64's last steps: distinct words stay distinct."""
    mixed = (seed + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))


def samples() -> dict[str, Ints]:
    return {
        "seed_state": words(STATES),
        "seed_key": words(2 * KEYS + 1)[1:],
        "seed_store": words(2 * KEYS * STORE + 7)[-2 * KEYS * STORE :] ^ 5,
    }


def judge(found: Arrays) -> Verdict:
    of_cpu = np.array([KEYS, KEYS])
    return seeds(found, {**DEFINITION, "seed_keys_of_cpu": of_cpu}, level=1e-6)


def test_random_words_are_sound() -> None:
    verdict = judge(samples())
    assert verdict.outcome is Outcome.BLOCKED
    assert verdict.figures["states_bits"] > 16
    assert "2000 children start from as many states" in verdict.reasons[0]


def test_a_kernel_without_keys_is_judged_by_its_states() -> None:
    verdict = judge({"seed_state": words(STATES)})
    assert verdict.outcome is Outcome.BLOCKED
    assert "keys" not in verdict.figures


@pytest.mark.parametrize("what", ["seed_state", "seed_key"])
def test_twelve_bits_are_noticed(what: str) -> None:
    found = samples()
    found[what] = words(len(found[what]), bits=12)
    verdict = judge(found)
    assert verdict.outcome is Outcome.VULNERABLE
    assert "came before" in verdict.reasons[0]


@pytest.mark.parametrize("what", ["seed_state", "seed_key"])
@pytest.mark.parametrize("bit", [0, 31, 63])
def test_a_bit_that_stays_is_noticed(what: str, bit: int) -> None:
    found = samples()
    found[what] = found[what] | np.array(1 << bit, dtype=np.uint64).astype(np.int64)
    verdict = judge(found)
    assert verdict.outcome is Outcome.VULNERABLE
    assert "is not even" in verdict.reasons[0]


def test_one_key_that_lay_in_memory_is_noticed() -> None:
    found = samples()
    found["seed_store"][3 * STORE + 7] = found["seed_key"][4]
    verdict = judge(found)
    assert verdict.outcome is Outcome.VULNERABLE
    assert verdict.figures["keys_in_store"] == 1


def test_a_key_is_not_foretold_by_what_came_after_it_or_on_another_cpu() -> None:
    found = samples()
    found["seed_store"][4 * STORE + 7] = found["seed_key"][4]
    found["seed_store"][0] = found["seed_key"][KEYS + 3]
    assert judge(found).outcome is Outcome.BLOCKED


def test_a_key_that_never_changes_is_no_repetition() -> None:
    found = samples()
    of_cpu = np.array([1, 1])
    few = {name: each[:2] for name, each in found.items() if name == "seed_key"}
    store = found["seed_store"][: 2 * STORE]
    verdict = seeds(
        {**found, **few, "seed_store": store},
        {**DEFINITION, "seed_keys_of_cpu": of_cpu},
        level=1e-6,
    )
    assert verdict.outcome is Outcome.BLOCKED
    assert verdict.figures["keys_bits"] < 0


def test_few_states_are_unsupported() -> None:
    assert judge({"seed_state": words(100)}).outcome is Outcome.UNSUPPORTED
    assert judge({}).outcome is Outcome.UNSUPPORTED


def test_every_figure_is_documented() -> None:
    text = (FEATURES / "kstack" / "judges" / "README.md").read_text()
    table = text.partition("Figures of the judge `seeds`")[2].partition("\n## ")[0]
    explained = set(re.findall(r"`([\w<>]+)`", table))
    for figure in judge(samples()).figures:
        general = re.sub("^(states|keys)_(repeated|bit_p|bits)$", r"<what>_\2", figure)
        assert general in explained, figure
