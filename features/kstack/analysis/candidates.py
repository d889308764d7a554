"""The candidates for a generator of stack offsets, many at a time.

A generator's states are an array with one entry per instance; all step together.
Offsets are numbers from 0 to 63: bits 4 to 9 of the drawn word.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]
Draw = Callable[[], Words]

_HALF = np.uint64(32)
_LOW_HALF = np.uint64(0xFFFFFFFF)
_INCREMENT = np.uint64(0x9E3779B97F4A7C15)
TAUSWORTHE = (
    (0xFFFFFFFE, 18, 13, 6),
    (0xFFFFFFF8, 2, 27, 2),
    (0xFFFFFFF0, 7, 21, 13),
    (0xFFFFFF80, 13, 12, 3),
)
"""Mask, left, right, shift of each word of prandom_u32_state()."""


def product(a: Words, b: Words, width: int = 64) -> tuple[Words, Words]:
    """Return the lower and the upper half of a * b, each of ``width`` bits."""
    if width <= 32:
        whole = a * b
        return whole & np.uint64((1 << width) - 1), whole >> np.uint64(width)
    a_low, a_high = a & _LOW_HALF, a >> _HALF
    b_low, b_high = b & _LOW_HALF, b >> _HALF
    low = a_low * b_low
    middle = a_high * b_low + (low >> _HALF)
    other = a_low * b_high + (middle & _LOW_HALF)
    high = a_high * b_high + (middle >> _HALF) + (other >> _HALF)
    return (other << _HALF) | (low & _LOW_HALF), high


def fold(state: Words, key: Words, width: int = 64, xor_key: bool = True) -> Words:
    """Return the next state of the multiply-and-fold generator.

    It is the XOR of both halves of state * key and, if ``xor_key``, of the key.
    """
    low, high = product(state, key, width)
    return low ^ high ^ key if xor_key else low ^ high


def random_words(
    random: np.random.Generator, count: int | tuple[int, ...], width: int = 64
) -> Words:
    """Draw nonzero words of ``width`` bits."""
    return random.integers(1, 1 << width, count, dtype=np.uint64)


def offsets(drawn: Words) -> Ints:
    """Return the six bits of each word that move the stack."""
    return (drawn >> np.uint64(4) & np.uint64(63)).astype(np.int64)


@dataclass
class Folded:
    """Multiplies the task's state by the CPU's key, folds the product, xors the key."""

    state: Words
    key: Words

    def draw(self) -> Words:
        """Step all instances."""
        self.state = fold(self.state, self.key)
        return self.state


@dataclass
class Counter:
    """Multiplies a counter by a key and folds the product."""

    state: Words
    key: Words

    def draw(self) -> Words:
        """Step all instances."""
        self.state = self.state + _INCREMENT
        low, high = product(self.state, self.key)
        return low ^ high


@dataclass
class Lfsr:
    """Steps four shift registers and xors them: prandom_u32_state()."""

    state: Words
    """Shape (4, instances); 32 bits each."""

    def draw(self) -> Words:
        """Step all instances."""
        word32 = np.uint64(0xFFFFFFFF)
        self.state = np.array(
            [
                (word & np.uint64(mask)) << np.uint64(left) & word32
                ^ ((word << np.uint64(shift) & word32) ^ word) >> np.uint64(right)
                for word, (mask, left, right, shift) in zip(
                    self.state, TAUSWORTHE, strict=True
                )
            ]
        )
        return np.asarray(np.bitwise_xor.reduce(self.state, axis=0))


def leak(draw: Draw, count: int) -> Ints:
    """Return ``count`` offsets of each instance; shape (instances, count)."""
    return np.stack([offsets(draw()) for _ in range(count)], axis=1)
