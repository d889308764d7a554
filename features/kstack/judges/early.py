"""Judge of the proof that programs which start before the rest have offsets too."""

import numpy as np
from scipy import special

from temper.stats.judging import (
    Arrays,
    Verdict,
    concluded,
    unsupported,
)

from .claim import Claim
from .measures import p_text
from .repeats import repeated


def early(samples: Arrays, definitions: Arrays, *, level: float) -> Verdict:
    """Judge the stack positions of helpers that ran before late_initcall.

    ``definitions["early_shape"]`` is [n]; ``samples["early_position"]`` are n
    positions of each helper process, one helper after the other.

    VULNERABLE if there are fewer distinct positions than luck explains at ``level``:
    in one helper (a constant), over all helpers, or among their first calls; or if
    two helpers have the same sequence. UNSUPPORTED if no helper ran, or if there are
    too few positions to tell a constant from luck.
    """
    positions = samples.get("early_position", np.array([], dtype=np.int64))
    n = int(definitions["early_shape"][0]) if "early_shape" in definitions else 0
    helpers = len(positions) // n if n else 0
    if not helpers:
        return unsupported("no helper ran before late_initcall")
    claim = Claim.of(definitions["displacement"])
    table = claim.numbers(positions[: helpers * n])[0].reshape(helpers, n)
    pairs = helpers * (helpers - 1) / 2
    # What a constant, or a sequence that comes twice, must be to be no luck.
    if max(helpers, pairs) * claim.chance ** (n - 1) >= level / 4:
        return unsupported(f"{n} positions of each helper are too few to judge")
    distinct = [len(np.unique(row)) for row in table]
    in_all = len(np.unique(table))
    first_distinct = len(np.unique(table[:, 0]))
    figures = {
        "helpers": float(helpers),
        "calls": float(table.size),
        "distinct_positions": float(in_all),
        "distinct_p": _few_p(in_all, table.size, claim),
        "first_distinct_positions": float(first_distinct),
        "first_p": _few_p(first_distinct, helpers, claim),
        "least_distinct_positions": float(min(distinct)),
        "least_p": min(1.0, helpers * _few_p(min(distinct), n, claim)),
        "same_sequences": float(len(repeated(list(table), n))),
        "noticeable_positions": float(_noticed(table.size, claim, level / 4)),
        "least_noticeable_positions": float(_noticed(n, claim, level / 4 / helpers)),
    }
    found = [
        (
            figures["least_p"] < level / 4,
            f"one helper had {min(distinct)} distinct positions in {n} calls",
        ),
        (
            figures["same_sequences"] > 0,
            f"{figures['same_sequences']:.0f} pairs of helpers had the same {n} "
            "positions in a row",
        ),
        (
            figures["first_p"] < level / 4,
            f"the first calls of {helpers} helpers had "
            f"{figures['first_distinct_positions']:.0f} distinct positions",
        ),
        (
            figures["distinct_p"] < level / 4,
            f"{table.size} calls had {in_all} distinct positions, "
            f"{p_text(figures['distinct_p'])}",
        ),
    ]
    sound = (
        f"{helpers} helpers before late_initcall: {in_all} distinct positions in "
        f"{table.size} calls, no sequence twice; "
        f"{figures['noticeable_positions']:.0f} would have been noticed, or "
        f"{figures['least_noticeable_positions']:.0f} in the {n} calls of one"
    )
    return concluded([said for wrong, said in found if wrong], [], sound, figures)


def _noticed(calls: int, claim: Claim, level: float) -> int:
    """Return the most distinct positions that are too few at ``level``; 0: none."""
    few = [d for d in range(1, claim.bins) if _few_p(d, calls, claim) < level]
    return max(few, default=0)


def _few_p(distinct: int, calls: int, claim: Claim) -> float:
    """Return (a bound of) the chance of so few distinct positions in so many calls.

    Some set of d positions must hold all calls: there are so many sets, and each
    holds a call with the share of its likeliest d.
    """
    share = float(np.sort(claim.shares)[-distinct:].sum())
    return float(min(1.0, special.comb(claim.bins, distinct) * share**calls))
