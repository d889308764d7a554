"""Judge of the proof that a state that leaked once soon serves nobody."""

import numpy as np

from temper.stats.judging import (
    Arrays,
    Finding,
    Ints,
    Verdict,
    concluded,
    sentences,
    unsupported,
)

from .claim import Claim
from .measures import luck, percent

_NOTHING = np.array([], dtype=np.int64)


def leak(
    samples: Arrays,
    definitions: Arrays,
    *,
    lifetime_ms: float,
    level: float,
    margin: float,
) -> Verdict:
    """Judge how long an attacker lives on having read the whole state once.

    ``samples["leak_hit"]`` is 1 for each call that he predicted from it, otherwise
    0; ``samples["leak_ms"]`` the milliseconds since he read it, as the timers of the
    CPU have them: in steps of a jiffy. ``other_hit`` and ``other_ms`` are of a task on
    another CPU, predicted with the first CPU's state.

    VULNERABLE if he does better than chance by ``margin`` after ``lifetime_ms``, or
    at any time on the other CPU, significantly at ``level``. UNSUPPORTED if he does
    no better than chance even before: such an attack shows nothing.
    """
    claim = Claim.of(definitions["displacement"])
    chance, least = claim.chance, claim.least_calls
    hit, ms = samples.get("leak_hit", _NOTHING), samples.get("leak_ms", _NOTHING)
    other = samples.get("other_hit", _NOTHING)
    other_ms = samples.get("other_ms", _NOTHING)
    spans = {
        "before": hit[ms < lifetime_ms],
        "after": hit[ms >= lifetime_ms],
        "other_before": other[other_ms < lifetime_ms],
        "other_after": other[other_ms >= lifetime_ms],
    }
    few = [name for name, hits in spans.items() if len(hits) < least]
    if few:
        return unsupported(
            f"{len(spans[few[0]])} calls ({few[0].replace('_', ' ')}) are too few to "
            f"judge: {least} needed"
        )
    figures = {"lifetime_ms": float(lifetime_ms), "chance_rate": chance}
    for name, hits in spans.items():
        figures[f"{name}_calls"] = float(len(hits))
        figures[f"{name}_rate"] = float(hits.mean())
        figures[f"{name}_p"] = luck(int(hits.sum()), len(hits), chance)
    figures["served_ms"] = _served(hit, ms, chance, level)
    before = _finding(figures, "before", "", margin)
    if not before.landed(level):
        return unsupported(
            f"the state that was read predicts {percent(figures['before_rate'])} of "
            f"calls right after (chance: {percent(chance)}), so the attack shows "
            "nothing"
        )
    landed, small = sentences(
        [
            _finding(figures, "after", f"after {lifetime_ms:g} ms", margin),
            _finding(figures, "other_before", "on another CPU", margin),
            _finding(
                figures,
                "other_after",
                f"on another CPU after {lifetime_ms:g} ms",
                margin,
            ),
        ],
        level,
    )
    sound = (
        f"the state that was read serves for {figures['served_ms']:g} ms at most and "
        f"predicts {percent(figures['before_rate'])} of calls before "
        f"{lifetime_ms:g} ms, then "
        f"{percent(figures['after_rate'])}, and never another CPU's "
        f"(chance: {percent(chance)})"
    )
    return concluded(landed, small, sound, figures)


def _finding(figures: dict[str, float], span: str, when: str, margin: float) -> Finding:
    rate, chance = figures[f"{span}_rate"], figures["chance_rate"]
    return Finding(
        f"the state that was read once predicts {percent(rate)} of calls {when} "
        f"(chance: {percent(chance)})",
        figures[f"{span}_p"],
        rate / chance,
        margin,
    )


def _served(hit: Ints, ms: Ints, chance: float, level: float) -> float:
    """Return until when, in milliseconds, he did better than chance."""
    moments = np.unique(ms)
    step = np.diff(moments).min()
    better = [
        moment + step
        for moment in moments
        if luck(int(hit[ms == moment].sum()), int((ms == moment).sum()), chance)
        < level / len(moments)
    ]
    return float(max(better, default=0))
