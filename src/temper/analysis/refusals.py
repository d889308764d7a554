"""Which variants of a run get no price, and why."""

from collections.abc import Mapping, Sequence

from temper.analysis.boots import BootResults
from temper.analysis.console import boot_complaints, told
from temper.analysis.in_force import objection, summarise_checks
from temper.analysis.models import InForceSummary
from temper.record.boot import StoredRun
from temper.record.plan import RunPlan


def in_force_summaries(
    plan: RunPlan, boots: Mapping[str, Sequence[BootResults]]
) -> dict[str, InForceSummary]:
    """Compare each variant's checks with the plan, where it plans any."""
    return {
        variant: summarise_checks(
            expected, [check for boot in kept for check in boot.checks]
        )
        for variant, kept in boots.items()
        if (expected := plan.variants[variant].in_force) is not None
    }


def refusals(
    run: StoredRun,
    boots: Mapping[str, Sequence[BootResults]],
    in_force: Mapping[str, InForceSummary],
) -> dict[str, str]:
    """Return variant -> why it has no price; without a baseline, none has one."""
    baseline = run.plan.baseline
    reasons = {variant: failed_boot(run, variant) for variant in boots}
    for variant, kept in boots.items():
        reasons[variant] = (
            reasons[variant]
            or incomplete(kept, boots[baseline])
            or not_in_force(kept, in_force.get(variant))
            or _not_comparable(kept, boots[baseline])
        )
    if reasons[baseline]:
        because = f"there is no baseline: {baseline}: {reasons[baseline]}"
        return {v: reasons[v] if v == baseline else because for v in boots}
    return {variant: reason for variant, reason in reasons.items() if reason}


def failed_boot(run: StoredRun, variant: str) -> str:
    """Object to a boot that failed, or whose kernel complained."""
    for boot in run.boots:
        if boot.facts.variant != variant:
            continue
        number = boot.facts.repeat + 1
        if boot.facts.status == "boot_error":
            why = boot.facts.error or "no reason was recorded"
            return f"its kernel failed in boot {number}: {why}"
        if lines := boot_complaints(run.plan, boot):
            return f"its kernel complained in boot {number}: {told(lines)}"
    return ""


def incomplete(boots: Sequence[BootResults], baseline: Sequence[BootResults]) -> str:
    """Object to a program that failed, and to a workload that only the baseline has."""
    if not boots:
        return "none of its boots finished"
    for boot in boots:
        for program in boot.failures:
            return (
                f"'{program.program}' ended with status {program.status} in {boot.name}"
            )
        wanted = baseline[0].workloads if baseline else {}
        missing = [name for name in wanted if name not in boot.workloads]
        if missing or not boot.workloads:
            return f"{boot.name} did not measure {', '.join(missing) or 'anything'}"
    return ""


def not_in_force(boots: Sequence[BootResults], summary: InForceSummary | None) -> str:
    """Object to checks that failed, and to any boot without one."""
    if summary is None:
        return ""
    for boot in boots:
        if not boot.checks:
            return f"no in-force check was made in {boot.name}"
    return objection(summary)


def _not_comparable(
    boots: Sequence[BootResults], baseline: Sequence[BootResults]
) -> str:
    """Object to different machines: counts depend on the CPU that a QEMU offers."""
    if not baseline:
        return ""
    ours, theirs = boots[0].facts.machine.version, baseline[0].facts.machine.version
    if ours == theirs:
        return ""
    return f"it ran on {ours}, the baseline on {theirs}: counts are not comparable"
