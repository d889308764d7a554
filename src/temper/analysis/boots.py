"""The records of one stored boot, sorted by type."""

from collections import defaultdict
from dataclasses import dataclass, field

from temper.errors import StoreError
from temper.record.boot import BootFacts, StoredBoot, StoredRun
from temper.record.wire import (
    AnyRecord,
    Classes,
    Exit,
    Exposure,
    Histogram,
    InForce,
    Startup,
    WireError,
    Workload,
    parse_record,
)
from temper.stats.exact import merge


@dataclass
class BootResults:
    """The results of one successful boot, by workload."""

    facts: BootFacts
    startup: int | None = None
    """The kernel's instructions before the first marker, if they were counted."""
    workloads: dict[str, Workload] = field(default_factory=dict)
    quiet: dict[str, dict[int, int]] = field(default_factory=dict)
    """workload -> histogram of the samples that no timer tick hit."""
    ticked: dict[str, dict[int, int]] = field(default_factory=dict)
    """workload -> histogram of the other samples."""
    classes: dict[str, dict[str, int]] = field(default_factory=dict)
    """workload -> instructions by class over its marked region."""
    wholes: dict[str, int] = field(default_factory=dict)
    """workload -> all instructions from its first marker to its last, if counted."""
    exposures: dict[str, Exposure] = field(default_factory=dict)
    """workload -> the open stretches of a register, if one was watched."""
    checks: list[InForce] = field(default_factory=list)
    failures: list[Exit] = field(default_factory=list)
    """Programs of the job that ended with a status other than 0."""

    @property
    def name(self) -> str:
        """Name the boot for people; they count from 1."""
        return f"boot {self.facts.repeat + 1} of {self.facts.variant}"


def boot_results(boot: StoredBoot) -> BootResults:
    """Sort a boot's records; raise StoreError if they contradict each other."""
    results = BootResults(boot.facts)
    parts: dict[tuple[str, bool], list[dict[int, int]]] = defaultdict(list)
    regions: dict[int, Classes] = {}
    exposures: dict[int, Exposure] = {}
    for record in _records(boot, results.name):
        match record:
            case Histogram():
                parts[record.workload, record.tick].append(dict(record.bins))
            case Workload():
                results.workloads[record.workload] = record
            case Startup():
                results.startup = record.kernel_instructions
            case Classes():
                regions[record.region] = record
            case Exposure():
                exposures[record.region] = record
            case InForce():
                results.checks.append(record)
            case Exit() if record.status:
                results.failures.append(record)
            case _:
                pass
    for name, workload in results.workloads.items():
        results.quiet[name] = merge(parts[name, False])
        results.ticked[name] = merge(parts[name, True])
        _add_classes(results, name, regions.get(workload.region))
        _check_complete(results, name)
    results.exposures = {
        name: exposures[workload.region]
        for name, workload in results.workloads.items()
        if workload.region in exposures
    }
    return results


def _add_classes(results: BootResults, workload: str, counted: Classes | None) -> None:
    results.classes[workload] = counted.counts if counted else {}
    if counted and counted.whole is not None:
        results.wholes[workload] = sum(counted.whole.values())


def results_by_variant(run: StoredRun) -> dict[str, list[BootResults]]:
    """Return variant -> its successful boots; the baseline, if any, comes first."""
    names = sorted(run.plan.variants, key=lambda name: name != run.plan.baseline)
    found: dict[str, list[BootResults]] = {name: [] for name in names}
    for boot in sorted(run.boots, key=lambda boot: boot.facts.repeat):
        if boot.facts.status == "ok":
            found[boot.facts.variant].append(boot_results(boot))
    return found


def _records(boot: StoredBoot, name: str) -> list[AnyRecord]:
    try:
        return [parse_record(fields) for fields in boot.records]
    except WireError as error:
        raise StoreError(
            f"{name}: {error}", "its raw file is damaged; run the boot again"
        ) from error


def _check_complete(results: BootResults, workload: str) -> None:
    said = results.workloads[workload].samples
    held = sum(results.quiet[workload].values()) + sum(
        results.ticked[workload].values()
    )
    if held != said:
        raise StoreError(
            f"{results.name}: {workload}: {said} samples were taken, "
            f"but the histogram holds {held}",
            "its raw file is damaged; run the boot again",
        )
