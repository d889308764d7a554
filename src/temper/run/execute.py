"""Carries out a plan, from its first boot or from where it was interrupted."""

from temper.errors import InfraError, InputError, Signalled
from temper.invocation import as_typed
from temper.progress import Progress
from temper.record.boot import Choice, StoredRun
from temper.record.plan import RunPlan, Slot
from temper.run.campaign import Campaign, intact
from temper.run.engine import Engine
from temper.signals import interruption
from temper.store import Store


def execute(
    engine: Engine,
    store: Store,
    progress: Progress,
    resume: int | None = None,
    choice: Choice | None = None,
) -> StoredRun:
    """Boot a plan's slots and return the run; ``resume``: the run to continue.

    ``choice``: which of them; None: all.

    Raises InputError if the run to resume cannot be resumed, StoreError if another
    process is making it, and InfraError and InterruptError with the command that
    resumes the run.
    """
    plan = engine.plan
    if resume is not None:
        check_resumable(store, plan, resume, choice)
    run = store.create_run(plan) if resume is None else resume
    with store.making(run):
        _boot_all(Campaign(run, engine, store, progress, choice))
    return store.load(run)


def _boot_all(campaign: Campaign) -> None:
    engine, run = campaign.engine, campaign.run
    try:
        campaign.boot_all(f"Booting {engine.plan.feature} for run {run}")
    except (KeyboardInterrupt, Signalled) as stop:
        raise interruption(stop, _way_on(engine, run)) from None
    except InfraError as error:
        error.hint = "; ".join(filter(None, (error.hint, _way_on(engine, run))))
        raise


def check_resumable(
    store: Store, plan: RunPlan, run: int, choice: Choice | None
) -> None:
    """Raise InputError or StoreError if ``run`` cannot be resumed by ``plan``.

    There is no such run, it has another plan, another process is making it, or it is
    finished. A finished run can be resumed only to repeat boots whose raw files are
    damaged, or to make those that ``choice`` chooses now.
    """
    _check_same(store.plan(run), plan, run)
    with store.making(run):
        pass
    if store.is_finished(run) and not _left(store, run, choice):
        report = as_typed(f"temper report {run}")
        merge = as_typed("temper merge FOLDER...")
        raise InputError(
            f"run {run} is finished: there is nothing to resume",
            merge if plan.shard else report,
        )


def _left(store: Store, run: int, choice: Choice | None) -> list[Slot]:
    """Return the boots that a finished run lacks."""
    missing = store.missing(run)
    if choice and missing and (stored := intact(store, run)):
        return choice(stored)
    return missing


def _way_on(engine: Engine, run: int) -> str:
    command = as_typed(engine.plan.resuming(run) + engine.option)
    return f"finished boots are kept; resume with: {command}"


def _check_same(begun: RunPlan, now: RunPlan, run: int) -> None:
    # Reports have the reasons of their day.
    if begun.without_reasons == now.without_reasons:
        return
    if (begun.kind, begun.feature) != (now.kind, now.feature):
        what = f"it was: {as_typed(begun.own_command)}"
    elif begun.own_command != now.own_command:
        what = f"its options were: {as_typed(begun.own_command)}"
    else:
        what = "kernel, programs, scripts or the feature's files have changed since"
    raise InputError(f"run {run} cannot be resumed: {what}", "start a new run")
