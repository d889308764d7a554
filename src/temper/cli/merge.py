"""The command that puts shards together: merge."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from temper.analysis.mutants import Standard, standard_of
from temper.cli.files import CsvPath, Files, JsonPath, JunitPath, KtapPath
from temper.cli.options import Full
from temper.cli.reports import conclude, report_of
from temper.cli.stored import with_strength
from temper.errors import InputError
from temper.invocation import as_typed
from temper.record.plan import RunPlan
from temper.report.progress import on_stderr
from temper.run.mutate import choice_of
from temper.store import Store, merged, shard_boots, shard_runs

app = typer.Typer()


@app.command()
def merge(
    folders: Annotated[
        list[Path],
        typer.Argument(
            help="The folders that --shard named, or any folders around them.",
            metavar="FOLDER...",
        ),
    ],
    full: Full = False,
    json: JsonPath = None,
    csv: CsvPath = None,
    ktap: KtapPath = None,
    junit: JunitPath = None,
) -> None:
    """Put the shards of one plan together, and report on all of it.

    They must be of the same plan, made with the same tools, and all there. The exit
    status is that of the command that made them, without --shard.
    """
    files = Files(json=json, csv=csv, ktap=ktap, junit=junit)
    found = shard_boots(folders)
    plan, boots = merged(found, choice_of)
    if plan.mutants:
        _check_alike([(run.plan, standard_of(run)) for run in shard_runs(found)])
    # A run that cannot be judged is not kept.
    with (
        Store.open(progress=on_stderr()) as store,
        store.adding(plan, boots) as run,
    ):
        report = report_of(run)
    conclude(with_strength(report, plan), files, full=full)


def _check_alike(standards: Sequence[tuple[RunPlan, Standard]]) -> None:
    """Raise InputError if mutants of one shard cannot be held against another's series.

    Something is wrong with it in one of them, or it went another way that matters.
    """
    (first, one), *_ = standards
    for plan, other in standards:
        if other.unsound:
            raise InputError(
                f"shard {plan.shard} has no score: {other.unsound}",
                f"make it again: {as_typed(plan.own_command)}",
            )
        if differing := sorted(one.measures ^ other.measures):
            raise InputError(
                f"shards {first.shard} and {plan.shard} judge mutants by different "
                f"boots: {differing[0]} in one of them alone",
                f"make them again: {as_typed(first.own_command)}; "
                + as_typed(plan.own_command),
            )
