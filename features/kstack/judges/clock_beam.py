"""An attacker by the counter who follows the whole state of stock Linux for x86.

He holds many hypotheses of the 32 bits. At each call every one is spread over the
values that the counter may have had (what was read after the call, less a delay that
varies a little), and the six bits that show prune them, to 1 of 64 on average.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .predictors import Hits

Ints = NDArray[np.int64]

_WORD = 0xFFFFFFFF
_SHOWN = 0b111111 << 4
"""The bits of the state that are an offset."""
_DELAYS = 4096
"""The counter was read at most so much later than the kernel did."""
_WIDTHS = {
    1: range(-2, 3),
    4: range(-4, 5),
    8: range(-8, 9, 2),
    16: range(-16, 17, 8),
    32: range(-16, 17, 16),
}
"""By how much the delay may vary -> how far from the likeliest one its middle is."""
_HYPOTHESES = 1024
_TRIED = 150
"""Calls that a width is tried on."""
_FOLLOWED = 8_000
"""Calls that he is judged on: so many show 1.5 times chance."""


def beam_hits(offsets: Ints, after: Ints) -> Hits:
    """Return what he gets right, of as many calls of the second half as he can.

    ``offsets`` are numbers of 6 bits, ``after`` the low 32 bits of the counter after
    each call; shape (calls,). Delay and its variation are learnt on the first half.
    """
    half = len(offsets) // 2
    likely = _likely_delay(offsets[:half], after[:half])
    tried = {
        (likely + off, width): _Follower(likely + off, width)
        .follow(offsets[:_TRIED], after[:_TRIED])
        .mean()
        for width, offs in _WIDTHS.items()
        for off in offs
    }
    delay, width = max(tried, key=lambda each: tried[each])
    test = slice(half, half + _FOLLOWED)
    return _Follower(delay, width).follow(offsets[test], after[test])


def _likely_delay(offsets: Ints, after: Ints) -> int:
    """Return the delay under which the bits that show fit each other best.

    Bit 0 of an offset is bit 5 of the last one and bit 4 of the counter; bits 2 to 5
    are bits 0 to 3 of the sixth last and bits of the last six counters.
    """
    delays = np.arange(_DELAYS)[:, np.newaxis]
    calls = np.arange(6, min(len(offsets), 6 + _TRIED))
    counters = [(after[calls - back] - delays) & _WORD for back in range(1, 7)]
    misfits = ((counters[0] >> 4 ^ offsets[calls - 1] >> 5 ^ offsets[calls]) & 1).sum(
        axis=1
    )
    state = np.zeros_like(counters[0])
    for counter in reversed(counters):
        state = _turned(state) ^ counter
    for bit in range(2, 6):
        told = state >> (4 + bit) ^ offsets[calls - 6] >> (bit - 2)
        misfits = misfits + ((told ^ offsets[calls] >> bit) & 1).sum(axis=1)
    return int(misfits.argmin())


def _turned(state: Ints) -> Ints:
    return np.asarray((state >> 5 | state << 27) & _WORD)


@dataclass
class _Follower:
    """What he believes of the state at a moment."""

    delay: int
    width: int
    states: Ints = field(init=False)
    weights: NDArray[np.float64] = field(init=False)
    known: int = field(init=False)
    """Bits of the state that he has seen; the same in all hypotheses."""

    def __post_init__(self) -> None:
        self._forget()

    def follow(self, offsets: Ints, after: Ints) -> Hits:
        """Return for each call but the first whether he named its offset before."""
        spread = self.delay - self.width // 2 + np.arange(self.width)
        hits = np.zeros(len(offsets) - 1, dtype=bool)
        self._see(int(offsets[0]))
        for i in range(len(hits)):
            self._spread((after[i] - spread) & _WORD)
            hits[i] = self._guess() == offsets[i + 1]
            self._see(int(offsets[i + 1]))
        return hits

    def _forget(self) -> None:
        self.states = np.zeros(1, dtype=np.int64)
        self.weights = np.ones(1)
        self.known = 0

    def _spread(self, counters: Ints) -> None:
        self.states = (_turned(self.states)[:, np.newaxis] ^ counters).ravel()
        self.weights = np.repeat(self.weights, len(counters))
        self.known = (self.known >> 5 | self.known << 27) & _WORD

    def _guess(self) -> int:
        shown = (self.states & _SHOWN) >> 4
        return int(np.bincount(shown, weights=self.weights).argmax())

    def _see(self, offset: int) -> None:
        """Drop what contradicts the offset; bits seen for the first time are set."""
        known = self.known & _SHOWN
        fits = (self.states & known) == (offset << 4 & known)
        if not fits.any():
            self._forget()
            fits = np.ones(1, dtype=bool)
        states = self.states[fits] & ~_SHOWN | offset << 4
        self.known |= _SHOWN
        self.states, where = np.unique(states, return_inverse=True)
        self.weights = np.bincount(where, weights=self.weights[fits]).astype(float)
        if len(self.states) > _HYPOTHESES:
            best = np.argpartition(self.weights, -_HYPOTHESES)[-_HYPOTHESES:]
            self.states, self.weights = self.states[best], self.weights[best]
        self.weights /= self.weights.sum()
