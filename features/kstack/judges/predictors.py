"""Simple predictors of a sequence: what an attacker without a theory tries first.

Each one looks at what came before a call and names the value it expects next. They
are the predictors of NIST SP 800-90B, section 6.3.7 to 6.3.10, reduced to what has
no state of its own: last value, lag, step, and successor tables (Markov) that are
learnt on one half of the sequence and used on the other. Linear relations, which are
learnt in the same way, are none of NIST's.
"""

import numpy as np
from numpy.typing import NDArray

from .gf2 import bits_of
from .relations import LEAKS, enough, learn, numbers

Sequence = NDArray[np.int64]
"""Bin numbers, from 0, in the order they were seen; shape (n,)."""

LAGS = range(1, 17)


Hits = NDArray[np.bool_]
"""For each guess of a predictor whether it was right; shape (guesses,)."""


def same_as_last(values: Sequence) -> Hits:
    """Guess that each value repeats the one before."""
    return np.asarray(values[1:] == values[:-1])


def predictor_hits(train: Sequence, test: Sequence, bins: int) -> dict[str, Hits]:
    """Return what each predictor gets right of ``test``, by its name.

    ``train`` came before ``test``; both hold numbers below ``bins``. Only the
    tables learn from ``train``, so nobody is flattered by his own data. For the
    first values of ``test`` a predictor that looks back makes no guess.
    """
    hits = {f"lag {lag}": np.asarray(test[lag:] == test[:-lag]) for lag in LAGS}
    hits["same step again"] = _steps_repeat(test, bins)
    hits["most common"] = np.asarray(test == _most_common(train, bins))
    hits["successor of one"] = _successors(train, test, bins, 1)
    hits["successor of two"] = _successors(train, test, bins, 2)
    bits = max(1, (bins - 1).bit_length())
    if min(len(train), len(test)) > LEAKS + 2 * enough(LEAKS, bits):
        hits["linear relations"] = _related(train, test, bits)
    return hits


def _steps_repeat(values: Sequence, bins: int) -> Hits:
    steps = np.diff(values) % bins
    return np.asarray(steps[1:] == steps[:-1])


def _most_common(values: Sequence, bins: int) -> int:
    return int(np.bincount(values, minlength=bins).argmax())


def _successors(train: Sequence, test: Sequence, bins: int, order: int) -> Hits:
    """Predict the most frequent successor of the last ``order`` values."""
    table = np.zeros((bins**order, bins), dtype=np.int64)
    np.add.at(table, (_contexts(train, bins, order), train[order:]), 1)
    expected = table.argmax(axis=1)[_contexts(test, bins, order)]
    return np.asarray(expected == test[order:])


def _contexts(values: Sequence, bins: int, order: int) -> Sequence:
    """Number the ``order`` values before each value, all but the first ones."""
    count = len(values) - order
    contexts = np.zeros(count, dtype=np.int64)
    for back in range(order):
        contexts = contexts * bins + values[back : back + count]
    return contexts


def _related(train: Sequence, test: Sequence, bits: int) -> Hits:
    """Predict each bit by the relation that held for it, if there was one."""
    found = learn(bits_of(train[np.newaxis], bits), LEAKS, 1)
    windows = np.lib.stride_tricks.sliding_window_view(test[:-1], LEAKS)
    expected = numbers(found.predict(bits_of(windows, bits)))
    return np.asarray(expected[:, 0] == test[LEAKS:])
