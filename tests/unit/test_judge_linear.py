"""Linear relations over GF(2) between the positions of two tasks."""

import re
from itertools import islice

import numpy as np
import pytest
from generators import DEFINITION, Folded, Ints, explained, lfsr113, positions

from temper.extension import judge_named
from temper.paths import FEATURES
from temper.record.outcome import Outcome
from temper.stats.judging import Verdict

linear = judge_named(FEATURES / "kstack", "linear", ("level", "margin"))

K, M, ROUNDS = 256, 16, 60
BETWEEN = 2
CALLS = ROUNDS * (K + BETWEEN + M)


def judge(attacker: Ints, victim: Ints, k: int = K, level: float = 1e-6) -> Verdict:
    return linear(
        {
            "attacker_position": positions(attacker.ravel()),
            "victim_position": positions(victim.ravel()),
        },
        {**DEFINITION, "across_shape": np.array([k, M])},
        level=level,
        margin=1.25,
    )


def shared(offsets: Ints) -> tuple[Ints, Ints]:
    """Let two tasks draw in turns from one sequence, with calls in between."""
    rounds = offsets.reshape(ROUNDS, K + BETWEEN + M)
    return rounds[:, :K], rounds[:, K + BETWEEN :]


def from_lfsr(seed: int = 1) -> Ints:
    return np.array(list(islice(lfsr113(seed), CALLS)))


def from_folded() -> tuple[Ints, Ints]:
    """Two tasks with states of their own; the key is drawn anew now and then."""
    random = np.random.default_rng(5)
    tasks = [Folded(0, int(random.integers(1 << 62))) for _ in range(2)]
    drawn: tuple[list[int], list[int]] = ([], [])
    for _ in range(ROUNDS):
        key = int(random.integers(1 << 62)) << 1 | 1
        for task, calls, offsets in zip(tasks, (K, M), drawn, strict=True):
            task.key = key
            offsets += [task.draw() for _ in range(calls)]
    return np.array(drawn[0]), np.array(drawn[1])


def assert_did_not_land(verdict: Verdict) -> None:
    """BLOCKED takes more rounds, which take seconds."""
    assert verdict.outcome is Outcome.UNSUPPORTED
    assert "times chance would have been noticed" in verdict.reasons[0]


def test_a_shared_lfsr_tells_one_task_what_another_draws() -> None:
    verdict = judge(*shared(from_lfsr()))
    assert verdict.outcome is Outcome.VULNERABLE
    assert verdict.figures["hit_rate"] == 1
    assert verdict.figures["calls_between"] == BETWEEN
    # 113 bits, six a call, are 19 calls.
    assert 19 <= verdict.figures["leaks_needed"] <= 22
    assert re.match(
        r"\d\d of one task's positions predict 100.00 %", verdict.reasons[0]
    )


def test_calls_of_others_now_and_then_do_not_stop_it() -> None:
    """Every fifth round of the attacker is interrupted by a call of somebody else."""
    attacker, victim = shared(from_lfsr())
    attacker = attacker.copy()
    attacker[::5, 100:] = np.roll(attacker[::5, 100:], -1, axis=1)
    verdict = judge(attacker, victim)
    assert verdict.outcome is Outcome.VULNERABLE
    assert verdict.figures["hit_rate"] == pytest.approx(0.8, abs=0.05)


def test_one_offset_for_all_calls_is_linear_too() -> None:
    verdict = judge(*shared(np.full(CALLS, 7)))
    assert verdict.outcome is Outcome.VULNERABLE
    assert verdict.figures["leaks_needed"] == 1


def test_multiply_and_fold_is_not_linear() -> None:
    verdict = judge(*from_folded())
    assert_did_not_land(verdict)
    assert verdict.figures["relations_share"] == 0
    assert verdict.figures["leaks_needed"] == 0


def test_an_lfsr_of_his_own_does_not_help_against_another() -> None:
    mine, theirs = shared(from_lfsr(1))[0], shared(from_lfsr(2))[1]
    verdict = judge(mine, theirs)
    assert_did_not_land(verdict)
    assert verdict.figures["relations_share"] == 1


def test_false_alarms_are_no_more_than_stated() -> None:
    random = np.random.default_rng(3)
    alarms = 0
    for _ in range(3):
        drawn = random.integers(0, 64, (2, ROUNDS * K))
        # Fewer rounds would make each p coarse, more would take longer.
        verdict = judge(drawn[0], drawn[1, : ROUNDS * M], level=0.01)
        alarms += verdict.outcome is Outcome.VULNERABLE
    assert alarms == 0


def test_too_few_rounds_are_not_judged() -> None:
    mine, theirs = shared(from_lfsr())
    few = judge(mine[:1], theirs[:1])
    assert few.outcome is Outcome.UNSUPPORTED
    assert few.reasons == ["1 rounds of 256 and 16 calls are too few to judge"]


@pytest.mark.parametrize("only", ["attacker_position", "victim_position"])
def test_without_samples_nothing_is_judged(only: str) -> None:
    verdict = linear(
        {only: np.zeros(CALLS, dtype=np.int64)},
        {**DEFINITION, "across_shape": np.array([K, M])},
        level=1e-6,
        margin=1.25,
    )
    assert verdict.outcome is Outcome.UNSUPPORTED


def test_every_figure_is_documented() -> None:
    assert explained("linear") == list(judge(*shared(from_lfsr())).figures)
