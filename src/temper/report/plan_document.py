"""A plan as a tree of blocks, before anything is built or booted."""

from collections.abc import Iterable

from temper.analysis.estimate import Estimate
from temper.record.plan import KernelPlan, RunPlan
from temper.report.document import Block, Bullets, Document, Paragraph, Section
from temper.report.numbers import duration


def plan_document(plan: RunPlan, estimate: Estimate) -> Document:
    """Say what ``plan`` would build and boot, and how long that takes."""
    return Document(
        heading=f"Plan: {plan.kind.value} {plan.feature}",
        feature=plan.feature,
        title=plan.full_title,
        conclusion=[Paragraph(_conclusion(estimate))],
        blocks=[
            Section("Kernels", [Bullets([*_kernels(estimate), *_mutants(plan)])]),
            Section("Boots", list(_boots(plan, estimate))),
        ],
    )


def _kernels(estimate: Estimate) -> Iterable[str]:
    for kernel, variants, build in estimate.kernels.values():
        state = "to be built" if build else _state(kernel)
        yield f"{kernel.title}: {state}, for {', '.join(variants)}"


def _mutants(plan: RunPlan) -> Iterable[str]:
    if booted := set(filter(None, map(plan.mutant_of, plan.booted))):
        yield f"{len(booted)} mutants: built in one tree, each before its first boot"


def _state(kernel: KernelPlan) -> str:
    return "to be unpacked once" if kernel.package else "already built"


def _boots(plan: RunPlan, estimate: Estimate) -> Iterable[Block]:
    exact = "counting instructions" if plan.work.exact else "on the host's clock"
    cpus = f"{plan.work.cpus} CPU" + "s" * (plan.work.cpus > 1)
    twins = [slot for slot in plan.slots if plan.twin_seed(slot) is not None]
    said = []
    if first := [slot for slot in plan.slots if slot not in twins]:
        variants = len({slot.variant for slot in first})
        said.append(
            f"{len(first)} boots on {plan.machine} {plan.arch}, {cpus} each, "
            f"{exact}: {variants} variants, {len(first) // variants} each, "
            f"{estimate.at_once} at once"
        )
    if plan.layouts:
        said.append(
            f"{1 + len(plan.layouts)} layouts of memory; each after the first takes "
            "one boot of each variant"
        )
    if twins:
        said.append(
            f"{len(twins)}{' more' if first else ' boots'}, counting instructions, of "
            "pairs of machines that differ in their random numbers alone"
        )
    if plan.mutants:
        said.append("of mutants, at most: what decides nothing is left out")
    yield Bullets([*said, _work(plan)])


def _work(plan: RunPlan) -> str:
    if plan.scripts:
        return f"a script in {plan.scripts.folder} leads each boot through an event"
    counts = [plan.program_count(slot) for slot in plan.slots]
    fewest, most = min(counts), max(counts)
    some = f"{fewest} to {most}" if fewest < most else f"{most}"
    return f"each boot runs {some} program" + "s" * (most > 1)


def _conclusion(estimate: Estimate) -> str:
    return f"{_building(estimate)} {_booting(estimate)}"


def _building(estimate: Estimate) -> str:
    if not estimate.missing:
        return "No kernel needs to be built."
    kernels = f"{estimate.missing} kernel" + "s" * (estimate.missing > 1)
    if estimate.build_seconds is None:
        return f"No estimate for building {kernels}: none was built here before."
    return f"Building {kernels} takes about {duration(estimate.build_seconds)}."


def _booting(estimate: Estimate) -> str:
    boots = f"{estimate.boots} boots"
    if estimate.boot_seconds is None:
        return f"No estimate for {boots}: none like them ran here before."
    return f"The {boots} take about {duration(estimate.boot_seconds)}."
