"""How long a register stayed open, and which functions ran meanwhile."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Literal

from temper.analysis.boots import BootResults, results_by_variant
from temper.analysis.models import InForceSummary, VariantInfo
from temper.analysis.part import Part
from temper.analysis.refusals import (
    failed_boot,
    in_force_summaries,
    incomplete,
    not_in_force,
)
from temper.analysis.variants import hosts, variant_infos
from temper.record.boot import StoredRun
from temper.record.plan import Register
from temper.record.wire import Exposure
from temper.stats.exact import merge, result_classes


class StretchRow(Part):
    """The stretches of one workload under one variant, in instructions each.

    A stretch begins after the write that opens the register and ends with the one that
    closes it. An interrupt ends it; what it goes on with afterwards is another one.
    """

    workload: str
    """Empty: all of them together."""
    variant: str
    stretches: int
    p50: int
    p99_9: int
    longest: int
    instructions: int
    """Those of all stretches."""
    share: float
    """The part of the kernel's instructions that they are."""


class FunctionRow(Part):
    """What one function ran while the register was open, over all workloads."""

    variant: str
    function: str
    instructions: int
    share: float
    """The part of all instructions that ran meanwhile."""
    forbidden: bool
    """Whether the feature says that it must not run then."""


class ExposureReport(Part):
    """How long a feature's register stays open: the result of ``temper exposure``."""

    schema_version: Literal[1] = 1
    kind: Literal["exposure"] = "exposure"
    run: int
    feature: str
    title: str
    arch: str
    machine: str
    register_title: str
    """What is open meanwhile."""
    clean: bool
    """True: all is measured, and nothing is in ``faults``."""
    rows: list[StretchRow]
    functions: list[FunctionRow]
    """Of each variant, the one with most instructions first."""
    faults: dict[str, list[str]]
    """variant -> what must not be: left open, or a forbidden function while open."""
    refused: dict[str, str]
    """variant -> why it has no rows."""
    in_force: dict[str, InForceSummary]
    variants: dict[str, VariantInfo]
    started: datetime
    hosts: list[str]
    """The hosts that the boots ran on; empty if they were not recorded."""
    temper_version: str
    """The version that planned the run."""
    command: str


def exposure_report(run: StoredRun) -> ExposureReport:
    """Sum up a run; raise StoreError if its records contradict each other."""
    plan, boots = run.plan, results_by_variant(run)
    register = plan.watched
    assert register is not None
    in_force = in_force_summaries(plan, boots)
    refused = {
        name: why
        for name, kept in boots.items()
        if (why := _refusal(run, register, name, kept, in_force.get(name)))
    }
    measured = {name: kept[0] for name, kept in boots.items() if name not in refused}
    functions = {
        name: list(_functions(name, boot, register)) for name, boot in measured.items()
    }
    found = {
        name: list(_faults(boot, functions[name], in_force.get(name)))
        for name, boot in measured.items()
    }
    faults = {name: each for name, each in found.items() if each}
    return ExposureReport(
        run=run.id,
        feature=plan.feature,
        title=plan.full_title,
        arch=plan.arch,
        machine=plan.machine,
        register_title=register.title,
        clean=not (refused or faults),
        rows=[row for name, boot in measured.items() for row in _rows(name, boot)],
        functions=[row for rows in functions.values() for row in rows],
        faults=faults,
        refused=refused,
        in_force=in_force,
        variants=variant_infos(run),
        started=run.started,
        hosts=hosts(run),
        temper_version=plan.temper_version,
        command=plan.command,
    )


def _refusal(
    run: StoredRun,
    register: Register,
    variant: str,
    boots: Sequence[BootResults],
    in_force: InForceSummary | None,
) -> str:
    return (
        failed_boot(run, variant)
        or incomplete(boots, boots)
        or not_in_force(boots, in_force)
        or next(_unknown(boots[0], register), "")
    )


def _unknown(boot: BootResults, register: Register) -> Iterator[str]:
    """Say where the register's state is not known for certain."""
    for workload in boot.workloads:
        found = boot.exposures.get(workload)
        if found is None:
            yield f"{workload}: nothing watched the register"
        elif found.untold:
            yield f"{workload}: nobody knows what {found.untold:,} writes wrote"
        elif found.closed_again:
            yield (
                f"{workload}: {found.closed_again:,} writes closed what seemed to be "
                "closed already, so what opened it was missed"
            )
        elif (total := boot.classes[workload].get(register.counted_as, 0)) != _writes(
            found
        ):
            yield (
                f"{workload}: {_writes(found):,} writes of registers were seen, but "
                f"{total:,} were counted"
            )


def _writes(found: Exposure) -> int:
    return found.opened + found.closed + found.other + found.untold


def _faults(
    boot: BootResults, functions: Iterable[FunctionRow], summary: InForceSummary | None
) -> Iterator[str]:
    for workload, found in boot.exposures.items():
        if found.open_at_marker:
            yield f"{workload}: it was left open, into user mode"
        if found.opened and summary and not summary.expected:
            yield f"{workload}: {found.opened:,} writes opened it although it is off"
    for row in functions:
        if row.forbidden:
            yield (
                f"{row.function} ran while it was open, for {row.instructions:,} "
                "instructions"
            )


def _rows(variant: str, boot: BootResults) -> Iterator[StretchRow]:
    by_workload = {name: dict(x.stretches) for name, x in boot.exposures.items()}
    kernel = {
        name: counts.get("kernel_instructions", 0)
        for name, counts in boot.classes.items()
    }
    for workload, bins in by_workload.items():
        yield _row(workload, variant, bins, kernel[workload])
    yield _row("", variant, merge(by_workload.values()), sum(kernel.values()))


def _row(
    workload: str, variant: str, bins: Mapping[int, int], kernel: int
) -> StretchRow:
    values = result_classes(bins, 1) if bins else {}
    instructions = sum(length * count for length, count in bins.items())
    return StretchRow(
        workload=workload,
        variant=variant,
        stretches=sum(bins.values()),
        p50=int(values.get("p50", 0)),
        p99_9=int(values.get("p99.9", 0)),
        longest=int(values.get("max", 0)),
        instructions=instructions,
        share=instructions / kernel if kernel else 0.0,
    )


def _functions(
    variant: str, boot: BootResults, register: Register
) -> Iterator[FunctionRow]:
    counts = merge(found.functions for found in boot.exposures.values())
    total = sum(counts.values())
    for name in sorted(counts, key=lambda name: (-counts[name], name)):
        yield FunctionRow(
            variant=variant,
            function=name,
            instructions=counts[name],
            share=counts[name] / total,
            forbidden=any(fnmatchcase(name, each) for each in register.never),
        )
