"""Register writes that count as one instruction but cost more on hardware."""

from collections.abc import Sequence

from temper.analysis.models import ClassRow, Switches, SwitchRow
from temper.errors import InputError
from temper.record.plan import Switch


def switches(classes: Sequence[ClassRow], switch: Switch) -> Switches:
    """Return how often ``switch`` occurs, and what that costs by its model.

    Raises InputError if its class was not counted.
    """
    ours = [row for row in classes if row.instruction_class == switch.counted_as]
    if not ours:
        known = dict.fromkeys(row.instruction_class for row in classes)
        raise InputError(
            f"{switch.title}: no class of instructions is '{switch.counted_as}'",
            f"known: {', '.join(known)}",
        )
    return Switches(
        title=switch.title,
        counted_as=switch.counted_as,
        cycles=switch.cycles,
        source=switch.source,
        rows=[_row(row, switch.cycles) for row in ours],
    )


def _row(counted: ClassRow, cycles: tuple[float, float]) -> SwitchRow:
    # If there are fewer switches than before, the bounds change places.
    least, most = sorted(round(counted.delta * each, 6) for each in cycles)
    return SwitchRow(
        workload=counted.workload,
        variant=counted.variant,
        baseline_per_operation=counted.baseline_per_operation,
        delta=counted.delta,
        cycles=(least, most),
    )
