"""Judge of the proof that it is the machine's random numbers that decide."""

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
from .measures import concluded_by, luck, noticeable, noticed_text, percent, repeated

_PERIODS = range(65)
"""Stock's difference comes again after 32 calls: it turns 32 bits by 5 in each call.

0: there is none.
"""
_ALIKE = 0.75
"""A tick just before some of a boot's children begin is no harm."""
_NOTHING = np.array([], dtype=np.int64)


def twins(
    samples: Arrays, definitions: Arrays, *, level: float, margin: float
) -> Verdict:
    """Compare two boots that are alike but for the machine's random numbers.

    ``samples["twin_position_1"]`` and ``_2`` are the positions of the same calls in
    the two boots, shape (calls,). If the kernel has states and keys, ``twin_state`` and
    ``twin_key`` are what the same children start from, and the keys of CPU 0 at the
    same moments. ``twin_known`` is what is no secret and was made the same, and
    ``twin_counter`` the counter before each child's positions.

    VULNERABLE if the positions of the boots are the same, or differ by the same bits as
    some calls before, ``margin`` times as often as by chance: then one boot, and a few
    positions of the other, tell the rest of them; if the boots have a state or a key in
    common; or if two states, or two keys, differ between the boots by the same bits or
    the same number. ``level`` is the chance of a false alarm over all. UNSUPPORTED if
    what is no secret differs, or if the boots sent not as much as each other.
    """
    claim = Claim.of(definitions["displacement"])
    one, other = _pair(samples, "position")
    calls = len(one)
    if calls < claim.least_calls:
        return unsupported(f"{calls} calls in each boot are too few to judge")
    if why := _unlike(samples):
        return unsupported(why)
    figures: dict[str, float] = {}
    finding = _alike(one, other, claim, margin, figures)
    landed, small = sentences([finding], level)
    landed += _shared(samples, "state", figures) + _shared(samples, "key", figures)
    drawn = " and ".join(
        f"{figures[f'{what}s']:.0f} {what}s"
        for what in ("state", "key")
        if figures[f"{what}s"]
    )
    least = noticeable(calls - _PERIODS[-1], claim.chance, level / finding.tries)
    figures["noticeable"] = max(margin, least)
    sound = f"{calls} calls of one boot do not tell those of its twin" + (
        f"; its {drawn} have nothing in common with the twin's" if drawn else ""
    )
    sound += f"; {noticed_text(figures['noticeable'])}"
    return concluded_by(landed, small, sound, figures)


def _pair(samples: Arrays, what: str) -> tuple[Ints, Ints]:
    one, other = (samples.get(f"twin_{what}_{n}", _NOTHING) for n in (1, 2))
    return one, other


def _unlike(samples: Arrays) -> str:
    """Say why a comparison would show nothing; empty: the boots are alike."""
    for what in ("position", "state", "key", "known", "counter"):
        one, other = _pair(samples, what)
        if len(one) != len(other):
            return f"the twins sent {len(one)} and {len(other)} values of {what}"
    known, counters = _pair(samples, "known"), _pair(samples, "counter")
    if not len(known[0]) or np.any(known[0] != known[1]):
        return "time and tasks were not the same in the twins"
    if not np.mean(counters[0] == counters[1]) >= _ALIKE:
        return "the counter was seldom the same in the twins"
    return ""


def _alike(
    one: Ints, other: Ints, claim: Claim, margin: float, figures: dict[str, float]
) -> Finding:
    """Guess the other boot's positions: as in this one, or as different as before."""
    apart = claim.numbers(one)[0] ^ claim.numbers(other)[0]
    hits = {
        n: np.count_nonzero(apart[n:] == (apart[:-n] if n else 0)) for n in _PERIODS
    }
    best = max(_PERIODS, key=lambda n: hits[n] / (len(apart) - n))
    tries = len(apart) - best
    rate, p = hits[best] / tries, luck(int(hits[best]), tries, claim.chance)
    figures |= {
        "calls": float(len(one)),
        "chance_rate": claim.chance,
        "best_period": float(best),
        "best_rate": rate,
        "best_p": p,
    }
    return Finding(
        f"its twin{_and_before(best)} a boot's position in "
        f"{percent(rate)} of calls (chance: {percent(claim.chance)})",
        p,
        rate / claim.chance,
        margin,
        len(_PERIODS),
    )


def _and_before(calls: int) -> str:
    return f" and what came {calls} calls before tell" if calls else " tells"


def _shared(samples: Arrays, what: str, figures: dict[str, float]) -> list[str]:
    """Say what words of the boots have in common: luck is out of the question."""
    one, other = _pair(samples, what)
    count = len(one)
    # The same word at the same place differs by nothing, which is in common already.
    differing = one != other
    apart = max(repeated((one ^ other)[differing]), repeated((one - other)[differing]))
    common = int(np.isin(one, other).sum())
    figures |= {
        f"{what}s": float(count),
        f"{what}s_common": float(common),
        f"{what}s_same_distance": float(apart),
    }
    said = []
    if common:
        said.append(f"{common} of {count} {what}s are also the twin's")
    if apart:
        said.append(f"{apart} of {count} {what}s differ from the twin's as others do")
    return said
