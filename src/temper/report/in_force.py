"""What the in-force checks of a run found, in a sentence or in full."""

from collections.abc import Iterable

from temper.analysis.exposure import ExposureReport
from temper.analysis.in_force import objection, on_off
from temper.analysis.models import PriceReport, ProofReport
from temper.report.document import Bullets, Detail


def in_force_line(report: PriceReport | ProofReport) -> str:
    """Sum up the in-force checks in a sentence, or say of each what it found."""
    summaries = report.in_force
    if not summaries or any(map(objection, summaries.values())):
        found = "; ".join(line.rstrip(".") for line in in_force_lines(report))
        return f"In-force checks: {found}."
    found = ", and ".join(
        f"{on_off(state)} with {', '.join(names)}"
        for state in (True, False)
        if (names := [n for n, one in summaries.items() if one.expected is state])
    )
    checks = sum(one.checks for one in summaries.values())
    return f"In force: all {checks} checks in the same boots found it {found}."


def in_force_details(
    report: PriceReport | ProofReport | ExposureReport,
) -> Iterable[Detail]:
    """Yield what the checks of each variant found, if there were any."""
    if report.in_force:
        yield Detail(
            "In force, checked in the same boots",
            [Bullets(in_force_lines(report))],
            contents="each variant's in-force checks",
        )


def in_force_lines(report: PriceReport | ProofReport | ExposureReport) -> list[str]:
    """State what the in-force checks of each variant found."""
    lines = [
        f"{variant}: found {on_off(summary.expected)} by {summary.agreed} of "
        f"{summary.checks} checks" + (f" ({summary.how})" if summary.how else "")
        if summary.checks
        else f"{variant}: not checked"
        for variant, summary in report.in_force.items()
    ]
    if isinstance(report, PriceReport) and report.in_force_note:
        lines.append(f"none, since {report.in_force_note}.")
    return lines
