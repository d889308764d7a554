"""All linear approximations of three successive offsets at once.

For every sum of some of the 18 bits, the Walsh transform of the histogram of (offset,
next, next but one) has the difference between how often it is 0 and how often it is 1.
That covers biased bits, dependent pairs and dependent triples.
"""

import numpy as np
from candidates import Ints
from numpy.typing import NDArray

_BITS = 18
_OFFSET_BITS = 6


def largest(seen: Ints) -> float:
    """Return the largest correlation, in standard deviations of a random source.

    ``seen``: shape (instances, calls). For 2^18 sums a random source gives about 5.
    """
    triples = (seen[:, :-2] << 2 * _OFFSET_BITS) + (seen[:, 1:-1] << _OFFSET_BITS)
    counts = np.bincount((triples + seen[:, 2:]).ravel(), minlength=1 << _BITS)
    spectrum = walsh(counts.astype(np.float64))
    return float(np.max(np.abs(spectrum[1:])) / np.sqrt(counts.sum()))


def walsh(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the Walsh-Hadamard transform; the length is a power of two."""
    step = 1
    while step < len(values):
        pairs = values.reshape(-1, 2, step)
        sums, differences = pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]
        values = np.stack([sums, differences], axis=1).reshape(-1)
        step *= 2
    return values


def chi_square(seen: Ints, lag: int) -> float:
    """Return chi-square of pairs ``lag`` calls apart, in standard deviations."""
    pairs = (seen[:, :-lag] << _OFFSET_BITS) + seen[:, lag:]
    cells = 1 << 2 * _OFFSET_BITS
    counts = np.bincount(pairs.ravel(), minlength=cells)
    expected = counts.sum() / cells
    excess = float(np.sum((counts - expected) ** 2) / expected) - (cells - 1)
    return excess / float(np.sqrt(2 * (cells - 1)))
