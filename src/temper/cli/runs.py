"""Commands on the store of runs: runs, diff, history, delete."""

from functools import partial
from typing import Annotated

import typer

from temper.analysis.diff import diff_report
from temper.analysis.history import HistoryReport, history_report
from temper.arch import DEFAULT_ARCH, arch_named
from temper.catalog import check_known, feature_named
from temper.cli.completion import complete_attacked, complete_workloads
from temper.cli.options import (
    LARGEST_RUN,
    ArchName,
    Base,
    CpuModel,
    FeatureName,
    JsonPath,
    Setting,
    listed,
)
from temper.cli.output import (
    confirmed,
    console,
    publish,
    write_data,
)
from temper.cli.reports import whole
from temper.errors import InputError
from temper.invocation import as_typed
from temper.record.plan import USUAL_BASE, Kind
from temper.report.as_json import to_json
from temper.report.diff_document import diff_document
from temper.report.history_document import history_document
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
    with Store.open_to_read(progress=on_stderr()) as store:
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
    with Store.open_to_read(progress=on_stderr()) as store:
        report = diff_report(*map(whole, map(store.load, (before, after))))
    publish(json, to_json(report), diff_document(report))
    if report.differs:
        raise typer.Exit(1)


@app.command()
def history(
    feature: FeatureName,
    outcomes: Annotated[
        bool, typer.Option("--outcomes", help="Outcomes of proofs instead of prices.")
    ] = False,
    variants: Annotated[
        str | None,
        typer.Option(
            help="Only these (comma-separated).",
            autocompletion=complete_attacked,
            metavar="NAMES",
        ),
    ] = None,
    workloads: Annotated[
        str | None,
        typer.Option(
            help="Only prices of these (comma-separated).",
            autocompletion=complete_workloads,
            metavar="NAMES",
        ),
    ] = None,
    arch: ArchName = DEFAULT_ARCH.name,
    setting: Setting = "",
    cpu: CpuModel = "",
    base: Base = USUAL_BASE,
    json: JsonPath = None,
) -> None:
    """List a feature's prices, or outcomes, from its first finished run to its last.

    FEATURE may also be [bold]compare[/], for what temper compare measured.
    """
    if outcomes and workloads is not None:
        raise InputError("proofs have no workloads", "leave out --workloads")
    kind, named = _kind(feature, outcomes), arch_named(arch).name
    with Store.open_to_read(progress=on_stderr()) as store:
        runs = {
            run.id: partial(store.load, run.id)
            for run in store.runs()
            if run.finished
            and not run.shard
            and (run.kind, run.feature) == (kind, feature)
            and (run.arch, run.setting, run.cpu, run.base)
            == (named, setting, cpu, base)
        }
        report = history_report(feature, arch, setting, kind, runs)
    if not report.runs:
        raise _no_history(report)
    check_known("variant", listed(variants), report.variants)
    check_known("workload", listed(workloads), report.workloads)
    report = report.only(listed(variants), listed(workloads))
    publish(json, to_json(report), history_document(report))


def _kind(feature: str, outcomes: bool) -> Kind:
    if outcomes:
        return Kind.PROVE
    return Kind.COMPARE if feature == Kind.COMPARE.value else Kind.PRICE


def _no_history(report: HistoryReport) -> InputError:
    if report.feature != Kind.COMPARE.value:
        # Raises a better error if it is not a feature.
        feature_named(report.feature)
    setting = f" with {report.setting}" if report.setting else ""
    where = f"{report.feature} on {report.arch}{setting}"
    left_out = "; ".join(f"run {n}: {why}" for n, why in report.left_out.items())
    return InputError(f"there are no {report.of} of {where} to report", left_out)


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
                f"there is no run {', '.join(unknown)}",
                f"'{as_typed('temper runs')}' lists all runs",
            )
        print_chosen_runs(console(), [known[number] for number in set(numbers)])
        if not (yes or confirmed("Delete all of this?")):
            console().print("Nothing was removed.")
            raise typer.Exit(1)
        store.delete(numbers)
    console().print("Deleted.")
