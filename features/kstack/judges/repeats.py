"""Sequences that come twice: in two tasks, on two CPUs, or again later."""

from math import ceil, log

import numpy as np

from temper.stats.judging import Ints

_LEAST_LENGTH = 8
"""Positions in a row that are called a sequence, at least."""


def sequence_length(calls: int, chance: float, level: float) -> int:
    """Return how many positions in a row do not come twice by luck.

    At ``level``, among all pairs of places in ``calls`` positions of which each is
    the same as another with ``chance``.
    """
    pairs = calls * calls / 2
    return max(_LEAST_LENGTH, ceil(log(pairs / level) / -log(chance)))


def repeated(groups: list[Ints], length: int) -> list[tuple[int, int]]:
    """Return pairs of groups that share a sequence of ``length``, each pair once.

    A group is paired with itself where a sequence comes again without overlap. Numbers
    are those of the list; at most one pair is returned for each sequence.
    """
    first: dict[bytes, tuple[int, int]] = {}
    found = set()
    for number, group in enumerate(groups):
        values = group.astype(np.int16)
        for place in range(len(values) - length + 1):
            sequence = values[place : place + length].tobytes()
            other, where = first.setdefault(sequence, (number, place))
            if other != number or place - where >= length:
                found.add((other, number))
    return sorted(found)
