"""Judge of the proof that a state that leaked once soon serves nobody."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np

from temper.stats.judging import (
    Arrays,
    Finding,
    Ints,
    Verdict,
    sentences,
    unsupported,
)

from .claim import Claim
from .measures import concluded_by, luck, noticeable, noticed_text, percent

# Scene -> where and when the task draws whose state was read, in words.
_SERVED = {
    "spinning": "after {bound} ms",
    "napping": "after {bound} ms between naps",
    "slept": "after {bound} ms after a long sleep",
    "thread": "after {bound} ms in a thread",
    "second_cpu": "after {bound} ms on CPU 1",
    "second_cpu_napping": "after {bound} ms on CPU 1 between naps",
    "online": "after {bound} ms on a CPU that came back",
    "hotplug": "after {bound} ms after the CPU went and came back",
    "suspended": "after {bound} ms after a suspend",
}
# Scene -> who else might draw what was read.
_FOREIGN = {
    "other_cpu": "on another CPU",
    "other_cpu_napping": "on another CPU between naps",
    "other_task": "of another task on the CPU",
}
_MUST_LAND = (
    *("spinning", "napping", "thread", "second_cpu", "second_cpu_napping"),
    "online",
)
"""Scenes that draw at once, in which the state that was read must serve at first."""


_NOTHING = np.array([], dtype=np.int64)


@dataclass(frozen=True)
class _Calls:
    """Calls whose positions were predicted, and how many rightly."""

    tries: int
    hits: int

    @classmethod
    def of(cls, scene: str, samples: Arrays, span: slice) -> Self:
        tries = samples.get(f"{scene}_calls", _NOTHING)[span]
        hits = samples.get(f"{scene}_hits", _NOTHING)[span]
        return cls(int(tries.sum()), int(hits.sum()))

    @property
    def rate(self) -> float:
        return self.hits / self.tries

    def finding(self, when: str, chance: float, margin: float) -> Finding:
        return Finding(
            f"the state that was read once predicts {percent(self.rate)} of calls "
            f"{when} (chance: {percent(chance)})",
            luck(self.hits, self.tries, chance),
            self.rate / chance,
            margin,
        )


def leak(
    samples: Arrays,
    definitions: Arrays,
    *,
    lifetime_ms: float,
    late_ms: float,
    level: float,
    margin: float,
) -> Verdict:
    """Judge how long an attacker lives on having read the whole state once.

    For each scene, ``<scene>_calls`` are the calls in each millisecond since he read
    it, by the CPU's counter, and ``<scene>_hits`` those of them that he predicted.
    ``definitions["leak_tick_us"]`` is [length of the kernel's tick], and
    ``leak_suspends`` is [1] where the kernel says that it can be suspended.

    He may live on it for ``lifetime_ms``, a tick, and ``late_ms``, by which the host
    may have delayed the tick. VULNERABLE if he does better than chance by ``margin``
    after that, or at any time with another CPU's state or for another task,
    significantly at ``level``. UNSUPPORTED if a scene is missing, but for
    ``suspended`` where there is no suspend, or if he does no better than chance even
    before: such an attack shows nothing.
    """
    claim = Claim.of(definitions["displacement"])
    (tick_us,) = definitions.get("leak_tick_us", (0,))
    bound = int(np.ceil(lifetime_ms + tick_us / 1000 + late_ms))
    (suspends,) = definitions.get("leak_suspends", (0,))
    scenes = {
        scene: where
        for scene, where in _SERVED.items()
        if scene != "suspended" or suspends
    }
    found = _calls(samples, scenes, bound)
    for name, calls in found.items():
        if calls.tries < claim.least_calls:
            return unsupported(
                f"{calls.tries} calls ({name.replace('_', ' ')}) are too few to judge: "
                f"{claim.least_calls} needed"
            )
    tested = {
        **{f"{scene}_after": where for scene, where in scenes.items()},
        **_FOREIGN,
    }
    findings = [
        found[name].finding(where.format(bound=bound), claim.chance, margin)
        for name, where in tested.items()
    ]
    landed, small = sentences(findings, level)
    if not landed and (idle := _shows_nothing(found, claim.chance, level, margin)):
        return unsupported(idle)
    smallest = max(
        noticeable(found[name].tries, claim.chance, level / len(tested))
        for name in tested
    )
    figures = {
        "bound_ms": float(bound),
        "chance_rate": claim.chance,
        "noticeable": max(margin, smallest),
        **_figures(found, claim.chance),
    }
    served = {scene: _served(scene, samples, claim.chance, level) for scene in scenes}
    figures |= {f"{scene}_served_ms": float(ms) for scene, ms in served.items()}
    sound = (
        f"the state that was read serves for {max(served.values())} ms at most, at "
        f"work, between naps, in a thread, after a sleep{_and_suspend(scenes)} and "
        "after hotplug, and never for another CPU or another task; "
        f"after {bound} ms {noticed_text(figures['noticeable'])}"
    )
    return concluded_by(landed, small, sound, figures)


def _shows_nothing(
    found: dict[str, _Calls], chance: float, level: float, margin: float
) -> str:
    """Return why the attack is none, if it does not serve where it must."""
    for scene in _MUST_LAND:
        calls = found[f"{scene}_before"]
        if not calls.finding("", chance, margin).landed(level):
            return (
                f"the state that was read predicts {percent(calls.rate)} of calls "
                f"right after ({scene.replace('_', ' ')}; chance: {percent(chance)}), "
                "so the attack shows nothing"
            )
    return ""


def _and_suspend(scenes: Collection[str]) -> str:
    return ", after a suspend" if "suspended" in scenes else ""


def _calls(samples: Arrays, scenes: Iterable[str], bound: int) -> dict[str, _Calls]:
    """Return the calls of each scene and span of time; of a missing scene, none."""
    early, late, ever = slice(bound), slice(bound, None), slice(None)
    spans = {
        **{f"{scene}_before": (scene, early) for scene in _MUST_LAND},
        **{f"{scene}_after": (scene, late) for scene in scenes},
        **{scene: (scene, ever) for scene in _FOREIGN},
    }
    return {
        name: _Calls.of(scene, samples, span) for name, (scene, span) in spans.items()
    }


def _figures(found: dict[str, _Calls], chance: float) -> dict[str, float]:
    figures = {}
    for name, calls in found.items():
        figures[f"{name}_calls"] = float(calls.tries)
        figures[f"{name}_rate"] = calls.rate
        figures[f"{name}_p"] = luck(calls.hits, calls.tries, chance)
    return figures


def _served(scene: str, samples: Arrays, chance: float, level: float) -> int:
    """Return until when, in milliseconds, he did better than chance."""
    calls: Ints = samples[f"{scene}_calls"]
    hits: Ints = samples[f"{scene}_hits"]
    (moments,) = np.nonzero(calls)
    better = [
        int(moment) + 1
        for moment in moments
        if luck(int(hits[moment]), int(calls[moment]), chance) < level / len(moments)
    ]
    return max(better, default=0)
