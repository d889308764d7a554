"""Stored runs that go with another: the price with its proof, mutants with theirs."""

from collections.abc import Iterator
from contextlib import suppress

from temper.analysis.models import ProofReport, Strength
from temper.analysis.mutants import variant_mutated
from temper.cli.reports import judged_today
from temper.errors import InputError, StoreError
from temper.record.plan import Fate, Kind, RunPlan
from temper.report.as_json import Report
from temper.report.progress import on_stderr
from temper.store import Store


def runs_like(store: Store, plan: RunPlan, kind: Kind) -> Iterator[int]:
    """Yield the finished runs of a kind on what a plan is about, newest first."""
    wanted = (kind, plan.feature, plan.arch, plan.setting, plan.cpu, plan.base)
    for run in store.runs():
        found = (run.kind, run.feature, run.arch, run.setting, run.cpu, run.base)
        if run.finished and run.current and not run.shard and found == wanted:
            yield run.id


def with_strength(report: Report, plan: RunPlan, store: Store | None = None) -> Report:
    """Add to a proof what stored mutants say of it; return other reports as they are.

    It has to be of all proofs, and proven. Of several runs of mutants, the one with
    the most of them counts. A store or a run that cannot be read says nothing.
    ``store``: the one to look in, if it is open already.
    """
    if not isinstance(report, ProofReport) or not report.proven:
        return report
    if report.proofs_left_out:
        return report
    strength = None
    with suppress(StoreError):
        if store:
            strength = _largest(store, plan)
        else:
            with Store.open_to_read(progress=on_stderr()) as opened:
                strength = _largest(opened, plan)
    return report.model_copy(update={"strength": strength})


def _largest(store: Store, plan: RunPlan) -> Strength | None:
    largest_first = sorted(_mutated(store, plan), reverse=True)
    found = (_strength(store, run, variant) for _, run, variant in largest_first)
    return next(filter(None, found), None)


def _mutated(store: Store, plan: RunPlan) -> Iterator[tuple[int, int, str]]:
    """Yield of each run of mutants: how many, its number, the variant they are of."""
    for run in runs_like(store, plan, Kind.MUTATE):
        # What is damaged, or was deleted meanwhile, says nothing.
        with suppress(StoreError, InputError):
            mutants = store.plan(run)
            if variant := variant_mutated(mutants, plan):
                fates = [each.fate for each in mutants.mutants.values()]
                yield fates.count(Fate.DISTINCT), run, variant


def _strength(store: Store, run: int, variant: str) -> Strength | None:
    with suppress(StoreError, InputError):
        found = judged_today(store.load(run)).strength
        return found and found.model_copy(update={"variant": variant})
    return None
