"""Positions of tasks that ask, began, or went on in other ways."""

import re
from collections.abc import Callable

import numpy as np
import pytest
from generators import DEFINITION, Ints, explained, positions

from temper.extension import judge_named
from temper.paths import FEATURES
from temper.record.outcome import Outcome
from temper.stats.judging import Arrays, Verdict

ways = judge_named(FEATURES / "kstack", "ways", ("level", "margin"))

ASKED = ("read", "write", "lseek", "user", "traced", "forked")
BEGUN = ("became", "thread", "vforked", "namespaced", "execd", "signalled")
CALLS, EACH, MANY = 8_192, 64, 512


def sound() -> dict[str, Ints]:
    """Return what a kernel without a fault sends."""
    random = np.random.default_rng(1)
    samples: dict[str, Ints] = {}
    for way in (*ASKED, *BEGUN):
        samples[f"{way}_position"] = positions(random.integers(0, 64, CALLS))
        samples[f"{way}_group"] = np.zeros(CALLS, dtype=np.int64)
    for way in BEGUN:
        samples[f"{way}_group"] = np.arange(CALLS) // EACH
    samples["forked_group"] = np.arange(CALLS) // MANY
    return samples


def judge(samples: Arrays) -> Verdict:
    return ways(samples, DEFINITION, level=1e-6, margin=1.25)


def test_a_kernel_without_a_fault_is_blocked() -> None:
    verdict = judge(sound())
    assert verdict.outcome is Outcome.BLOCKED
    assert "8192 calls or more by read, by write" in verdict.reasons[0]
    assert verdict.figures["noticeable"] == 1.25


def test_another_depth_of_each_way_is_no_fault() -> None:
    deeper = {
        name: values + 48 * n if "group" not in name else values
        for n, (name, values) in enumerate(sound().items())
    }
    assert judge(deeper).figures == judge(sound()).figures


def constant(drawn: Ints) -> None:
    drawn[:] = drawn[0]


def seldom_moved(drawn: Ints) -> None:
    """One call in a hundred stays where it would be without an offset."""
    drawn[::100] = positions(np.array(0))


def again_and_again(drawn: Ints) -> None:
    drawn[:] = np.resize(drawn[:1_000], CALLS)


@pytest.mark.parametrize("way", (*ASKED, *BEGUN))
@pytest.mark.parametrize("fault", [constant, again_and_again])
def test_each_fault_is_noticed_in_each_way(
    fault: Callable[[Ints], None], way: str
) -> None:
    samples = sound()
    fault(samples[f"{way}_position"])
    verdict = judge(samples)
    assert verdict.outcome is Outcome.VULNERABLE
    assert all(reason.startswith(f"{way}: ") for reason in verdict.reasons)


@pytest.mark.parametrize("way", BEGUN)
def test_two_tasks_that_begin_alike_are_noticed(way: str) -> None:
    samples = sound()
    drawn = samples[f"{way}_position"].reshape(-1, EACH)
    drawn[7, :20] = drawn[3, 2:22]
    verdict = judge(samples)
    assert verdict.outcome is Outcome.VULNERABLE
    assert verdict.reasons[0].startswith(f"{way}: 1 pairs of 128 tasks")


def test_one_task_in_sixteen_with_a_bit_less_is_noticed() -> None:
    samples = sound()
    numbers = np.random.default_rng(2).integers(0, 32, MANY)
    samples["forked_position"][5 * MANY : 6 * MANY] = positions(numbers)
    verdict = judge(samples)
    assert verdict.outcome is Outcome.VULNERABLE
    assert verdict.reasons[0] == (
        "forked: positions of 1 of 16 tasks or CPUs are not as frequent as claimed"
    )


def test_the_smallest_unevenness_that_is_noticed_is_stated() -> None:
    few = {name: each[: CALLS // 8] for name, each in sound().items()}
    verdict = judge(few)
    assert verdict.outcome is Outcome.UNSUPPORTED
    assert 1.5 < verdict.figures["noticeable"] < 1.7
    assert "only 1.5" in verdict.reasons[0]


def test_a_few_calls_that_do_not_move_are_a_bias_too_small_to_use() -> None:
    samples = sound()
    seldom_moved(samples["traced_position"])
    verdict = judge(samples)
    assert verdict.outcome is Outcome.BLOCKED


@pytest.mark.parametrize("way", (*ASKED, *BEGUN))
def test_a_way_that_was_not_tried_is_unsupported(way: str) -> None:
    samples = sound()
    del samples[f"{way}_position"]
    verdict = judge(samples)
    assert verdict.outcome is Outcome.UNSUPPORTED
    assert verdict.reasons[0].startswith("0 calls ")


def test_every_figure_is_documented() -> None:
    named = explained("ways")
    for figure in judge(sound()).figures:
        general = re.sub(f"^({'|'.join((*ASKED, *BEGUN))})_", "<way>_", figure)
        assert general in named, figure
