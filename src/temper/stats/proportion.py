"""How sure a share is that was found in a sample."""


def interval(hits: int, tries: int, level: float = 0.95) -> tuple[float, float]:
    """Return the confidence interval of a share by Clopper and Pearson (1934).

    It covers the share of all things, of which ``tries`` were drawn by chance and
    ``hits`` counted, with a probability of at least ``level``.
    """
    # Every command loads this module, and scipy takes a while.
    from scipy import special  # noqa: PLC0415

    tail = (1 - level) / 2
    misses = tries - hits
    low = special.betaincinv(hits, misses + 1, tail) if hits else 0.0
    high = special.betaincinv(hits + 1, misses, 1 - tail) if misses else 1.0
    return float(low), float(high)
