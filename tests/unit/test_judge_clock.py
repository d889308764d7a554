"""What the CPU's counter tells of the next position."""

import numpy as np
import pytest
from generators import DEFINITION, Folded, Ints, explained, positions, stock_x86

from temper.extension import judge_named
from temper.paths import FEATURES
from temper.record.outcome import Outcome
from temper.stats.judging import Verdict

clock = judge_named(FEATURES / "kstack", "clock", ("level", "margin"))

CALLS = 20_000


def judge(samples: dict[str, Ints]) -> Verdict:
    return clock(samples, DEFINITION, level=1e-6, margin=1.25)


def clocked(offsets: Ints) -> dict[str, Ints]:
    """Return ``offsets`` with a clock that has nothing to do with them."""
    return {**stock_x86(len(offsets), 40), "clock_position": positions(offsets)}


def test_a_counter_that_is_known_exactly_tells_all() -> None:
    verdict = judge(stock_x86(CALLS, jitter=0))
    assert verdict.outcome is Outcome.VULNERABLE
    assert verdict.figures["beam_rate"] > 0.99


@pytest.mark.parametrize(
    ("jitter", "attacker", "rate"),
    [(1, "beam", 0.15), (3, "beam", 0.1), (7, "carry", 0.04), (20, "carry", 0.025)],
)
def test_a_counter_that_is_known_about_tells_some(
    jitter: int, attacker: str, rate: float
) -> None:
    verdict = judge(stock_x86(CALLS, jitter))
    assert verdict.outcome is Outcome.VULNERABLE
    assert verdict.figures[f"{attacker}_rate"] > rate
    assert "who reads the CPU's counter after each call predicts" in verdict.reasons[0]


def test_a_delay_that_varies_a_lot_hides_the_state() -> None:
    assert judge(stock_x86(CALLS, jitter=400)).outcome is Outcome.BLOCKED


def test_an_offset_that_does_not_hang_on_the_clock_is_blocked() -> None:
    ours = Folded(0x9E3779B97F4A7C15, 0x1234567890ABCDEF)
    verdict = judge(clocked(np.array([ours.draw() for _ in range(CALLS)])))
    assert verdict.outcome is Outcome.BLOCKED, verdict.reasons
    assert "does not help" in verdict.reasons[0]


def test_one_offset_for_all_calls_needs_no_clock() -> None:
    verdict = judge(clocked(np.full(CALLS, 7)))
    assert verdict.outcome is Outcome.VULNERABLE
    assert verdict.figures["table_rate"] == 1


def test_bits_of_the_clock_in_the_offset_are_seen_by_the_table() -> None:
    """A generator that is not stock's: the counter's own bits, a bit late."""
    samples = stock_x86(CALLS, jitter=20)
    naive = np.roll(samples["clock_after"] - 310 >> 6 & 63, 1)
    verdict = judge({**samples, "clock_position": positions(naive)})
    assert verdict.outcome is Outcome.VULNERABLE
    assert verdict.figures["table_rate"] > 0.5


def test_too_few_calls_are_not_judged() -> None:
    few = judge(stock_x86(1_999, jitter=0))
    assert few.outcome is Outcome.UNSUPPORTED
    assert few.reasons == ["1999 calls are too few to judge: 2000 needed"]


def test_every_figure_is_documented() -> None:
    assert explained("clock") == list(judge(stock_x86(2_000, jitter=0)).figures)
