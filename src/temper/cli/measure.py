"""Commands that prove and price: prove, price, compare."""

from pathlib import Path
from typing import Annotated

import typer

from temper.arch import DEFAULT_ARCH
from temper.catalog import feature_named
from temper.cli.completion import (
    complete_attacked,
    complete_comparable,
    complete_proofs,
    complete_variants,
    complete_workload,
)
from temper.cli.files import Files, JsonPath, JunitPath, KtapPath
from temper.cli.lab import Lab
from temper.cli.options import (
    DEFAULT_CALLS,
    ArchName,
    Base,
    Calls,
    CpuModel,
    FeatureName,
    Full,
    Layouts,
    OnlyPlan,
    OnPlace,
    PackagesFrom,
    Resume,
    Setting,
    ShardOf,
    SourcePath,
    listed,
)
from temper.record.plan import USUAL_BASE
from temper.run.planner import LAYOUTS

app = typer.Typer()


@app.command()
def prove(
    feature: FeatureName,
    variants: Annotated[
        str | None,
        typer.Option(
            help="Attack only these (comma-separated) and the control; may include "
            "sabotages.",
            autocompletion=complete_attacked,
            metavar="NAMES",
        ),
    ] = None,
    control: Annotated[
        str | None,
        typer.Option(
            help="Attacks must land on this variant. Default: the feature's control.",
            autocompletion=complete_variants,
            metavar="NAME",
        ),
    ] = None,
    proofs: Annotated[
        str | None,
        typer.Option(
            help="Use only these attacks (comma-separated).",
            autocompletion=complete_proofs,
            metavar="NAMES",
        ),
    ] = None,
    arch: ArchName = DEFAULT_ARCH.name,
    source: SourcePath = None,
    setting: Setting = "",
    cpu: CpuModel = "",
    sabotage: Annotated[
        bool,
        typer.Option(
            "--sabotage",
            help="Attack all sabotaged variants as well, each by the proofs of which "
            "an outcome is expected; it must come out so, or the attacks prove "
            "nothing.",
        ),
    ] = False,
    resume: Resume = None,
    shard: ShardOf = None,
    on: OnPlace = None,
    only_plan: OnlyPlan = False,
    full: Full = False,
    json: JsonPath = None,
    ktap: KtapPath = None,
    junit: JunitPath = None,
) -> None:
    """Attack every variant, to prove that the feature stops the attacks.

    Exit status 0 means proven: the control is VULNERABLE, the hardened variants
    are BLOCKED, and the others come out as expected. Attacks that show a known limit
    of the feature must come out as expected, too, but prove nothing.

    With --variants or --proofs, the verdict covers only what you name. If you name
    no hardened variant, it covers the variants that every named proof is expected
    to find BLOCKED. If there are none of those either, nothing is proven.
    """
    files = Files(json=json, ktap=ktap, junit=junit)
    lab = Lab.of(arch, source, setting, cpu, shard=shard, on=on)
    described = feature_named(feature)
    plan = lab.planner.prove(
        described,
        listed(variants),
        listed(proofs),
        control=control,
        sabotage=sabotage,
    )
    lab.carry_out(plan, files, resume, only_plan=only_plan, full=full)


@app.command()
def price(
    feature: FeatureName,
    variants: Annotated[
        str | None,
        typer.Option(
            help="Price only these (comma-separated); the baseline is always measured.",
            autocompletion=complete_variants,
            metavar="NAMES",
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            help="Compare with this variant. Default: the feature's baseline.",
            autocompletion=complete_variants,
            metavar="NAME",
        ),
    ] = None,
    workload: Annotated[
        list[str] | None,
        typer.Option(
            help="Measure this workload; may be repeated. Default: the feature's own.",
            autocompletion=complete_workload,
            metavar="NAME",
        ),
    ] = None,
    arch: ArchName = DEFAULT_ARCH.name,
    source: SourcePath = None,
    setting: Setting = "",
    cpu: CpuModel = "",
    base: Base = USUAL_BASE,
    packages_from: PackagesFrom = None,
    calls: Calls = DEFAULT_CALLS,
    layouts: Layouts = LAYOUTS,
    resume: Resume = None,
    shard: ShardOf = None,
    on: OnPlace = None,
    only_plan: OnlyPlan = False,
    full: Full = False,
    json: JsonPath = None,
    ktap: KtapPath = None,
    junit: JunitPath = None,
) -> None:
    """Measure what the feature costs, to the instruction.

    Each variant is booted twice; counts are exact only if both boots agree. Further
    boots, in other layouts of memory, tell what a feature costs from chance.
    """
    files = Files(json=json, ktap=ktap, junit=junit)
    lab = Lab.of(arch, source, setting, cpu, base, packages_from, shard, on)
    described = feature_named(feature)
    plan = lab.planner.price(
        described,
        calls,
        listed(variants),
        names=tuple(workload or ()),
        baseline=baseline,
        layouts=layouts,
    )
    lab.carry_out(plan, files, resume, only_plan=only_plan, full=full)


@app.command()
def compare(
    kernel_a: Annotated[Path, typer.Argument(help="The baseline.", metavar="A")],
    kernel_b: Annotated[Path, typer.Argument(help="Kernel to price.", metavar="B")],
    cmdline_a: Annotated[str, typer.Option(help="Command line of the first.")] = "",
    cmdline_b: Annotated[str, typer.Option(help="Command line of the second.")] = "",
    workload: Annotated[
        list[str] | None,
        typer.Option(
            help="Measure this workload; may be repeated. Default: all common ones.",
            autocompletion=complete_comparable,
            metavar="NAME",
        ),
    ] = None,
    arch: ArchName = DEFAULT_ARCH.name,
    setting: Setting = "",
    cpu: CpuModel = "",
    packages_from: PackagesFrom = None,
    calls: Calls = DEFAULT_CALLS,
    layouts: Layouts = LAYOUTS,
    resume: Resume = None,
    shard: ShardOf = None,
    on: OnPlace = None,
    only_plan: OnlyPlan = False,
    full: Full = False,
    json: JsonPath = None,
    ktap: KtapPath = None,
    junit: JunitPath = None,
) -> None:
    """Compare the cost of any two kernels, e.g. before and after a patch.

    Each is an image, a Debian package (linux-image-*.deb) as it comes, the folder of a
    build, or any other folder with one image.
    """
    files = Files(json=json, ktap=ktap, junit=junit)
    lab = Lab.of(
        arch, setting=setting, cpu=cpu, packages_from=packages_from, shard=shard, on=on
    )
    kernels = {"A": (kernel_a, cmdline_a), "B": (kernel_b, cmdline_b)}
    plan = lab.planner.compare(kernels, tuple(workload or ()), calls, layouts=layouts)
    lab.carry_out(plan, files, resume, only_plan=only_plan, full=full)
