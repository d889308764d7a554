"""Judge of the proof that nothing that happens to a task spoils its positions."""

import numpy as np

from temper.stats.judging import (
    Arrays,
    Finding,
    Ints,
    Verdict,
    sentences,
    unsupported,
)

from .claim import Claim
from .drawn import judge_drawn
from .measures import (
    concluded_by,
    luck,
    noticeable,
    noticeable_rate,
    noticed_text,
    percent,
)

STORMS = ("migration", "hotplug", "interrupts")
_SHIFTS = range(-2, 3)
"""A child may be so many calls ahead of its parent, or behind."""
_WHOSE = {
    "parent": ("a child's", "its parent's"),
    "sibling": ("a child's", "the last child's"),
    "again": ("a parent's", "those after its last fork"),
}


def storm(
    samples: Arrays, definitions: Arrays, *, level: float, margin: float
) -> Verdict:
    """Judge positions drawn while tasks migrate, CPUs go, interrupts come, tasks fork.

    For each storm of STORMS, ``<storm>_position`` are positions and ``<storm>_group``
    says which task or CPU drew each. ``fork_parent`` and ``fork_child`` are, for each
    fork, p positions of the parent after it and the first p of the child;
    ``definitions["fork_shape"]`` is [p].

    VULNERABLE if positions of a storm are less even than claimed, by half of
    ``margin`` - 1 (see ``unevenness``) and significantly, or those of a task or CPU
    alone; if a sequence comes twice,
    in two groups or again in one; or if a child's positions are its parent's or the
    last child's, or a parent's those after its last fork, ``margin`` times as often as
    by chance. ``level`` is the chance of a false alarm over all. UNSUPPORTED if a storm
    did not take place.
    """
    claim = Claim.of(definitions["displacement"])
    wanted = [f"{name}_position" for name in STORMS] + ["fork_parent", "fork_child"]
    for name in wanted:
        if len(samples.get(name, ())) < claim.least_calls:
            return unsupported(f"{name}: too few calls to judge, or none")
    figures: dict[str, float] = {}
    findings, twice = [], []
    for name in STORMS:
        finding, said = judge_drawn(
            name, samples, claim, margin, level / 2 / len(STORMS), figures
        )
        findings.append(finding)
        twice += said
    findings += _forks(
        samples, int(definitions["fork_shape"][0]), claim, margin, figures
    )
    landed, small = sentences(findings, level / 2)
    each = level / 2 / len(findings)
    drawn = [int(figures[f"{name}_calls"]) for name in STORMS]
    figures["noticeable"] = max(
        margin,
        noticeable(int(figures["forks"]) - 1, claim.chance, each),
        noticeable_rate(min(drawn), claim.bins, each),
    )
    sound = (
        f"{sum(drawn)} calls in storms of {', '.join(STORMS)}: as even as claimed, no "
        f"sequence twice; {figures['forks']:.0f} forks: no child repeats its parent "
        f"or the last child, and no parent itself: "
        f"{noticed_text(figures['noticeable'])}"
    )
    return concluded_by([*twice, *landed], small, sound, figures)


def _forks(
    samples: Arrays, p: int, claim: Claim, margin: float, figures: dict[str, float]
) -> list[Finding]:
    """Compare each child with its parent and with the child before it."""
    forks = min(len(samples["fork_parent"]), len(samples["fork_child"])) // p
    parent = claim.numbers(samples["fork_parent"][: forks * p])[0].reshape(forks, p)
    child = claim.numbers(samples["fork_child"][: forks * p])[0].reshape(forks, p)
    figures["forks"] = float(forks)
    tests = {
        f"parent_{shift:+d}" if shift else "parent": _overlap(parent, child, shift)
        for shift in _SHIFTS
    }
    tests["parent_first"] = (parent[:, 0], child[:, 0])
    tests["again"] = (parent[:-1], parent[1:])
    tests["again_first"] = (parent[:-1, 0], parent[1:, 0])
    tests["sibling"] = (child[:-1], child[1:])
    tests["sibling_first"] = (child[:-1, 0], child[1:, 0])
    return [
        _sameness(name, one, other, claim, margin, figures)
        for name, (one, other) in tests.items()
    ]


def _overlap(parent: Ints, child: Ints, shift: int) -> tuple[Ints, Ints]:
    """Put call i of the child beside call i + ``shift`` of the parent."""
    width = parent.shape[1] - abs(shift)
    ahead, behind = max(0, shift), max(0, -shift)
    return parent[:, ahead : ahead + width], child[:, behind : behind + width]


def _sameness(
    name: str,
    one: Ints,
    other: Ints,
    claim: Claim,
    margin: float,
    figures: dict[str, float],
) -> Finding:
    hits, tries = int(np.count_nonzero(one == other)), one.size
    rate = hits / tries if tries else 0.0
    p = luck(hits, tries, claim.chance)
    figures[f"fork_{name}_rate"] = rate
    figures[f"fork_{name}_p"] = p
    whose, _, which = name.partition("_")
    who, what = _WHOSE[whose]
    if which not in ("", "first"):
        what += f", shifted by {which},"
    which = "first position is" if which == "first" else "positions are"
    return Finding(
        f"fork: {who} {which} {what} in {percent(rate)} of calls "
        f"(chance: {percent(claim.chance)})",
        p,
        rate / claim.chance,
        margin,
    )
