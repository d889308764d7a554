"""Judge of the proof that a clock which user space can read does not tell positions.

Stock Linux for x86 keeps 32 bits of state and, at the exit of each system call, does
state = ror32(state, 5) ^ counter; bits 4 to 9 of it are the next call's offset. The
counter is what user space reads a moment later. Three attackers try; see there.
"""

from collections.abc import Mapping

import numpy as np

from temper.stats.judging import (
    Arrays,
    Finding,
    Verdict,
    sentences,
    unsupported,
)

from .claim import Claim
from .clock_beam import beam_hits
from .clock_tables import carry_hits, table_hits
from .measures import concluded_by, luck, noticeable, noticed_text, percent
from .predictors import Hits

_LEAST_CALLS = 2_000
"""The tables are learnt on half of them."""

_ATTACKERS = {
    "beam": "following the state and the counter",
    "carry": "following single bits of the counter",
    "table": "a table over the last position and the counter",
}


def clock(
    samples: Arrays, definitions: Arrays, *, level: float, margin: float
) -> Verdict:
    """Judge how often the next position is told from the counter of the CPU.

    ``samples["clock_position"]`` are positions of successive calls,
    ``clock_before`` and ``clock_after`` the low 32 bits of the counter that the
    caller read right before and after each. An attacker names position i + 1 from
    all that was seen up to call i. He learns on the first half of the calls, and
    what counts is how often he is right in the second.

    VULNERABLE if one of three attackers is right ``margin`` times as often as chance
    and that is no luck, at ``level`` over the three.
    """
    positions = samples.get("clock_position", np.array([], dtype=np.int64))
    after = samples.get("clock_after", np.array([], dtype=np.int64))
    if min(len(positions), len(after)) < _LEAST_CALLS:
        return unsupported(
            f"{len(positions)} calls are too few to judge: {_LEAST_CALLS} needed"
        )
    claim = Claim.of(definitions["displacement"])
    numbers, _ = claim.numbers(positions)
    # A larger offset is a lower position: the offset's own bits count.
    offsets = claim.bins - 1 - numbers
    hits: Mapping[str, Hits] = {
        "beam": beam_hits(offsets, after),
        "carry": carry_hits(offsets, after),
        "table": table_hits(offsets, after, claim.bins),
    }
    delays = after - samples["clock_before"] & 0xFFFFFFFF
    figures = {
        "calls": float(len(numbers)),
        "chance_rate": claim.chance,
        "counts_in_a_call": float(np.median(delays)),
    }
    findings = []
    for name, said in _ATTACKERS.items():
        rate = float(hits[name].mean())
        p = luck(int(hits[name].sum()), hits[name].size, claim.chance)
        figures |= {f"{name}_rate": rate, f"{name}_p": p}
        findings.append(
            Finding(
                f"who reads the CPU's counter after each call predicts "
                f"{percent(rate)} of next positions by {said} "
                f"(chance: {percent(claim.chance)})",
                p,
                rate / claim.chance,
                margin,
            )
        )
    landed, small = sentences(findings, level)
    fewest = min(each.size for each in hits.values())
    least = noticeable(fewest, claim.chance, level / len(findings))
    figures["noticeable"] = max(margin, least)
    best = max(figures[f"{name}_rate"] for name in _ATTACKERS)
    sound = (
        f"reading the CPU's counter around each call does not help: right in "
        f"{percent(best)} of calls at best (chance: {percent(claim.chance)}); "
        f"{noticed_text(figures['noticeable'])}"
    )
    return concluded_by(landed, small, sound, figures)
