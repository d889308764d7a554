"""Whether counts are exact: two boots of a variant must give the same counts."""

from collections.abc import Callable, Mapping, Sequence

from temper.analysis.boots import BootResults

ENOUGH_BOOTS = 2


def exactness(boots: Mapping[str, Sequence[BootResults]]) -> tuple[bool, str]:
    """Say whether the counts of these variants are exact, and why or why not."""
    for variant, results in boots.items():
        objection = _objection(variant, results)
        if objection:
            return False, objection
    times = min((len(results) for results in boots.values()), default=0)
    return True, (
        f"{times} boots of each variant gave identical histograms, "
        "order of samples and class counts"
    )


def _objection(variant: str, results: Sequence[BootResults]) -> str:
    for boot in results:
        if not boot.facts.machine.exact:
            return f"the clock of {boot.name} did not count instructions"
    if len(results) < ENOUGH_BOOTS:
        return (
            f"{variant} has {len(results)} finished boot, "
            f"but it takes {ENOUGH_BOOTS} to see whether its counts repeat"
        )
    first = results[0]
    for other in results[1:]:
        what = difference(first, other)
        if what:
            repeat = other.facts.repeat + 1
            return f"{what} between {first.name} and its boot {repeat}"
    return ""


def difference(one: BootResults, other: BootResults) -> str:
    """Say what differs between two boots; nothing if every count is the same."""
    theirs = _conditions(other)
    for what, ours in _conditions(one).items():
        if ours != theirs[what]:
            return f"the {what} differs"
    for workload in one.workloads | other.workloads:
        if not (workload in one.workloads and workload in other.workloads):
            return f"the workloads differ ({workload})"
        for what, of in _MEASURED.items():
            if of(one, workload) != of(other, workload):
                return f"{workload}: the {what}"
    return ""


def _conditions(boot: BootResults) -> dict[str, str]:
    """Return name in a sentence -> what two boots must have in common."""
    machine = boot.facts.machine
    return {
        "kernel": boot.facts.kernel.key,
        "command line": machine.cmdline,
        "machine": machine.version,
        "CPU model": machine.cpu_model,
    }


_MEASURED: Mapping[str, Callable[[BootResults, str], object]] = {
    "histograms differ": lambda boot, name: (boot.quiet[name], boot.ticked[name]),
    "order of samples differs": lambda boot, name: boot.workloads[name].sequence,
    "class counts differ": lambda boot, name: boot.classes[name],
    "whole loops differ": lambda boot, name: boot.wholes.get(name),
}
"""What to say of another measurement -> a boot's measurement of a workload."""
