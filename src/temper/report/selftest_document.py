"""The report of a selftest, as a tree of blocks."""

from collections.abc import Iterable, Sequence

from temper.analysis.selftest import ExactnessReport
from temper.invocation import as_typed
from temper.report.document import (
    Block,
    Bullets,
    Command,
    Document,
    Paragraph,
    Section,
    Tone,
)
from temper.report.provenance import downloads, made

_SHOWN = 10


def exactness_document(report: ExactnessReport) -> Document:
    """Return the report as blocks: what differed, under what load, how to repeat it."""
    return Document(
        heading=f"Exactness of {report.machine}, run {report.run}",
        feature=report.feature,
        title=f"{report.planned:,} pairs of boots on a busy host{_control(report)}",
        conclusion=[_verdict(report)],
        blocks=[*_differences(report), _conditions(report), _reproduce(report)],
        made=made(report),
        downloads=downloads(report),
    )


def _control(report: ExactnessReport) -> str:
    return "" if report.in_turn else ", the control: QEMU's threads side by side"


def _verdict(report: ExactnessReport) -> Paragraph:
    done = f"{report.pairs:,} pairs of boots"
    if report.outliers:
        return Paragraph(
            f"NOT EXACT: {len(report.unequal):,} of {done} differ; "
            f"{len(report.outliers):,} boots did not count what most did.",
            Tone.BAD,
        )
    if not report.complete:
        return Paragraph(
            f"NOT FINISHED: {done} of {report.planned:,} have counts, 0 differ.",
            Tone.BAD,
        )
    return Paragraph(
        f"EXACT: 0 of {done} differ, and all boots counted the same.", Tone.GOOD
    )


def _differences(report: ExactnessReport) -> Iterable[Block]:
    lines = [
        f"pair {each.pair}: {each.what}; unlike most: {_boots(each.outliers)}"
        for each in report.unequal
    ]
    lines += [f"boot {each.boot} failed: {each.error}" for each in report.failed]
    if lines:
        yield Section("What differed, or failed", [Bullets(_first(lines))])


def _boots(numbers: Sequence[int]) -> str:
    return "boot " + " and boot ".join(map(str, numbers))


def _first(lines: Sequence[str]) -> list[str]:
    left = len(lines) - _SHOWN
    return [*lines[:_SHOWN], *([f"and {left:,} more"] if left > 0 else [])]


def _conditions(report: ExactnessReport) -> Section:
    load = report.load
    lines = [
        f"{report.arch}, {', '.join(report.machine_versions) or 'no boot yet'}, "
        f"kernel {report.kernel_key[:16]}",
        f"{len(report.workloads)} workloads at {report.calls:,} calls: "
        f"{', '.join(report.workloads)}",
        f"beside stress-ng {' '.join(load.stressors)}",
        f"each QEMU stopped again and again, for up to {load.longest_stop:g} s after "
        f"up to {load.longest_run:g} s",
    ]
    return Section("What was booted, and beside what", [Bullets(lines)])


def _reproduce(report: ExactnessReport) -> Section:
    return Section("To reproduce", [Command(as_typed(report.command))])
