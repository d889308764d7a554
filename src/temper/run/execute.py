"""Carries out a plan, from its first boot or from where it was interrupted."""

from temper.errors import InfraError, InputError, InterruptError
from temper.invocation import as_typed
from temper.machine import Machine
from temper.progress import Progress
from temper.record.boot import StoredRun
from temper.record.plan import RunPlan
from temper.run.campaign import Campaign
from temper.run.prepare import Prepared
from temper.store import Store


def execute(
    prepared: Prepared,
    machine: Machine,
    store: Store,
    progress: Progress,
    resume: int | None = None,
) -> StoredRun:
    """Boot all slots of a plan and return the run; ``resume``: the run to continue.

    Raises InputError if the run to resume has another plan, and InfraError and
    InterruptError with the command that resumes the run.
    """
    plan = prepared.plan
    run = store.create_run(plan) if resume is None else resume
    if resume is not None:
        _check_same(store.plan(run), plan, run)
    campaign = Campaign(run, plan, prepared.setups, machine, store, progress)
    title = f"Booting {plan.feature} for run {run}"
    try:
        campaign.boot_all(title)
    except KeyboardInterrupt:
        raise InterruptError("interrupted", _way_on(plan, run)) from None
    except InfraError as error:
        error.hint = "; ".join(filter(None, (error.hint, _way_on(plan, run))))
        raise
    return store.load(run)


def _way_on(plan: RunPlan, run: int) -> str:
    way = as_typed(f"{plan.command} --resume {run}")
    return f"finished boots are kept; resume with: {way}"


def _check_same(begun: RunPlan, now: RunPlan, run: int) -> None:
    if begun == now:
        return
    if (begun.kind, begun.feature) != (now.kind, now.feature):
        what = f"it was: {as_typed(begun.command)}"
    elif begun.command != now.command:
        what = f"its options were: {as_typed(begun.command)}"
    else:
        what = "kernel, programs, scripts or feature.toml have changed since"
    raise InputError(f"run {run} cannot be resumed: {what}", "start a new run")
