"""Commands on the store of runs: runs, diff."""

from typing import Annotated

import typer

from temper.analysis.diff import diff_report
from temper.cli.options import LARGEST_RUN, JsonPath
from temper.cli.output import console, publish, write_data
from temper.report.as_json import to_json
from temper.report.diff_document import diff_document
from temper.report.listings import print_runs
from temper.report.progress import on_stderr
from temper.store import Store

app = typer.Typer()

RunNumber = Annotated[
    int,
    typer.Argument(
        help="A run's number; [bold]temper runs[/] lists them.",
        min=1,
        max=LARGEST_RUN,
        metavar="RUN",
    ),
]


@app.command()
def runs(json: JsonPath = None) -> None:
    """List all runs, newest first."""
    with Store.open(progress=on_stderr()) as store:
        found = store.runs()
    if json:
        write_data(json, [run.model_dump(mode="json") for run in found])
    if json != "-":
        print_runs(console(), found)


@app.command()
def diff(before: RunNumber, after: RunNumber, json: JsonPath = None) -> None:
    """Say what changed from one run to another: two prices, or two proofs.

    Exit status 0 means that nothing differs: all values, refusals and outcomes that
    both runs have are the same.
    """
    with Store.open(progress=on_stderr()) as store:
        report = diff_report(store.load(before), store.load(after))
    publish(json, to_json(report), diff_document(report))
    if report.differs:
        raise typer.Exit(1)
