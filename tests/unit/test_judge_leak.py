"""How long a state that was read once serves."""

import re

import numpy as np
import pytest
from generators import DEFINITION, Ints, explained

from temper.extension import judge_named
from temper.paths import FEATURES
from temper.record.outcome import Outcome
from temper.stats.judging import Arrays, Verdict

PARAMS = ("lifetime_ms", "late_ms", "level", "margin")
leak = judge_named(FEATURES / "kstack", "leak", PARAMS)

SERVED = (
    *("spinning", "napping", "thread", "second_cpu", "second_cpu_napping", "online"),
    *("slept", "hotplug"),
)
FOREIGN = ("other_cpu", "other_cpu_napping", "other_task")
AT_ONCE = SERVED[:6]
CALLS, LASTING = 40_000, 60
BOUND = 26


def scene(served: int, rate: float = 1, calls: int = CALLS) -> tuple[Ints, Ints]:
    """Return calls and hits of each millisecond: right for so many, then by luck."""
    random = np.random.default_rng(served)
    of_each = np.full(LASTING, calls // LASTING)
    chances = np.where(np.arange(LASTING) < served, rate, 1 / 64)
    return of_each, random.binomial(of_each, chances)


def samples(**served: int) -> dict[str, Ints]:
    """Return what all scenes bring; each as good as new, unless it is given."""
    usual = dict.fromkeys(AT_ONCE, 9) | dict.fromkeys(("slept", "hotplug"), 0)
    found: dict[str, Ints] = {}
    for name, until in (usual | dict.fromkeys(FOREIGN, 0) | served).items():
        found[f"{name}_calls"], found[f"{name}_hits"] = scene(until)
    return found


def judge(found: Arrays, suspends: bool = False) -> Verdict:
    """Judge what was found on a kernel with a tick of 10 ms."""
    kernel = {
        "leak_tick_us": np.array([10_000]),
        "leak_suspends": np.array([int(suspends)]),
    }
    return leak(
        found,
        {**DEFINITION, **kernel},
        lifetime_ms=10,
        late_ms=6,
        level=1e-6,
        margin=1.25,
    )


def test_a_key_that_is_drawn_anew_ends_it() -> None:
    verdict = judge(samples())
    assert verdict.outcome is Outcome.BLOCKED
    assert verdict.figures["spinning_served_ms"] == 9
    assert verdict.figures["bound_ms"] == BOUND
    assert "serves for 9 ms" in verdict.reasons[0]


def test_what_would_have_been_noticed_is_said_and_small() -> None:
    verdict = judge(samples())
    assert 1.25 <= verdict.figures["noticeable"] < 1.5
    assert f"{verdict.figures['noticeable']:.2f} times chance" in verdict.reasons[0]


@pytest.mark.parametrize("name", SERVED)
def test_a_key_that_serves_too_long_is_vulnerable_in_every_scene(name: str) -> None:
    verdict = judge(samples(**{name: 30}))
    assert verdict.outcome is Outcome.VULNERABLE
    (reason,) = verdict.reasons
    assert f"of calls after {BOUND} ms" in reason
    assert verdict.figures[f"{name}_served_ms"] == 30


@pytest.mark.parametrize("name", SERVED)
def test_a_key_may_serve_to_the_bound(name: str) -> None:
    assert judge(samples(**{name: BOUND})).outcome is Outcome.BLOCKED


@pytest.mark.parametrize("name", FOREIGN)
def test_a_state_that_serves_others_is_vulnerable(name: str) -> None:
    verdict = judge(samples(**{name: 9}))
    assert verdict.outcome is Outcome.VULNERABLE
    assert "another" in verdict.reasons[0]


def test_a_smaller_bias_is_noticed() -> None:
    found = samples()
    found["napping_calls"], found["napping_hits"] = scene(LASTING, rate=1.5 / 64)
    # It must land at first all the same, to be an attack at all.
    found["napping_hits"][:9] = found["napping_calls"][:9]
    assert judge(found).outcome is Outcome.VULNERABLE


@pytest.mark.parametrize("name", AT_ONCE)
def test_an_attack_that_never_works_shows_nothing(name: str) -> None:
    verdict = judge(samples(**{name: 0}))
    assert verdict.outcome is Outcome.UNSUPPORTED
    assert verdict.reasons[0].endswith("so the attack shows nothing")


def test_what_landed_counts_where_another_scene_shows_nothing() -> None:
    assert judge(samples(spinning=60, napping=0)).outcome is Outcome.VULNERABLE


def test_the_bound_is_longer_where_ticks_are() -> None:
    found = samples(spinning=BOUND)
    kernel = {**DEFINITION, "leak_tick_us": np.array([1_000])}
    params = {"lifetime_ms": 10, "late_ms": 6, "level": 1e-6, "margin": 1.25}
    verdict = leak(found, kernel, **params)
    assert verdict.figures["bound_ms"] == 17
    assert verdict.outcome is Outcome.VULNERABLE


def test_nothing_read_is_unsupported() -> None:
    verdict = judge({})
    assert verdict.outcome is Outcome.UNSUPPORTED
    assert verdict.reasons == [
        "0 calls (spinning before) are too few to judge: 320 needed"
    ]


@pytest.mark.parametrize("name", (*SERVED, *FOREIGN))
def test_a_missing_scene_is_unsupported(name: str) -> None:
    found = samples()
    del found[f"{name}_calls"]
    assert judge(found).outcome is Outcome.UNSUPPORTED


def test_a_suspend_counts_where_there_is_one() -> None:
    verdict = judge(samples(suspended=0), suspends=True)
    assert verdict.outcome is Outcome.BLOCKED
    assert "after a suspend" in verdict.reasons[0]
    assert "suspend" not in judge(samples()).reasons[0]
    late = judge(samples(suspended=30), suspends=True)
    assert late.outcome is Outcome.VULNERABLE
    assert f"of calls after {BOUND} ms after a suspend" in late.reasons[0]


def test_a_suspend_that_was_refused_is_unsupported() -> None:
    verdict = judge(samples(), suspends=True)
    assert verdict.outcome is Outcome.UNSUPPORTED
    assert verdict.reasons[0].startswith("0 calls (suspended after) are too few")


def test_every_figure_is_documented() -> None:
    named = explained("leak")
    names = (*SERVED, *FOREIGN, "suspended")
    scenes = "|".join(sorted(names, key=len, reverse=True))
    for figure in judge(samples(suspended=0), suspends=True).figures:
        general = re.sub(f"^({scenes})(_before|_after)?_", "<span>_", figure)
        assert general in named, figure
