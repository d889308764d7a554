"""Programs that the kernel starts before late_initcall."""

import numpy as np
import pytest
from generators import DEFINITION, Ints, explained, positions

from temper.extension import judge_named
from temper.paths import FEATURES
from temper.record.outcome import Outcome
from temper.stats.judging import Verdict

early = judge_named(FEATURES / "kstack", "early", ("level",))

HELPERS, N = 8, 32


def judge(table: Ints) -> Verdict:
    return early(
        {"early_position": positions(table.ravel())},
        {**DEFINITION, "early_shape": np.array([table.shape[1]])},
        level=1e-6,
    )


def sound(seed: int = 1) -> Ints:
    return np.random.default_rng(seed).integers(0, 64, (HELPERS, N))


def one_constant() -> Ints:
    table = sound()
    table[3] = 5
    return table


def two_alike() -> Ints:
    table = sound()
    table[6] = table[2]
    return table


def first_call_alike() -> Ints:
    table = sound()
    table[:, 0] = 0
    return table


def with_positions(count: int) -> Ints:
    all_of_them = np.resize(np.arange(count), (HELPERS, N))
    return np.random.default_rng(1).permuted(all_of_them, axis=1)


FAULTS = {
    "one helper had 1 distinct positions in 32 calls": one_constant(),
    "1 pairs of helpers had the same 32 positions in a row": two_alike(),
    "the first calls of 8 helpers had 1 distinct positions": first_call_alike(),
    "256 calls had 16 distinct positions": sound() % 16,
}


@pytest.mark.parametrize("reason", FAULTS)
def test_each_fault_is_noticed(reason: str) -> None:
    verdict = judge(FAULTS[reason])
    assert verdict.outcome is Outcome.VULNERABLE
    assert any(why.startswith(reason) for why in verdict.reasons), verdict.reasons


def test_no_offset_at_all_is_vulnerable() -> None:
    assert judge(np.zeros((HELPERS, N), dtype=int)).outcome is Outcome.VULNERABLE


def test_random_positions_are_blocked() -> None:
    for seed in range(300):
        assert judge(sound(seed)).outcome is Outcome.BLOCKED


def test_the_most_positions_that_are_too_few_are_said() -> None:
    most = int(judge(sound()).figures["noticeable_positions"])
    (reason,) = judge(with_positions(most)).reasons
    assert reason.startswith(f"256 calls had {most} distinct positions")
    assert judge(with_positions(most + 1)).outcome is Outcome.BLOCKED
    assert f"; {most} would have been noticed" in judge(sound()).reasons[0]


def test_the_most_that_are_too_few_for_one_helper_are_said() -> None:
    most = int(judge(sound()).figures["least_noticeable_positions"])
    table = sound()
    table[3] = np.resize(np.arange(most), N)
    (reason,) = judge(table).reasons
    assert reason == f"one helper had {most} distinct positions in 32 calls"
    table[3] = np.resize(np.arange(most + 1), N)
    assert judge(table).outcome is Outcome.BLOCKED


def test_no_helper_is_unsupported() -> None:
    verdict = early({}, DEFINITION, level=1e-6)
    assert verdict.outcome is Outcome.UNSUPPORTED
    assert verdict.reasons == ["no helper ran before late_initcall"]


def test_too_few_positions_are_unsupported() -> None:
    assert judge(sound()[:, :4]).outcome is Outcome.UNSUPPORTED


def test_every_figure_is_documented() -> None:
    assert explained("early") == list(judge(sound()).figures)
