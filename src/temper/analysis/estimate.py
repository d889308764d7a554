"""What carrying out a plan takes: kernels to build, boots, and how long."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from statistics import median

from temper.record.boot import StoredRun
from temper.record.plan import KernelPlan, RunPlan


@dataclass(frozen=True)
class Estimate:
    """What there is to do."""

    kernels: dict[str, tuple[KernelPlan, tuple[str, ...], bool]]
    """key -> the kernel, the variants that boot it, whether it has to be built."""
    boots: int
    at_once: int
    """So many boots run side by side."""
    build_seconds: float | None
    """For all kernels that have to be built; None: none was ever built here."""
    boot_seconds: float | None
    """For all boots; None: nothing like them was ever booted here."""

    @property
    def missing(self) -> int:
        """How many kernels have to be built."""
        return sum(build for _, _, build in self.kernels.values())


def estimate(
    plan: RunPlan,
    built: Collection[str],
    seconds_a_build: float | None,
    seconds_a_boot: float | None,
    at_once: int,
) -> Estimate:
    """Say what there is to do for ``plan``, where the kernels ``built`` are there.

    ``seconds_a_build`` and ``seconds_a_boot``: how long one takes, where known.
    """
    kernels: dict[str, tuple[KernelPlan, tuple[str, ...], bool]] = {}
    for name, variant in plan.variants.items():
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
    """Return how long boots with the job of ``plan`` took; None if there were none."""
    for run in runs:
        if run.plan.work.job == plan.work.job and run.boots:
            return median(boot.facts.wall_seconds for boot in run.boots)
    return None


def _times(count: int, seconds: float | None) -> float | None:
    if not count:
        return 0.0
    return None if seconds is None else count * seconds
