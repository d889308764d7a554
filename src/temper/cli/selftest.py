"""Commands that test the lab itself."""

from typing import Annotated

import typer

from temper.arch import DEFAULT_ARCH
from temper.catalog import feature_named
from temper.cli.files import Files, JsonPath, JunitPath, KtapPath
from temper.cli.lab import Lab
from temper.cli.options import (
    ArchName,
    Calls,
    FeatureName,
    OnlyPlan,
    OnPlace,
    Resume,
    ShardOf,
    SourcePath,
)
from temper.run.selftest import plan_exact

app = typer.Typer(help="Test the lab itself.", no_args_is_help=True)

_FEW_CALLS = 1000


@app.callback()
def selftest() -> None:
    """Keep ``exact`` a command of its own, though it is the only one."""


@app.command()
def exact(
    feature: FeatureName,
    pairs: Annotated[int, typer.Option(help="Pairs of boots.")] = 10,
    arch: ArchName = DEFAULT_ARCH.name,
    source: SourcePath = None,
    calls: Calls = _FEW_CALLS,
    control: Annotated[
        bool,
        typer.Option(
            "--control",
            help="Leave out what has QEMU's threads take turns: some boots should "
            "differ then.",
        ),
    ] = False,
    resume: Resume = None,
    shard: ShardOf = None,
    on: OnPlace = None,
    only_plan: OnlyPlan = False,
    json: JsonPath = None,
    ktap: KtapPath = None,
    junit: JunitPath = None,
) -> None:
    """Boot a feature's baseline many times on a busy host, and compare the counts.

    All workloads of the feature's price run in each boot. Meanwhile stress-ng keeps
    CPUs, disk and memory busy, and each QEMU is stopped and continued at random.
    Exit status 0 means exact: all boots gave the same counts, sample by sample.
    """
    files = Files(json=json, ktap=ktap, junit=junit)
    lab = Lab.of(arch, source, shard=shard, on=on)
    described = feature_named(feature)
    plan = plan_exact(lab.planner, described, pairs, calls, control=control)
    lab.carry_out(plan, files, resume, only_plan=only_plan)
