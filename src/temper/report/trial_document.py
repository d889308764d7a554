"""The report of a trial (stress, events), as a tree of blocks."""

from collections.abc import Iterable

from temper.analysis.trial import TrialBoot, TrialReport
from temper.invocation import as_typed
from temper.report.document import (
    Block,
    Bullets,
    Cell,
    Command,
    Detail,
    Document,
    Paragraph,
    Row,
    Section,
    Table,
    Tone,
)
from temper.report.provenance import downloads, made


def trial_document(report: TrialReport) -> Document:
    """Return a trial's report as blocks: boots, what went wrong, counters."""
    lasts = f", {report.seconds:,} s in each boot" if report.seconds else ""
    return Document(
        heading=f"{report.kind.capitalize()} of {report.feature}, run {report.run}",
        feature=report.feature,
        title=f"{report.title}{lasts}",
        conclusion=[_verdict(report)],
        blocks=[
            Section("Boots", [_results(report)]),
            *(_wrong(boot) for boot in report.boots if not boot.clean),
            *_counters(report),
            *_configuration(report),
        ],
        made=made(report),
        full=as_typed(f"temper report {report.run} --full"),
        downloads=downloads(report),
    )


def _verdict(report: TrialReport) -> Paragraph:
    if report.missing:
        names = ", ".join(report.missing)
        return Paragraph(f"NOT FINISHED: {names} still has to boot.", Tone.BAD)
    bad = [boot.variant for boot in report.boots if not boot.clean]
    if bad:
        return Paragraph(f"NOT CLEAN: {', '.join(bad)}.", Tone.BAD)
    return Paragraph("CLEAN: nothing was wrong, nothing was left out.", Tone.GOOD)


def _results(report: TrialReport) -> Table:
    rows = tuple(map(_result, report.boots))
    return Table(("result", "seconds here"), rows, "How each boot ended")


def _result(boot: TrialBoot) -> Row:
    result = (
        Cell(("clean",), Tone.GOOD) if boot.clean else Cell(("NOT CLEAN",), Tone.BAD)
    )
    return Row(boot.variant, (result, Cell((f"{boot.wall_seconds:,.0f}",))))


def _wrong(boot: TrialBoot) -> Section:
    lines = [
        *(f"WRONG: {line}" for line in boot.wrong),
        *(f"NEVER DONE: {name}" for name in boot.never_done),
    ]
    return Section(f"{boot.variant}: {boot.title}", [Bullets(lines)])


def _counters(report: TrialReport) -> Iterable[Block]:
    """Yield a table with the boots, or whatever is fewer, as columns."""
    names = tuple(dict.fromkeys(name for b in report.boots for name in b.counters))
    if not names:
        return
    boots = tuple(boot.variant for boot in report.boots)
    cells = {
        (boot.variant, name): Cell((_counted(boot, name),))
        for boot in report.boots
        for name in names
    }
    if len(boots) <= len(names):
        rows = (Row(n, tuple(cells[boot, n] for boot in boots)) for n in names)
        yield Section("Counters", [Table(boots, tuple(rows), _COUNTED)])
    else:
        rows = (Row(b, tuple(cells[b, name] for name in names)) for b in boots)
        yield Section("Counters", [Table(names, tuple(rows), _COUNTED)])


_COUNTED = "What each boot counted"


def _counted(boot: TrialBoot, name: str) -> str:
    value = boot.counters.get(name)
    return "-" if value is None else f"{value:,}"


def _configuration(report: TrialReport) -> Iterable[Block]:
    lines = [_setup(boot) for boot in report.boots]
    yield Detail("Configuration and command lines", [Bullets(lines)])
    yield Section("To reproduce", [Command(as_typed(report.command))])


def _setup(boot: TrialBoot) -> str:
    release = boot.kernel_release or "that never came up"
    return (
        f"{boot.variant}: {boot.title}, Linux {release}, -cpu {boot.cpu_model}, "
        f"{boot.cmdline}"
    )
