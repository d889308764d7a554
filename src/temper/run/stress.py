"""Plans a run that puts a feature's kernels under stress. It builds nothing."""

from collections.abc import Collection

from temper import __version__
from temper.catalog import Feature, check_known
from temper.errors import InputError
from temper.record.plan import (
    KernelPlan,
    Kind,
    RunPlan,
    Slot,
    TrialTerms,
    VariantPlan,
    Work,
)
from temper.run.planner import Planner, module_plan
from temper.run.programs import programs, target_programs
from temper.stress import Stress, stress_of
from temper.workloads import TARGET


def plan_stress(
    planner: Planner, feature: Feature, seconds: int, kernels: Collection[str] = ()
) -> RunPlan:
    """Plan to boot ``kernels``, by default all, on every machine of the stress.

    Raises InputError where the feature has no stress, or none for the architecture,
    for an unknown kernel, and where there would be no time.
    """
    feature = planner.here(feature)
    stress = stress_of(feature)
    check_known("kernel", kernels, stress.kernels)
    if planner.arch.name not in stress.on:
        raise InputError(
            f"the stress of {feature.name} is not for {planner.arch.name}",
            f"add --arch {min(stress.on)}",
        )
    if seconds < 1:
        raise InputError(f"{seconds} seconds are too few")
    variants = _variants(planner, feature, stress, kernels or stress.kernels)
    named = ["--kernels", ",".join(kernels)] if kernels else []
    return RunPlan(
        kind=Kind.STRESS,
        feature=feature.name,
        title=feature.title,
        arch=planner.arch.name,
        machine=planner.machine_of(feature),
        baseline="",
        variants=variants,
        complaints=(*feature.complaints, *stress.complaints),
        trial=TrialTerms(
            seconds=seconds,
            used=(*stress.used, *stress.on[planner.arch.name].used),
            zero=stress.zero,
            growth=stress.growth,
        ),
        work=_work(planner, stress, seconds),
        slots=tuple(Slot(variant=name, repeat=0) for name in variants),
        command=planner.command("stress", feature.name, *named, "--seconds", seconds),
        temper_version=__version__,
    )


def _variants(
    planner: Planner, feature: Feature, stress: Stress, kernels: Collection[str]
) -> dict[str, VariantPlan]:
    found = {}
    for kernel in kernels:
        planned = _kernel(planner, feature, stress, stress.kernels[kernel].config)
        for name, board in stress.on[planner.arch.name].machines.items():
            cmdline = (stress.cmdline, board.cmdline)
            found[f"{kernel}-{name}"] = VariantPlan(
                title=f"{stress.kernels[kernel].title}; {board.title}",
                kernel=planned,
                cmdline=" ".join(filter(None, cmdline)),
                cpu=board.cpu,
                in_force=None,
            )
    return found


def _kernel(
    planner: Planner, feature: Feature, stress: Stress, config: tuple[str, ...]
) -> KernelPlan:
    """Plan the hardened variant with more options."""
    hardened = feature.variants[feature.hardened[0]]
    own = stress.on[planner.arch.name].config
    options = (*hardened.config, *stress.config, *own, *config)
    return planner.kernel(feature, hardened.model_copy(update={"config": options}))


def _work(planner: Planner, stress: Stress, seconds: int) -> Work:
    sources = {stress.program: stress.sources}
    own = programs(planner.arch, stress.folder, sources, "stress", include=[TARGET])
    modules = (stress.folder / f"{name}.c" for name in stress.modules)
    return Work(
        job=(f"run {stress.program} {seconds}",),
        cpus=stress.cpus,
        exact=False,
        memory=stress.memory,
        programs=(target_programs(planner.arch), own),
        modules=tuple(map(module_plan, modules)),
    )
