"""The command that measures how long a feature's register stays open."""

from typing import Annotated

import typer

from temper.arch import DEFAULT_ARCH
from temper.catalog import feature_named
from temper.cli.completion import complete_attacked, complete_workloads
from temper.cli.files import Files, JsonPath, JunitPath, KtapPath
from temper.cli.lab import Lab
from temper.cli.options import (
    ArchName,
    Calls,
    FeatureName,
    Full,
    OnlyPlan,
    OnPlace,
    Resume,
    ShardOf,
    SourcePath,
    listed,
)
from temper.run.exposure import plan_exposure

app = typer.Typer()

_FEW_CALLS = 1000


@app.command()
def exposure(
    feature: FeatureName,
    variants: Annotated[
        str | None,
        typer.Option(
            help="Watch only these (comma-separated); may include sabotages. Default: "
            "the hardened variants.",
            autocompletion=complete_attacked,
            metavar="NAMES",
        ),
    ] = None,
    workloads: Annotated[
        str | None,
        typer.Option(
            help="Run only these of the feature's workloads (comma-separated).",
            autocompletion=complete_workloads,
            metavar="NAMES",
        ),
    ] = None,
    arch: ArchName = DEFAULT_ARCH.name,
    source: SourcePath = None,
    calls: Calls = _FEW_CALLS,
    resume: Resume = None,
    shard: ShardOf = None,
    on: OnPlace = None,
    only_plan: OnlyPlan = False,
    full: Full = False,
    json: JsonPath = None,
    ktap: KtapPath = None,
    junit: JunitPath = None,
) -> None:
    """Measure for how long what the feature protects is open to writes.

    That is in instructions, in all workloads of the feature's price, with the functions
    that ran meanwhile. Exit status 0 means clean: all was measured, the register was
    never left open, and no function ran that must not run then.
    """
    files = Files(json=json, ktap=ktap, junit=junit)
    lab = Lab.of(arch, source, shard=shard, on=on)
    described = feature_named(feature)
    plan = plan_exposure(
        lab.planner, described, calls, listed(variants), listed(workloads)
    )
    lab.carry_out(plan, files, resume, only_plan=only_plan, full=full)
