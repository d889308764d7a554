"""Which runs can be compared with each other, and why others cannot."""

from collections.abc import Mapping

from temper.analysis.models import VariantInfo
from temper.errors import InputError
from temper.invocation import as_typed
from temper.record.boot import StoredRun
from temper.record.plan import Kind


def check_plans(before: StoredRun, after: StoredRun) -> None:
    """Raise InputError unless both runs are finished and of the same kind of thing."""
    for run in (before, after):
        if run.plan.kind not in (Kind.PRICE, Kind.PROVE, Kind.COMPARE):
            raise InputError(
                f"run {run.id} is {run.plan.kind} of {run.plan.feature}: only prices "
                "and proofs can be compared"
            )
        if run.finished is None:
            raise InputError(
                f"run {run.id} is not finished",
                f"finish it: {as_typed(run.plan.resuming(run.id))}",
            )
    for what, ours, theirs in (
        ("kind", before.plan.kind, after.plan.kind),
        ("feature", before.plan.feature, after.plan.feature),
        ("architecture", before.plan.arch, after.plan.arch),
        ("machine", before.plan.machine, after.plan.machine),
        ("baseline", before.plan.baseline, after.plan.baseline),
    ):
        _check_same(before.id, after.id, what, ours, theirs)


def check_machines(
    before: int,
    after: int,
    ours: Mapping[str, VariantInfo],
    theirs: Mapping[str, VariantInfo],
) -> None:
    """Raise InputError unless their variants ran on the same QEMU and CPU model.

    Counts depend on both. ``ours`` and ``theirs``: variant -> how it was run.
    """
    for name in (name for name in ours if name in theirs):
        us, them = ours[name], theirs[name]
        _check_same(before, after, "QEMU", us.machine_version, them.machine_version)
        _check_same(before, after, "CPU model", us.cpu_model, them.cpu_model)


def _check_same(before: int, after: int, what: str, ours: str, theirs: str) -> None:
    if ours != theirs:
        raise InputError(
            f"runs {before} and {after} cannot be compared: the {what} of {before} is "
            f"{ours}, that of {after} is {theirs}"
        )
