"""Judge of the proof that one task's positions do not tell another's: over GF(2).

The attack knows nothing of the generator, only that it may be linear: see relations.
"""

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
from .gf2 import bits_of
from .measures import concluded_by, luck, noticeable, noticed_text, percent
from .relations import LEAKS, enough, learn, numbers

_LEADS = 64
"""How many calls later the predicted one may be."""


def linear(
    samples: Arrays, definitions: Arrays, *, level: float, margin: float
) -> Verdict:
    """Judge whether the positions of one task tell the next ones of another.

    ``definitions["across_shape"]`` is [k, m]: in each round an attacker draws k
    positions, ``samples["attacker_position"]``, and after a few calls of nobody's
    interest a victim on the same CPU draws m, ``samples["victim_position"]``.

    In the first half of the rounds the attacker learns, from his own positions
    only, all affine relations over GF(2) between his last 40 and each of those up
    to 64 calls later. In the second half he predicts the victim's. How many calls
    lie between is not known to him: he tries each number, and the best one is
    charged for all. VULNERABLE if he is right ``margin`` times as often as chance
    and that is no luck, at ``level`` over all he tries.
    """
    claim = Claim.of(definitions["displacement"])
    k, m = definitions["across_shape"].tolist()
    attacker = samples.get("attacker_position", np.array([], dtype=np.int64))
    victim = samples.get("victim_position", np.array([], dtype=np.int64))
    rounds = min(len(attacker) // k, len(victim) // m)
    half = rounds // 2
    leaks = min(LEAKS, k // 3)
    leads = min(_LEADS, (k - leaks) // 2)
    equations = half * (k - leaks - leads)
    if leads <= m or equations < 2 * enough(leaks, claim.bits):
        return unsupported(f"{rounds} rounds of {k} and {m} calls are too few to judge")
    mine = claim.numbers(attacker[: rounds * k])[0].reshape(rounds, k)
    theirs = claim.numbers(victim[: rounds * m])[0].reshape(rounds, m)
    found = learn(bits_of(mine[:half], claim.bits), leaks, leads)
    predicted = numbers(found.predict(bits_of(mine[half:, -leaks:], claim.bits)))
    # Shape (gaps,): how often the victim's positions came so many calls later.
    hits = [
        int(np.count_nonzero(predicted[:, gap : gap + m] == theirs[half:]))
        for gap in range(leads - m + 1)
    ]
    gap = int(np.argmax(hits))
    tries = theirs[half:].size
    figures = {
        "rounds": float(rounds),
        "chance_rate": claim.chance,
        "hit_rate": hits[gap] / tries,
        "hit_p": luck(hits[gap], tries, claim.chance),
        "calls_between": float(gap),
        "relations_share": float(np.mean(found.holds)),
        "leaks_needed": float(_leaks_needed(mine[:half], claim.bits, leaks, leads)),
        "noticeable": max(margin, noticeable(tries, claim.chance, level / len(hits))),
    }
    return _verdict(figures, len(hits), level, margin)


def _verdict(
    figures: dict[str, float], gaps: int, level: float, margin: float
) -> Verdict:
    chance = f"(chance: {percent(figures['chance_rate'])})"
    needed = figures["leaks_needed"]
    how = f"{needed:.0f}" if needed else "the last"
    landed, small = sentences(
        [
            Finding(
                f"{how} of one task's positions predict "
                f"{percent(figures['hit_rate'])} of another's next positions {chance}",
                figures["hit_p"],
                figures["hit_rate"] / figures["chance_rate"],
                margin,
                gaps,
            )
        ],
        level,
    )
    sound = (
        f"no linear relation between positions helps to predict another task's: right "
        f"in {percent(figures['hit_rate'])} of calls at best {chance}; "
        f"{noticed_text(figures['noticeable'])}"
    )
    return concluded_by(landed, small, sound, figures)


def _leaks_needed(mine: Ints, bits: int, leaks: int, leads: int) -> int:
    """Return how few positions predict all bits of the next one; 0 if none do."""
    low, high = 1, leaks + 1
    while low < high:
        middle = (low + high) // 2
        if middle > leaks or learn(bits_of(mine, bits), middle, 1).holds.all():
            high = middle
        else:
            low = middle + 1
    return low if low <= leaks else 0
