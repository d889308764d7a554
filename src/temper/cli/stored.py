"""Stored runs that go with another: the price with its proof, mutants with theirs."""

from collections.abc import Iterator
from contextlib import suppress

from temper.analysis.models import ProofReport, Strength
from temper.analysis.mutants import mutate_report
from temper.errors import InputError, StoreError
from temper.record.plan import Fate, Kind, RunPlan
from temper.report.as_json import Report
from temper.store import Store


def runs_like(store: Store, plan: RunPlan, kind: Kind) -> Iterator[int]:
    """Yield the finished runs of a kind on what a plan is about, newest first."""
    wanted = (kind, plan.feature, plan.arch, plan.setting, plan.cpu, plan.base)
    for run in store.runs():
        found = (run.kind, run.feature, run.arch, run.setting, run.cpu, run.base)
        if run.finished and run.current and not run.shard and found == wanted:
            yield run.id


def may_have_strength(report: Report) -> bool:
    """Whether mutants say more of a report: it is of all proofs, and they proved."""
    return (
        isinstance(report, ProofReport) and report.proven and not report.proofs_left_out
    )


def with_strength(report: Report, plan: RunPlan, store: Store) -> Report:
    """Add to a proof what its stored mutants say; return other reports as they are.

    Mutants count if they are of the kernel that the proof attacked, and were attacked
    by the same proofs in the same way; the run with the most of them does.
    """
    if not may_have_strength(report):
        return report
    largest_first = sorted(_mutated(store, plan), reverse=True)
    found = (_strength(store, run, variant) for _, run, variant in largest_first)
    strength = next(filter(None, found), None)
    return report.model_copy(update={"strength": strength})


def _mutated(store: Store, plan: RunPlan) -> Iterator[tuple[int, int, str]]:
    """Yield of each run of mutants: how many, its number, the variant they are of."""
    for run in runs_like(store, plan, Kind.MUTATE):
        # What is damaged, or was deleted meanwhile, says nothing.
        with suppress(StoreError, InputError):
            mutants = store.plan(run)
            if variant := _attacked(plan, mutants):
                fates = [each.fate for each in mutants.mutants.values()]
                yield fates.count(Fate.DISTINCT), run, variant


def _strength(store: Store, run: int, variant: str) -> Strength | None:
    with suppress(StoreError, InputError):
        found = mutate_report(store.load(run)).strength
        return found and found.model_copy(update={"variant": variant})
    return None


def _attacked(proof: RunPlan, mutants: RunPlan) -> str:
    """Return the hardened variant that mutants are of; empty: they are of none."""
    same = ("machine", "proofs", "judges")
    if any(getattr(proof, name) != getattr(mutants, name) for name in same):
        return ""
    whole = mutants.variants[mutants.hardened[0]]
    words = set(whole.cmdline.split())
    for name in proof.hardened:
        own = proof.variants[name]
        booted_alike = own.cpu == whole.cpu and set(own.cmdline.split()) <= words
        if own.kernel.key == mutants.attacked and booted_alike:
            return name
    return ""
