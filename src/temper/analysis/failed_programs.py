"""Real programs that failed in a boot: all other workloads still have a price."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from temper.analysis.boots import BootResults
from temper.record.boot import StoredRun
from temper.record.console import last_of_programs
from temper.record.plan import real_program


def failed_programs(
    run: StoredRun, boots: Mapping[str, Sequence[BootResults]]
) -> dict[str, str]:
    """Return real program -> in which boot it failed first, and what it said last.

    What it said is known of the last one that failed in a boot: it ends the console.
    """
    consoles = {boot.facts.slot: boot.console for boot in run.boots}
    found: dict[str, str] = {}
    for boot in (boot for kept in boots.values() for boot in kept):
        for failure in boot.failures:
            how = [f"it ended with status {failure.status} in {boot.name}"]
            if failure is boot.failures[-1]:
                how += last_of_programs(consoles[boot.facts.slot])
            if name := real_program(failure.program):
                found.setdefault(name, "; ".join(how))
    return found


def without(
    boots: Mapping[str, Sequence[BootResults]], programs: Collection[str]
) -> dict[str, list[BootResults]]:
    """Return all boots as if these real programs had not been wanted."""
    return {
        variant: [_without(boot, programs) for boot in kept]
        for variant, kept in boots.items()
    }


def _without(boot: BootResults, programs: Collection[str]) -> BootResults:
    workloads = {
        name: found for name, found in boot.workloads.items() if name not in programs
    }
    failures = [
        failure
        for failure in boot.failures
        if real_program(failure.program) not in programs
    ]
    return replace(boot, workloads=workloads, failures=failures)
