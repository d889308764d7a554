"""Judge of the proof that one task's positions do not tell another's: over GF(2).

The attack knows nothing of the generator, only that it may be linear: every bit of
a later position is the exclusive or of some bits of the last positions, and
perhaps 1. Which ones, Gaussian elimination finds in the attacker's own leaks.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from temper.stats.judging import (
    Arrays,
    Finding,
    Ints,
    Verdict,
    sentences,
    unsupported,
)

from .claim import Claim
from .gf2 import Bits, bits_of, solve, with_one
from .measures import concluded_by, luck, noticeable, noticed_text, percent

_LEAKS = 40
"""Positions that a relation may look back at."""
_LEADS = 64
"""How many calls later the predicted one may be."""
_SPARE = 64
"""Equations more than unknowns: a wrong relation fits them by luck 1 in 2 ** 64."""
_TRIES = 4
"""Another task's call in between spoils equations; another part may be clean."""
_CHECKED = 2_000
"""Windows that a relation is checked on."""
_HOLDS = 0.75
"""Of them it must hold in so many: by luck it does in half."""


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
    leaks = min(_LEAKS, k // 3)
    leads = min(_LEADS, (k - leaks) // 2)
    equations = half * (k - leaks - leads)
    if leads <= m or equations < 2 * (leaks * claim.bits + _SPARE):
        return unsupported(f"{rounds} rounds of {k} and {m} calls are too few to judge")
    mine = claim.numbers(attacker[: rounds * k])[0].reshape(rounds, k)
    theirs = claim.numbers(victim[: rounds * m])[0].reshape(rounds, m)
    found = _learn(bits_of(mine[:half], claim.bits), leaks, leads)
    predicted = _numbers(found.predict(bits_of(mine[half:, -leaks:], claim.bits)))
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


@dataclass(frozen=True)
class _Relations:
    """What was learnt of the bits of later positions."""

    masks: Bits
    """Which bits of a window, and of 1, each is the sum of; (leaks * bits + 1, n)."""
    holds: NDArray[np.bool_]
    """Which relations held where they were checked; shape (leads, bits)."""

    def predict(self, window: Bits) -> Bits:
        """Return the later bits for windows; (n, leaks, bits) -> (n, leads, bits)."""
        flat = with_one(window.reshape(len(window), -1))
        # In float32 the sums are exact, and the product is one of a library.
        sums = flat.astype(np.float32) @ self.masks.astype(np.float32)
        return (
            (sums.astype(np.int64) & 1).astype(np.uint8).reshape(-1, *self.holds.shape)
        )


def _learn(rounds: Bits, leaks: int, leads: int) -> _Relations:
    """Learn from the attacker's bits; ``rounds`` has shape (rounds, k, bits).

    Of several tries each bit keeps the relation that holds most often elsewhere.
    """
    windows, later = _windows(rounds, leaks, leads)
    enough = windows.shape[1] + _SPARE
    checked = np.linspace(0, len(windows) - 1, _CHECKED).astype(int)
    shape = (leads, rounds.shape[2])
    masks = np.zeros((windows.shape[1], later.shape[1]), dtype=np.uint8)
    best = np.zeros(later.shape[1])
    for start in np.linspace(0, len(windows) - enough, _TRIES).astype(int):
        tried = _Relations(
            solve(windows[start : start + enough], later[start : start + enough]),
            np.zeros(shape, dtype=bool),
        )
        guesses = tried.predict(windows[checked, :-1]).reshape(len(checked), -1)
        right = np.mean(guesses == later[checked], axis=0)
        better = right > best
        masks[:, better], best[better] = tried.masks[:, better], right[better]
    return _Relations(masks, (best >= _HOLDS).reshape(shape))


def _windows(rounds: Bits, leaks: int, leads: int) -> tuple[Bits, Bits]:
    """Return the bits of each window and 1, and those of the positions after it."""
    count = rounds.shape[1] - leaks - leads + 1
    places = np.arange(count)[:, np.newaxis]
    before = rounds[:, places + np.arange(leaks)]
    after = rounds[:, places + leaks + np.arange(leads)]
    flat = before.reshape(len(rounds) * count, -1)
    return with_one(flat), after.reshape(len(rounds) * count, -1)


def _leaks_needed(mine: Ints, bits: int, leaks: int, leads: int) -> int:
    """Return how few positions predict all bits of the next one; 0 if none do."""
    low, high = 1, leaks + 1
    while low < high:
        middle = (low + high) // 2
        if middle > leaks or _learn(bits_of(mine, bits), middle, 1).holds.all():
            high = middle
        else:
            low = middle + 1
    return low if low <= leaks else 0


def _numbers(bits: Bits) -> Ints:
    weights = 1 << np.arange(bits.shape[-1], dtype=np.int64)
    return np.asarray(bits.astype(np.int64) @ weights)
