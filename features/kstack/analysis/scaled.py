"""Multiply-and-fold with short words, for which exhaustive search is possible.

This measures properties that do not depend on the length of the word, so that they
carry over to 64 bits; the README says where they do.
"""

from dataclasses import dataclass

import numpy as np
from candidates import Words, fold, random_words
from numpy.typing import NDArray


def leaks_for_one(width: int, bits: int, random: np.random.Generator) -> int:
    """Return how many leaks of ``bits`` bits leave a single state and key.

    Tries all 2^(2 * width) pairs. It compares states after the last leak: pairs with
    the same key whose states have merged count as one.
    """
    every = np.arange(1 << width, dtype=np.uint64)
    states, keys = (grid.ravel() for grid in np.meshgrid(every, every))
    state, key = random_words(random, 1, width), random_words(random, 1, width)
    for leaks in range(1, 4 * width):
        state = fold(state, key, width)
        states = fold(states, keys, width)
        same = _middle(states, width, bits) == _middle(state, width, bits)
        states, keys = states[same], keys[same]
        if len(set(zip(states.tolist(), keys.tolist(), strict=True))) == 1:
            return leaks
    return 4 * width


def _middle(states: Words, width: int, bits: int) -> Words:
    return states >> np.uint64(width // 8) & np.uint64((1 << bits) - 1)


def preimages(width: int, key: int, xor_key: bool = True) -> NDArray[np.int64]:
    """Return for every state how many states the key maps to it."""
    every = np.arange(1 << width, dtype=np.uint64)
    after = fold(every, np.full_like(every, key), width, xor_key)
    return np.bincount(after.astype(np.int64), minlength=1 << width)


def fixed_by_every_key(width: int, xor_key: bool) -> list[int]:
    """Return the states that every nonzero key maps to themselves."""
    keys = np.arange(1, 1 << width, dtype=np.uint64)
    return [
        state
        for state in range(1 << width)
        if np.all(fold(np.full_like(keys, state), keys, width, xor_key) == state)
    ]


@dataclass
class Orbits:
    """Steps states together until each one repeats (Brent's method)."""

    state: Words
    key: Words
    width: int = 64
    xor_key: bool = True

    def __post_init__(self) -> None:
        self.steps = np.zeros(len(self.state), dtype=np.int64)
        """How many steps it took until a state was seen to repeat; 0: none has yet."""

    def run(self, limit: int) -> None:
        """Step at most ``limit`` times."""
        marked, power, since = self.state, 1, 0
        for step in range(1, limit + 1):
            self.state = fold(self.state, self.key, self.width, self.xor_key)
            self.steps[(self.state == marked) & (self.steps == 0)] = step
            since += 1
            if since == power:
                if self.steps.all():
                    return
                marked, power, since = self.state, 2 * power, 0


def share_that_repeats(
    divisor: int, keys: int, calls: int, xor_key: bool, random: np.random.Generator
) -> float:
    """Return the share of the 64-bit multiples of ``divisor`` that are weak keys.

    With a weak key, a random state repeats within ``calls``.
    """
    factor = random.integers(1, (1 << 64) // divisor, keys, dtype=np.uint64)
    orbits = Orbits(
        random_words(random, keys), factor * np.uint64(divisor), xor_key=xor_key
    )
    orbits.run(calls)
    return float(np.mean(orbits.steps > 0))


def calls_until_stuck(
    width: int,
    life: int,
    tasks: int,
    limit: int,
    xor_key: bool,
    random: np.random.Generator,
) -> tuple[float, float]:
    """Return the mean calls until a task's state is stuck, and the share of such tasks.

    Each task gets a new key every ``life`` calls; it is stuck if its state does not
    move during the lives of two keys. Other tasks count with ``limit`` calls.
    """
    state = random_words(random, tasks, width)
    still = np.zeros(tasks, dtype=np.int64)
    stuck = np.full(tasks, limit)
    for begin in range(0, limit, life):
        key = random_words(random, tasks, width)
        before = state
        moved = np.zeros(tasks, dtype=bool)
        for _ in range(life):
            state = fold(state, key, width, xor_key)
            moved |= state != before
        still = np.where(moved, 0, still + 1)
        stuck[(still == 2) & (stuck == limit)] = begin - life
        if np.all(still >= 2):
            break
    return float(stuck.mean()), float(np.mean(stuck < limit))
