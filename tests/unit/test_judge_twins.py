"""Two boots that differ in the machine's random numbers alone."""

import re

import numpy as np
import pytest
from generators import DEFINITION, Ints, explained, positions

from temper.extension import judge_named
from temper.paths import FEATURES
from temper.record.outcome import Outcome
from temper.stats.judging import Arrays, Verdict

twins = judge_named(FEATURES / "kstack", "twins", ("level", "margin"))

CALLS, STATES, KEYS = 20_000, 2_000, 64


def offsets(boot: int) -> Ints:
    return np.random.default_rng(boot).integers(0, 64, CALLS)


def words(boot: int, count: int) -> Ints:
    random = np.random.default_rng((boot, count))
    return random.integers(-(2**63), 2**63 - 1, count, dtype=np.int64)


def samples() -> dict[str, Ints]:
    """Return what two boots of a sound kernel send."""
    found: dict[str, Ints] = {}
    for boot in (1, 2):
        found[f"twin_position_{boot}"] = positions(offsets(boot))
        found[f"twin_state_{boot}"] = words(boot, STATES)
        found[f"twin_key_{boot}"] = words(boot, KEYS)
        found[f"twin_known_{boot}"] = np.arange(9)
        found[f"twin_counter_{boot}"] = np.arange(40)
    return found


def judge(found: Arrays) -> Verdict:
    return twins(found, DEFINITION, level=1e-6, margin=1.25)


def test_boots_with_nothing_in_common_are_sound() -> None:
    verdict = judge(samples())
    assert verdict.outcome is Outcome.BLOCKED
    assert "its 2000 states and 64 keys have nothing in common" in verdict.reasons[0]
    assert verdict.figures["noticeable"] < 1.5


def test_a_kernel_without_states_is_judged_by_its_positions() -> None:
    found = {
        name: each
        for name, each in samples().items()
        if "state" not in name and "key" not in name
    }
    assert judge(found).outcome is Outcome.BLOCKED
    assert "states" not in judge(found).reasons[0]


def _turned(period: int) -> Ints:
    """Return offsets that differ from those of boot 1 by bits that come again."""
    differences = np.random.default_rng(9).integers(0, 64, period)
    return offsets(1) ^ np.resize(differences, CALLS)


@pytest.mark.parametrize(
    ("other", "period"),
    [(offsets(1), 0), (offsets(1) ^ 9, 1), (_turned(32), 32), (_turned(5), 5)],
)
def test_a_boot_that_tells_its_twins_positions(other: Ints, period: int) -> None:
    verdict = judge({**samples(), "twin_position_2": positions(other)})
    assert verdict.outcome is Outcome.VULNERABLE
    assert verdict.figures["best_period"] == period
    assert verdict.figures["best_rate"] == 1


def test_positions_alike_now_and_then_are_noticed() -> None:
    """In one call in a hundred: 1.6 times as often as by chance."""
    known = np.arange(CALLS) % 100 == 0
    other = np.where(known, offsets(1), offsets(2))
    verdict = judge({**samples(), "twin_position_2": positions(other)})
    assert verdict.outcome is Outcome.VULNERABLE
    assert verdict.figures["best_period"] == 0
    assert verdict.figures["best_rate"] < 0.03


@pytest.mark.parametrize("what", ["state", "key"])
def test_one_word_in_common_is_no_luck(what: str) -> None:
    found = samples()
    found[f"twin_{what}_2"][7] = found[f"twin_{what}_1"][3]
    verdict = judge(found)
    assert verdict.outcome is Outcome.VULNERABLE
    assert re.search(rf"1 of \d+ {what}s are also the twin's", verdict.reasons[0])


@pytest.mark.parametrize("what", ["state", "key"])
@pytest.mark.parametrize("how", [np.bitwise_xor, np.add])
def test_words_that_hang_on_one_secret_of_the_boot(what: str, how: np.ufunc) -> None:
    found = samples()
    found[f"twin_{what}_2"] = how(found[f"twin_{what}_1"], 0x1234567890ABCDEF)
    verdict = judge(found)
    assert verdict.outcome is Outcome.VULNERABLE
    assert f"{what}s differ from the twin's as others do" in verdict.reasons[0]


def test_all_words_in_common_are_counted() -> None:
    found = samples()
    found["twin_state_1"][:] = found["twin_state_2"][:] = 5
    assert f"{STATES} of {STATES} states are also" in judge(found).reasons[0]


@pytest.mark.parametrize("what", ["position", "state", "key", "known", "counter"])
def test_boots_that_sent_unlike_amounts_are_not_compared(what: str) -> None:
    found = samples()
    found[f"twin_{what}_2"] = found[f"twin_{what}_2"][:-1]
    verdict = judge(found)
    assert verdict.outcome is Outcome.UNSUPPORTED
    assert what in verdict.reasons[0]


def test_twins_that_are_not_alike_show_nothing() -> None:
    found = samples()
    found["twin_known_2"] = found["twin_known_2"] + np.eye(9, dtype=np.int64)[4]
    assert judge(found).outcome is Outcome.UNSUPPORTED
    found = samples()
    found["twin_counter_2"][:10] += 1
    assert judge(found).outcome is Outcome.BLOCKED
    found["twin_counter_2"][:11] += 1
    assert judge(found).outcome is Outcome.UNSUPPORTED
    found = samples()
    del found["twin_known_1"], found["twin_known_2"]
    assert judge(found).outcome is Outcome.UNSUPPORTED


def test_few_calls_are_not_judged() -> None:
    found = samples()
    found |= {f"twin_position_{n}": found[f"twin_position_{n}"][:100] for n in (1, 2)}
    assert judge(found).outcome is Outcome.UNSUPPORTED
    assert judge({}).outcome is Outcome.UNSUPPORTED


def test_every_figure_is_documented() -> None:
    named = explained("twins")
    for figure in judge(samples()).figures:
        assert re.sub("^(state|key)s", "<what>s", figure) in named, figure
