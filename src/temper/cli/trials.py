"""Commands that look for bugs in a feature's kernels: stress, events."""

from typing import Annotated

import typer

from temper.arch import DEFAULT_ARCH
from temper.catalog import feature_named
from temper.cli.files import Files, JsonPath, JunitPath, KtapPath
from temper.cli.lab import Lab
from temper.cli.options import (
    ArchName,
    FeatureName,
    OnlyPlan,
    OnPlace,
    Resume,
    ShardOf,
    SourcePath,
    listed,
)
from temper.run.events import plan_events
from temper.run.stress import plan_stress

app = typer.Typer()


@app.command()
def stress(
    feature: FeatureName,
    kernels: Annotated[
        str | None,
        typer.Option(
            help="Boot only these debug kernels (comma-separated).", metavar="NAMES"
        ),
    ] = None,
    seconds: Annotated[
        int, typer.Option(help="Seconds of stress in each boot, in the guest's time.")
    ] = 180,
    arch: ArchName = DEFAULT_ARCH.name,
    source: SourcePath = None,
    resume: Resume = None,
    shard: ShardOf = None,
    on: OnPlace = None,
    only_plan: OnlyPlan = False,
    json: JsonPath = None,
    ktap: KtapPath = None,
    junit: JunitPath = None,
) -> None:
    """Put the feature's debug kernels under stress, to find bugs.

    Exit status 0 means clean: no complaint on the console, no failure counted, and
    each operation done at least once.
    """
    files = Files(json=json, ktap=ktap, junit=junit)
    lab = Lab.of(arch, source, shard=shard, on=on)
    described = feature_named(feature)
    plan = plan_stress(lab.planner, described, seconds, listed(kernels))
    lab.carry_out(plan, files, resume, only_plan=only_plan)


@app.command()
def events(
    feature: FeatureName,
    names: Annotated[
        str | None,
        typer.Option(
            "--events", help="Only these events (comma-separated).", metavar="NAMES"
        ),
    ] = None,
    arch: ArchName = DEFAULT_ARCH.name,
    source: SourcePath = None,
    resume: Resume = None,
    shard: ShardOf = None,
    on: OnPlace = None,
    only_plan: OnlyPlan = False,
    json: JsonPath = None,
    ktap: KtapPath = None,
    junit: JunitPath = None,
) -> None:
    """Lead the feature's kernel through machine events, and check it after each.

    Events are, for example, suspend, hibernation, kexec, hotplug and machine checks.
    Exit status 0 means clean: every check passed, and the console has no complaint.
    """
    files = Files(json=json, ktap=ktap, junit=junit)
    lab = Lab.of(arch, source, shard=shard, on=on)
    described = feature_named(feature)
    plan = plan_events(lab.planner, described, listed(names))
    lab.carry_out(plan, files, resume, only_plan=only_plan)
