"""The report of a stress run, as a tree of blocks."""

from collections.abc import Iterable

from temper.analysis.stress import StressBoot, StressReport
from temper.report.document import (
    Block,
    Bullets,
    Cell,
    Command,
    Document,
    FinePrint,
    Paragraph,
    Row,
    Section,
    Table,
    Tone,
)


def stress_document(report: StressReport) -> Document:
    """Return a stress report as blocks: boots, what went wrong, counters."""
    return Document(
        heading=f"Stress of {report.feature}, run {report.run}",
        feature=report.feature,
        title=f"{report.title}, {report.seconds:,} s in each boot",
        conclusion=[_verdict(report)],
        blocks=[*map(_boot, report.boots), *_counters(report), *_command(report)],
        source=f"stress run {report.run}",
    )


def _verdict(report: StressReport) -> Paragraph:
    if report.missing:
        names = ", ".join(report.missing)
        return Paragraph(f"NOT FINISHED: {names} still has to boot.", Tone.BAD)
    bad = [boot.variant for boot in report.boots if not boot.clean]
    if bad:
        return Paragraph(f"NOT CLEAN: {', '.join(bad)}.", Tone.BAD)
    return Paragraph("CLEAN: nothing was wrong, nothing was left out.", Tone.GOOD)


def _boot(boot: StressBoot) -> Section:
    release = boot.kernel_release or "that never came up"
    lines = [
        f"Linux {release}, -cpu {boot.cpu_model}, {boot.cmdline}",
        f"{boot.wall_seconds:,.0f} s on this host",
        *(f"WRONG: {line}" for line in boot.wrong),
        *(f"NEVER DONE: {name}" for name in boot.never_done),
        *(["clean"] if boot.clean else []),
    ]
    return Section(f"{boot.variant}: {boot.title}", [Bullets(lines)])


def _counters(report: StressReport) -> Iterable[Block]:
    names = dict.fromkeys(name for boot in report.boots for name in boot.counters)
    if names:
        columns = tuple(boot.variant for boot in report.boots)
        rows = tuple(_row(name, report.boots) for name in names)
        yield Section("Counters", [Table(columns, rows)])


def _row(name: str, boots: Iterable[StressBoot]) -> Row:
    values = (boot.counters.get(name) for boot in boots)
    shown = ("-" if value is None else f"{value:,}" for value in values)
    return Row(name, tuple(Cell((text,)) for text in shown))


def _command(report: StressReport) -> Iterable[Block]:
    yield FinePrint([Paragraph("To reproduce:"), Command(report.command)])
