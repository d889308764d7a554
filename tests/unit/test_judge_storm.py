"""Positions drawn while tasks migrate, CPUs go, interrupts come, tasks fork."""

import re
from collections.abc import Callable

import numpy as np
import pytest
from generators import DEFINITION, Ints, explained, positions

from temper.extension import judge_named
from temper.paths import FEATURES
from temper.record.outcome import Outcome
from temper.stats.judging import Verdict

storm = judge_named(FEATURES / "kstack", "storm", ("level", "margin"))

CALLS, GROUPS = 20_000, 4
FORKS, P = 10_000, 4


def sound() -> dict[str, Ints]:
    """Return what a kernel without a fault sends."""
    random = np.random.default_rng(1)
    samples: dict[str, Ints] = {}
    for storm in ("migration", "hotplug", "interrupts"):
        samples[f"{storm}_position"] = positions(random.integers(0, 64, CALLS))
        samples[f"{storm}_group"] = np.repeat(np.arange(GROUPS), CALLS // GROUPS)
    for who in ("parent", "child"):
        samples[f"fork_{who}"] = positions(random.integers(0, 64, FORKS * P))
    return samples


def judge(samples: dict[str, Ints]) -> Verdict:
    return storm(
        samples,
        {**DEFINITION, "fork_shape": np.array([P])},
        level=1e-6,
        margin=1.25,
    )


def test_a_kernel_without_a_fault_is_blocked() -> None:
    verdict = judge(sound())
    assert verdict.outcome is Outcome.BLOCKED
    assert len(verdict.reasons) == 1


@pytest.mark.parametrize("name", ["migration", "hotplug", "interrupts"])
def test_a_storm_with_few_calls_shows_little(name: str) -> None:
    samples = sound()
    for what in ("position", "group"):
        samples[f"{name}_{what}"] = samples[f"{name}_{what}"][::20]
    verdict = judge(samples)
    assert verdict.figures["noticeable"] > 1.5
    assert verdict.outcome is Outcome.UNSUPPORTED


def test_another_depth_of_each_storm_is_no_fault() -> None:
    deeper = {
        name: values + 48 * n if "group" not in name else values
        for n, (name, values) in enumerate(sound().items())
    }
    assert judge(deeper).figures == judge(sound()).figures


def skewed(samples: dict[str, Ints]) -> None:
    lower = np.arange(64) < 32
    samples["migration_position"] = positions(
        np.random.default_rng(2).choice(64, CALLS, p=np.where(lower, 1.25, 0.75) / 64)
    )


def constant_on_a_new_cpu(samples: dict[str, Ints]) -> None:
    samples["hotplug_position"][3_000:3_300] = positions(np.array(7))


def shared_by_two(samples: dict[str, Ints]) -> None:
    """Two of four draw the same now and then, ten calls apart."""
    drawn = samples["interrupts_position"]
    drawn[6_000:6_030] = drawn[1_010:1_040]


def again_later(samples: dict[str, Ints]) -> None:
    drawn = samples["migration_position"]
    drawn[4_000:4_020] = drawn[100:120]


def interleaved(samples: dict[str, Ints]) -> None:
    """Tell by the group, not by the place: the two draw in turns."""
    samples["migration_group"] = np.arange(CALLS) % 2
    drawn = samples["migration_position"]
    drawn[1:60:2] = drawn[10_000:10_060:2]


def foreign(samples: dict[str, Ints]) -> None:
    samples["hotplug_position"][5] += 8


def child_as_parent(samples: dict[str, Ints]) -> None:
    samples["fork_child"] = samples["fork_parent"].copy()


def child_a_call_behind(samples: dict[str, Ints]) -> None:
    rows = samples["fork_parent"].reshape(FORKS, P)
    child = samples["fork_child"].reshape(FORKS, P)
    child[:, 1:] = rows[:, :-1]


def only_the_first(samples: dict[str, Ints]) -> None:
    """One in ten children starts where its parent goes on, then goes its own way."""
    samples["fork_child"][:: 10 * P] = samples["fork_parent"][:: 10 * P]


def child_as_the_last(samples: dict[str, Ints]) -> None:
    samples["fork_child"] = np.tile(samples["fork_child"][:P], FORKS)


def siblings_start_alike(samples: dict[str, Ints]) -> None:
    samples["fork_child"][::P] = samples["fork_child"][0]


def parent_goes_back(samples: dict[str, Ints]) -> None:
    """Each fork puts it back to where it was after the last one."""
    samples["fork_parent"] = np.tile(samples["fork_parent"][:P], FORKS)


def parent_goes_back_by_a_call(samples: dict[str, Ints]) -> None:
    samples["fork_parent"][::P] = samples["fork_parent"][0]


FAULTS: dict[Callable[[dict[str, Ints]], None], str] = {
    skewed: "migration: positions are not as frequent as claimed: off by 2",
    constant_on_a_new_cpu: "hotplug: 1 of 4 tasks or CPUs repeat a sequence of",
    shared_by_two: "interrupts: 1 pairs of 4 tasks or CPUs share a sequence of",
    again_later: "migration: 1 of 4 tasks or CPUs repeat a sequence of",
    interleaved: "migration: 1 pairs of 2 tasks or CPUs share a sequence of",
    foreign: "hotplug: 1 positions are none that the kernel's definition allows",
    child_as_parent: "fork: a child's positions are its parent's in 100.00 %",
    child_a_call_behind: "fork: a child's positions are its parent's, shifted by -1",
    only_the_first: "fork: a child's first position is its parent's in 1",
    child_as_the_last: "fork: a child's positions are the last child's in",
    siblings_start_alike: "fork: a child's first position is the last child's in 100",
    parent_goes_back: "fork: a parent's positions are those after its last fork in 100",
    parent_goes_back_by_a_call: "fork: a parent's first position is those after its",
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_each_fault_is_noticed(fault: Callable[[dict[str, Ints]], None]) -> None:
    samples = sound()
    fault(samples)
    verdict = judge(samples)
    assert verdict.outcome is Outcome.VULNERABLE
    assert any(why.startswith(FAULTS[fault]) for why in verdict.reasons)


@pytest.mark.parametrize("missing", ["hotplug_position", "fork_child"])
def test_a_storm_that_did_not_take_place_is_unsupported(missing: str) -> None:
    samples = sound()
    del samples[missing]
    assert judge(samples).reasons == [f"{missing}: too few calls to judge, or none"]
    assert judge(samples).outcome is Outcome.UNSUPPORTED


def test_a_run_by_luck_is_no_sequence() -> None:
    """Six positions in a row do come twice."""
    samples = sound()
    drawn = samples["migration_position"]
    drawn[4_000:4_006] = drawn[100:106]
    assert judge(samples).outcome is Outcome.BLOCKED


def test_every_figure_is_documented() -> None:
    named = explained("storm")
    for figure in judge(sound()).figures:
        general = re.sub("^(migration|hotplug|interrupts)_", "<storm>_", figure)
        general = re.sub(r"parent_[+-]\d", "parent_<n>", general)
        general = re.sub("^fork_(.*)_(rate|p)$", r"fork_<who>_\2", general)
        assert general in named, figure


@pytest.mark.parametrize(
    ("times", "outcome"), [(1.0, Outcome.VULNERABLE), (0.8, Outcome.BLOCKED)]
)
def test_what_is_said_to_be_noticed_is(times: float, outcome: Outcome) -> None:
    """First positions of so many children are their parent's, of no others."""
    samples = sound()
    parent = samples["fork_parent"].reshape(FORKS, P)
    child = samples["fork_child"].reshape(FORKS, P)
    least = judge(samples).figures["noticeable"] / 64
    alike = np.arange(FORKS) < np.ceil(times * least * FORKS)
    child[:, 0] = np.where(alike, parent[:, 0], (parent[:, 0] + 16 - 400) % 1024 + 400)
    assert judge(samples).outcome is outcome
