"""What ``temper doctor`` found, for the terminal."""

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from temper.doctor import Examination, State
from temper.invocation import setup_as_typed
from temper.report.layout import WIDTH

_STYLES = {State.OK: "green", State.LACKING: "bold red", State.OPTIONAL: "yellow"}


def print_findings(console: Console, examination: Examination) -> None:
    """Print each finding, the cure of whatever is lacking, and the verdict."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for title in ("what", "state", "found"):
        table.add_column(title, overflow="fold")
    for finding in examination.findings:
        state = Text(finding.state, _STYLES[finding.state])
        table.add_row(Text(finding.name), state, Text(finding.found))
        if finding.cure:
            table.add_row("", "cure:", Text(finding.cure, "italic"))
    width = min(WIDTH, console.width)
    console.print(table, width=width)
    console.print()
    console.print(_verdict(len(examination.lacking)), width=width)


def _verdict(lacks: int) -> Text:
    if lacks == 0:
        return Text("This host has everything that Temper needs.", "bold green")
    setup = setup_as_typed()
    advice = f" {setup} installs every package that is not optional." if setup else ""
    return Text(f"Lacking: {lacks}.{advice}", "bold red")
