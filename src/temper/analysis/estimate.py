"""What a plan takes: kernels to build, boots, and time."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from statistics import median

from temper.record.boot import StoredRun
from temper.record.plan import KernelPlan, RunPlan


@dataclass(frozen=True)
class Estimate:
    """The work that a plan takes."""

    kernels: dict[str, tuple[KernelPlan, tuple[str, ...], bool]]
    """key -> the kernel, the variants that boot it, whether it must be built.

    Without those of mutants."""
    boots: int
    at_once: int
    """How many boots run at the same time."""
    build_seconds: float | None
    """For all kernels that must be built; None: no kernel was ever built here."""
    boot_seconds: float | None
    """For all boots; None: no such boot ever ran here."""

    @property
    def missing(self) -> int:
        """How many kernels must be built."""
        return sum(build for _, _, build in self.kernels.values())


def estimate(
    plan: RunPlan,
    built: Collection[str],
    seconds_a_build: float | None,
    seconds_a_boot: float | None,
    at_once: int,
) -> Estimate:
    """Estimate what ``plan`` takes if the kernels ``built`` exist already.

    ``seconds_a_build`` and ``seconds_a_boot``: how long one takes, if known.
    """
    kernels: dict[str, tuple[KernelPlan, tuple[str, ...], bool]] = {}
    for name, variant in plan.booted.items():
        # Those of mutants take seconds, in one tree.
        if plan.mutant_of(name):
            continue
        kernel = variant.kernel
        _, names, _ = kernels.get(kernel.key, (kernel, (), False))
        build = not kernel.image and kernel.key not in built
        kernels[kernel.key] = (kernel, (*names, name), build)
    missing = sum(build for _, _, build in kernels.values())
    rounds = -(-len(plan.slots) // at_once)
    return Estimate(
        kernels=kernels,
        boots=len(plan.slots),
        at_once=at_once,
        build_seconds=_times(missing, seconds_a_build),
        boot_seconds=_times(rounds, seconds_a_boot),
    )


def seconds_a_boot(plan: RunPlan, runs: Iterable[StoredRun]) -> float | None:
    """Return how long a boot with the jobs of ``plan`` took; None if there was none.

    Whole boots alone count, and in which order a job runs its programs does not.
    """
    for run in runs:
        whole = [boot.facts for boot in run.boots if not boot.facts.early]
        if whole and _jobs(run.plan) == _jobs(plan):
            return median(facts.wall_seconds for facts in whole)
    return None


def _jobs(plan: RunPlan) -> set[tuple[str, ...]]:
    return {tuple(sorted(plan.job(slot))) for slot in plan.slots}


def _times(count: int, seconds: float | None) -> float | None:
    if not count:
        return 0.0
    return None if seconds is None else count * seconds
