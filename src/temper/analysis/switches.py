"""Instructions on a register that count as one each but cost more on hardware."""

from collections.abc import Mapping, Sequence
from math import fsum

from temper.analysis.models import ClassRow, Switches, SwitchRow
from temper.errors import InputError
from temper.record.plan import Switch, Weighed

_Counted = Mapping[tuple[str, str], ClassRow]
"""Workload, variant -> instructions of one class."""


def switches(classes: Sequence[ClassRow], switch: Switch) -> Switches:
    """Return how often ``switch`` occurs, and what that costs by its model.

    Raises InputError if a class of its model was not counted.
    """
    weighed = (switch, *switch.others)
    counted = [_counted(classes, switch.title, each.counted_as) for each in weighed]
    return Switches(
        title=switch.title,
        counted_as=switch.counted_as,
        cycles=switch.cycles,
        source=switch.source,
        borrowed=switch.borrowed,
        others={each.counted_as: each.cycles for each in switch.others},
        rows=[
            _row(list(zip(weighed, (of[key] for of in counted), strict=True)))
            for key in counted[0]
        ],
    )


def _counted(classes: Sequence[ClassRow], title: str, name: str) -> _Counted:
    found = {
        (row.workload, row.variant): row
        for row in classes
        if row.instruction_class == name
    }
    if not found:
        known = dict.fromkeys(row.instruction_class for row in classes)
        raise InputError(
            f"{title}: no class of instructions is '{name}'",
            f"known: {', '.join(known)}",
        )
    return found


def _row(found: Sequence[tuple[Weighed, ClassRow]]) -> SwitchRow:
    (_, writes), *others = found
    # If there are fewer than before, the bounds change places.
    bounds = [
        sorted(row.delta * cycles for cycles in each.cycles) for each, row in found
    ]
    least, most = (round(fsum(ends), 6) for ends in zip(*bounds, strict=True))
    return SwitchRow(
        workload=writes.workload,
        variant=writes.variant,
        baseline_per_operation=writes.baseline_per_operation,
        delta=writes.delta,
        cycles=(least, most),
        others={
            each.counted_as: (row.baseline_per_operation, row.delta)
            for each, row in others
        },
    )
