"""Linear relations between positions, over GF(2).

Every bit of a later position may be the exclusive or of some bits of the last ones, and
perhaps 1. Which ones, Gaussian elimination finds in the positions themselves.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from temper.stats.judging import Ints

from .gf2 import Bits, solve, with_one

LEAKS = 40
"""Positions that a relation may look back at."""
_SPARE = 64
"""Equations more than unknowns: a wrong relation fits them by luck 1 in 2 ** 64."""
_TRIES = 4
"""Another task's call in between spoils equations; another part may be clean."""
_CHECKED = 2_000
"""Windows that a relation is checked on."""
_HOLDS = 0.75
"""Of them it must hold in so many: by luck it does in half."""


def enough(leaks: int, bits: int) -> int:
    """Return how many windows of ``leaks`` positions tell a relation from luck."""
    return leaks * bits + _SPARE


@dataclass(frozen=True)
class Relations:
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


def learn(rounds: Bits, leaks: int, leads: int) -> Relations:
    """Learn from the attacker's bits; ``rounds`` has shape (rounds, k, bits).

    Of several tries each bit keeps the relation that holds most often elsewhere.
    """
    windows, later = _windows(rounds, leaks, leads)
    size = enough(leaks, rounds.shape[2]) + 1
    checked = np.linspace(0, len(windows) - 1, _CHECKED).astype(int)
    shape = (leads, rounds.shape[2])
    masks = np.zeros((windows.shape[1], later.shape[1]), dtype=np.uint8)
    best = np.zeros(later.shape[1])
    for start in np.linspace(0, len(windows) - size, _TRIES).astype(int):
        tried = Relations(
            solve(windows[start : start + size], later[start : start + size]),
            np.zeros(shape, dtype=bool),
        )
        guesses = tried.predict(windows[checked, :-1]).reshape(len(checked), -1)
        right = np.mean(guesses == later[checked], axis=0)
        better = right > best
        masks[:, better], best[better] = tried.masks[:, better], right[better]
    return Relations(masks, (best >= _HOLDS).reshape(shape))


def _windows(rounds: Bits, leaks: int, leads: int) -> tuple[Bits, Bits]:
    """Return the bits of each window and 1, and those of the positions after it."""
    count = rounds.shape[1] - leaks - leads + 1
    places = np.arange(count)[:, np.newaxis]
    before = rounds[:, places + np.arange(leaks)]
    after = rounds[:, places + leaks + np.arange(leads)]
    flat = before.reshape(len(rounds) * count, -1)
    return with_one(flat), after.reshape(len(rounds) * count, -1)


def numbers(bits: Bits) -> Ints:
    """Return the numbers of which these are the bits; (..., bits) -> (...)."""
    weights = 1 << np.arange(bits.shape[-1], dtype=np.int64)
    return np.asarray(bits.astype(np.int64) @ weights)
