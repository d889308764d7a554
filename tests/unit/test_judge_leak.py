"""How long a state that was read once serves."""

import re

import numpy as np
from generators import DEFINITION, Ints

from temper.extension import judge_named
from temper.paths import FEATURES
from temper.record.outcome import Outcome
from temper.stats.judging import Verdict

leak = judge_named(FEATURES / "kstack", "leak", ("lifetime_ms", "level", "margin"))

CALLS, LASTING = 10_000, 100
LIFETIME = 20


def judge(served: float, other: float = 0, rate: float = 1, jiffy: int = 1) -> Verdict:
    """Judge a leak that serves so many milliseconds, and so many on another CPU."""
    random = np.random.default_rng(1)
    ms = np.sort(random.integers(0, LASTING, CALLS)) // jiffy * jiffy
    by_luck = random.random((2, CALLS)) < 1 / 64

    def hits(which: int, until: float) -> Ints:
        right = (ms < until) & (random.random(CALLS) < rate) | by_luck[which]
        return np.asarray(right, dtype=np.int64)

    return leak(
        {
            "leak_hit": hits(0, served),
            "leak_ms": ms,
            "other_hit": hits(1, other),
            "other_ms": ms,
        },
        DEFINITION,
        lifetime_ms=LIFETIME,
        level=1e-6,
        margin=1.25,
    )


def test_a_key_that_is_drawn_anew_ends_it() -> None:
    verdict = judge(served=9)
    assert verdict.outcome is Outcome.BLOCKED
    assert verdict.figures["served_ms"] == 9
    assert "serves for 9 ms" in verdict.reasons[0]


def test_time_in_jiffies_is_rounded_against_the_kernel() -> None:
    verdict = judge(served=9, jiffy=10)
    assert verdict.outcome is Outcome.BLOCKED
    assert verdict.figures["served_ms"] == 10


def test_a_key_that_is_never_drawn_anew_is_vulnerable() -> None:
    verdict = judge(served=LASTING)
    assert verdict.outcome is Outcome.VULNERABLE
    assert verdict.reasons == [
        "the state that was read once predicts 100.00 % of calls after 20 ms "
        "(chance: 1.56 %)"
    ]


def test_a_key_that_is_drawn_too_late_is_vulnerable() -> None:
    assert judge(served=25).outcome is Outcome.VULNERABLE
    assert judge(served=LASTING, rate=0.02).outcome is not Outcome.BLOCKED


def test_a_key_that_all_cpus_share_is_vulnerable() -> None:
    verdict = judge(served=9, other=9)
    assert verdict.outcome is Outcome.VULNERABLE
    assert "on another CPU" in verdict.reasons[0]


def test_an_attack_that_never_works_shows_nothing() -> None:
    verdict = judge(served=0)
    assert verdict.outcome is Outcome.UNSUPPORTED
    assert verdict.reasons[0].endswith("so the attack shows nothing")


def test_nothing_read_is_unsupported() -> None:
    verdict = leak({}, DEFINITION, lifetime_ms=LIFETIME, level=1e-6, margin=1.25)
    assert verdict.outcome is Outcome.UNSUPPORTED
    assert verdict.reasons == ["0 calls (before) are too few to judge: 320 needed"]


def test_every_figure_is_documented() -> None:
    text = (FEATURES / "kstack" / "judges" / "README.md").read_text()
    table = text.partition("Figures of the judge `leak`")[2].partition("\n## ")[0]
    explained = set(re.findall(r"`([\w<>]+)`", table))
    for figure in judge(served=9).figures:
        general = re.sub("^(before|after|other_before|other_after)_", "<span>_", figure)
        assert general in explained, figure
