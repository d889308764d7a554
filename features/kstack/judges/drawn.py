"""What positions that several tasks, or CPUs, drew show by themselves."""

import numpy as np

from temper.stats.judging import Arrays, Finding, Ints

from .claim import Claim
from .measures import p_text, percent, uneven_margin, unevenness, uniform_p
from .repeats import repeated, sequence_length


def judge_drawn(
    name: str,
    samples: Arrays,
    claim: Claim,
    margin: float,
    level: float,
    figures: dict[str, float],
) -> tuple[Finding, list[str]]:
    """Judge the positions ``<name>_position``, drawn by the groups ``<name>_group``.

    Return whether they are as even as claimed, by half of ``margin`` - 1 (see
    ``unevenness``), and what no luck explains at ``level``: positions that cannot be,
    a group whose positions are as uneven, if it drew enough of them, and sequences that
    come twice, in two groups or again in one. ``figures`` receives the measures.
    """
    numbers, foreign = claim.numbers(samples[f"{name}_position"])
    groups = samples[f"{name}_group"]
    drawn = [numbers[groups == group] for group in np.unique(groups)]
    said = _sequences(name, drawn, claim, level / 2, figures)
    said += _uneven_groups(name, drawn, claim, margin, level / 2, figures)
    if foreign:
        said.append(
            f"{name}: {foreign} positions are none that the kernel's definition allows"
        )
    return _evenness(name, numbers, claim, margin, figures), said


def _evenness(
    name: str, numbers: Ints, claim: Claim, margin: float, figures: dict[str, float]
) -> Finding:
    counts = np.bincount(numbers, minlength=claim.bins)
    p, off = uniform_p(counts, claim.shares), unevenness(counts, claim.shares)
    figures[f"{name}_calls"] = float(len(numbers))
    figures[f"{name}_uniform_p"] = p
    figures[f"{name}_unevenness"] = off
    return Finding(
        f"{name}: positions are not as frequent as claimed: off by {percent(off)}, "
        f"chi-square {p_text(p)}",
        p,
        off,
        uneven_margin(margin),
    )


def _uneven_groups(
    name: str,
    drawn: list[Ints],
    claim: Claim,
    margin: float,
    level: float,
    figures: dict[str, float],
) -> list[str]:
    """Say how many groups have uneven positions; all of them together may not."""
    counts = [
        np.bincount(each, minlength=claim.bins)
        for each in drawn
        if len(each) >= claim.least_calls
    ]
    uneven = sum(
        uniform_p(each, claim.shares) < level / len(counts)
        and unevenness(each, claim.shares) >= uneven_margin(margin)
        for each in counts
    )
    figures[f"{name}_uneven"] = float(uneven)
    if not uneven:
        return []
    return [
        f"{name}: positions of {uneven} of {len(drawn)} tasks or CPUs are not as "
        "frequent as claimed"
    ]


def _sequences(
    name: str,
    drawn: list[Ints],
    claim: Claim,
    level: float,
    figures: dict[str, float],
) -> list[str]:
    """Say whether a run of positions comes twice: luck is out of the question."""
    length = sequence_length(sum(map(len, drawn)), claim.chance, level)
    pairs = repeated(drawn, length)
    figures[f"{name}_groups"] = float(len(drawn))
    figures[f"{name}_shared"] = float(sum(one != other for one, other in pairs))
    figures[f"{name}_repeating"] = float(sum(one == other for one, other in pairs))
    said = []
    if figures[f"{name}_shared"]:
        said.append(
            f"{name}: {figures[f'{name}_shared']:.0f} pairs of {len(drawn)} tasks or "
            f"CPUs share a sequence of {length} positions"
        )
    if figures[f"{name}_repeating"]:
        said.append(
            f"{name}: {figures[f'{name}_repeating']:.0f} of {len(drawn)} tasks or CPUs "
            f"repeat a sequence of {length} positions"
        )
    return said
