"""The machine that boots a plan."""

from temper.arch import Arch, arch_named
from temper.kernel import Cache
from temper.machine import Limits, Machine, kind_named
from temper.progress import Progress
from temper.record.plan import Kind, RunPlan


def machine_for(plan: RunPlan, cache: Cache, progress: Progress) -> Machine:
    """Return the machine of this host that boots a plan, as patient as it takes."""
    arch = arch_named(plan.arch)
    return kind_named(plan.machine)(arch, cache, progress, _limits(plan, arch))


def check_cpus(machine: Machine, plan: RunPlan) -> None:
    """Raise InputError if a machine has not all CPU models of a plan."""
    for cpu in dict.fromkeys(variant.cpu for variant in plan.booted.values()):
        if cpu:
            machine.check_cpu(cpu)


def _limits(plan: RunPlan, arch: Arch) -> Limits:
    if plan.trial and plan.trial.seconds:
        return Limits.for_stress(plan.trial.seconds)
    if plan.kind is Kind.AUDIT:
        return Limits.for_attacks()
    if plan.kind is Kind.PROVE:
        return Limits.for_proofs()
    if plan.kind is Kind.MUTATE:
        return Limits.for_mutants()
    return Limits.for_calls(plan.calls, arch, len(plan.work.real_programs))
