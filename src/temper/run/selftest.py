"""Plans a run that tests the lab itself. It builds nothing."""

from temper.catalog import Feature
from temper.errors import InputError
from temper.record.plan import HostLoad, Kind, RunPlan, Slot
from temper.run.planner import Planner

LOAD = HostLoad(
    stressors=(
        *("--cpu", "0", "--switch", "1"),
        *("--hdd", "1", "--hdd-bytes", "256m"),
        *("--vm", "1", "--vm-bytes", "25%"),
    ),
    longest_stop=0.3,
    longest_run=2.0,
)
"""One CPU hog for each CPU (0 means that), a process that switches tasks, one that
writes files, and one that takes a quarter of the memory that is free."""


def plan_exact(
    planner: Planner, feature: Feature, pairs: int, calls: int, *, control: bool = False
) -> RunPlan:
    """Plan to boot a feature's baseline ``pairs`` times in pairs, on a busy host.

    The job is that of the feature's price. ``control``: leave out what makes QEMU's
    threads take turns, so that boots may differ. Raises InputError for too few pairs.
    """
    if pairs < 1:
        raise InputError(f"{pairs} pairs are too few")
    priced = planner.price(feature, calls)
    baseline = priced.baseline
    command = planner.command(
        *("selftest", "exact", feature.name, "--pairs", pairs, "--calls", calls),
        *(["--control"] if control else []),
    )
    fields = priced.model_copy(
        update={
            "kind": Kind.SELFTEST,
            "variants": {baseline: priced.variants[baseline]},
            "variants_left_out": (),
            "work": priced.work.model_copy(update={"in_turn": not control}),
            "load": LOAD,
            "slots": tuple(Slot(variant=baseline, repeat=n) for n in range(2 * pairs)),
            "command": command,
        }
    )
    # A copy is not validated.
    return RunPlan.model_validate(fields.model_dump())
