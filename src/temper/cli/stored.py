"""Stored runs that go with another: the price with its proof, mutants with theirs."""

from collections.abc import Iterator
from contextlib import suppress

from temper.analysis.models import ProofReport, Strength
from temper.analysis.mutants import mutate_report
from temper.errors import StoreError
from temper.record.plan import Kind, RunPlan
from temper.report.as_json import Report
from temper.store import Store


def runs_like(store: Store, plan: RunPlan, kind: Kind) -> Iterator[int]:
    """Yield the finished runs of a kind on what a plan is about, newest first."""
    wanted = (kind, plan.feature, plan.arch, plan.setting, plan.cpu, plan.base)
    for run in store.runs():
        found = (run.kind, run.feature, run.arch, run.setting, run.cpu, run.base)
        if run.finished and run.current and not run.shard and found == wanted:
            yield run.id


def with_strength(report: Report, plan: RunPlan, store: Store) -> Report:
    """Add to a proof what its stored mutants say; return other reports as they are.

    Mutants count if they are of the same series, whatever has become of the proofs
    since; the run with the most of them does.
    """
    if not isinstance(report, ProofReport) or not report.proven:
        return report
    if report.proofs_left_out:
        return report
    found = list(_strengths(store, plan))
    most = max(found, key=lambda each: each.mutants, default=None)
    return report.model_copy(update={"strength": most})


def _strengths(store: Store, plan: RunPlan) -> Iterator[Strength]:
    series = _series(plan)
    for run in runs_like(store, plan, Kind.MUTATE):
        if series and _series(store.plan(run)) == series:
            # One that is damaged, or cannot be judged any more, says nothing.
            with suppress(StoreError):
                strength = mutate_report(store.load(run)).strength
                if strength:
                    yield strength


def _series(plan: RunPlan) -> str:
    return plan.variants[plan.hardened[0]].kernel.series
