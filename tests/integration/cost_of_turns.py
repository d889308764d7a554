"""Measures what it costs that QEMU's threads take turns (docs/exact-counts.md).

    .tools/bin/uv run python tests/integration/cost_of_turns.py 10

boots kstack's baseline in so many pairs, one boot with turns and one without, in random
order, and prints the ratio of the CPU time that QEMU took. Nothing else runs meanwhile.
"""

import random
import resource
import sys
from dataclasses import replace
from statistics import median

from lab import boots_of, new_machine, planner, prepared

from temper.catalog import feature_named
from temper.run.prepare import Prepared

CALLS = 100_000


def cpu_seconds(whole: Prepared, *, in_turn: bool) -> float:
    """Boot once; return the CPU time of all that was started for it."""
    work = whole.plan.work.model_copy(update={"in_turn": in_turn})
    plan = whole.plan.model_copy(update={"work": work})
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    boots_of(replace(whole, plan=plan), new_machine(), "off")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(pairs: int) -> None:
    """Print the ratio of each pair, and their median."""
    whole = prepared(planner().price(feature_named("kstack"), CALLS, ("stock",)))
    ratios = []
    cpu_seconds(whole, in_turn=True)
    for _ in range(pairs):
        order = random.sample((True, False), 2)
        taken = {turn: cpu_seconds(whole, in_turn=turn) for turn in order}
        ratios.append(taken[True] / taken[False])
        print(f"{ratios[-1]:.3f}", flush=True)
    print(
        f"CPU time with turns / without: median {median(ratios):.3f}, "
        f"{min(ratios):.3f} to {max(ratios):.3f} in {pairs} pairs of boots"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]))
