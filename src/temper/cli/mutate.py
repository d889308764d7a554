"""The command that mutates a feature's series: mutate."""

from typing import Annotated

import typer

from temper.arch import DEFAULT_ARCH
from temper.catalog import feature_named
from temper.cli.files import Files, JsonPath, JunitPath, KtapPath
from temper.cli.lab import Lab
from temper.cli.options import (
    ArchName,
    FeatureName,
    Full,
    OnlyPlan,
    Resume,
    ShardOf,
    SourcePath,
    listed,
)
from temper.run.mutate import plan_mutate

app = typer.Typer()


@app.command()
def mutate(
    feature: FeatureName,
    sample: Annotated[
        int | None,
        typer.Option(
            help="Boot only so many mutants, always the same ones. Default: all that "
            "differ in object code.",
            metavar="N",
        ),
    ] = None,
    mutants: Annotated[
        str | None,
        typer.Option(
            help="Boot only these, by their ids in a report (comma-separated). They "
            "make no score.",
            metavar="IDS",
        ),
    ] = None,
    arch: ArchName = DEFAULT_ARCH.name,
    source: SourcePath = None,
    resume: Resume = None,
    shard: ShardOf = None,
    only_plan: OnlyPlan = False,
    full: Full = False,
    json: JsonPath = None,
    ktap: KtapPath = None,
    junit: JunitPath = None,
) -> None:
    """Change the feature's series line by line, and see what its proofs notice.

    Each mutant is a kernel that the proofs attack. Exit status 0 means that all were
    noticed or are accepted, by reasons in the feature's mutants.toml. Which mutants
    differ is found out by compiling them, with --plan as well; the cache keeps it.
    """
    files = Files(json=json, ktap=ktap, junit=junit)
    lab = Lab.of(arch, source, shard=shard)
    plan = plan_mutate(
        lab.planner, feature_named(feature), sample, lab.workshop, listed(mutants)
    )
    lab.carry_out(plan, files, resume, only_plan=only_plan, full=full)
