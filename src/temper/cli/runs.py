"""Commands on the store of runs: runs, diff, delete."""

from typing import Annotated

import typer

from temper.analysis.diff import diff_report
from temper.cli.options import LARGEST_RUN, JsonPath
from temper.cli.output import (
    confirmed,
    console,
    show_documents,
    write,
    write_data,
)
from temper.errors import InputError
from temper.report.as_json import to_json
from temper.report.diff_document import diff_document
from temper.report.listings import print_chosen_runs, print_runs
from temper.report.progress import on_stderr
from temper.store import Store

app = typer.Typer()

_RUN = typer.Argument(
    help="A run's number; [bold]temper runs[/] lists them.",
    min=1,
    max=LARGEST_RUN,
    metavar="RUN",
)
RunNumber = Annotated[int, _RUN]
RunNumbers = Annotated[list[int], _RUN]


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
    if json:
        write(json, to_json(report))
    if json != "-":
        show_documents(diff_document(report))
    if report.differs:
        raise typer.Exit(1)


@app.command()
def delete(
    numbers: RunNumbers,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Delete runs with all their boots and raw files, once you confirm it.

    A run that is being made is not deleted.
    """
    with Store.open(progress=on_stderr()) as store:
        known = {run.id: run for run in store.runs()}
        if unknown := [str(number) for number in numbers if number not in known]:
            raise InputError(
                f"there is no run {', '.join(unknown)}", "'temper runs' lists all runs"
            )
        print_chosen_runs(console(), [known[number] for number in set(numbers)])
        if not (yes or confirmed("Delete all of this?")):
            console().print("Nothing was deleted.")
            raise typer.Exit(1)
        store.delete(numbers)
    console().print("Deleted.")
