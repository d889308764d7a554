"""Commands that say what there is, and build it: doctor, features, show, build."""

from typing import Annotated

import typer

from temper import catalog
from temper.arch import DEFAULT_ARCH
from temper.catalog import feature_named
from temper.cli.completion import complete_attacked
from temper.cli.lab import Lab
from temper.cli.options import (
    ArchName,
    Base,
    FeatureName,
    JsonPath,
    SourcePath,
    listed,
)
from temper.cli.output import console, write, write_data
from temper.doctor import examine
from temper.errors import InputError
from temper.record.plan import USUAL_BASE
from temper.report.doctor_table import print_findings
from temper.report.listings import (
    kernels_as_data,
    print_feature,
    print_features,
    print_kernels,
)

app = typer.Typer()


@app.command()
def doctor(json: JsonPath = None) -> None:
    """Say what this host has and what it lacks, with the cure for each lack."""
    findings = examine()
    if json:
        write(json, findings.to_json())
    if json != "-":
        print_findings(console(), findings)
    if findings.lacking:
        raise typer.Exit(1)


@app.command()
def features(json: JsonPath = None) -> None:
    """List the catalogue of hardening features.

    Exit status 2 means that some cannot be loaded; the others are listed.
    """
    known, errors = catalog.all_features()
    if json:
        write_data(json, [feature.model_dump(mode="json") for feature in known])
    if json != "-":
        print_features(console(), known)
    if errors:
        said = "\n".join(error.message for error in errors)
        raise InputError(said, errors[0].hint)


@app.command()
def show(feature: FeatureName, json: JsonPath = None) -> None:
    """Show one feature: variants, proofs, workloads."""
    described = feature_named(feature)
    if json:
        write_data(json, described.model_dump(mode="json"))
    if json != "-":
        print_feature(console(), described)


@app.command()
def build(
    feature: FeatureName,
    variants: Annotated[
        str | None,
        typer.Option(
            help="Build only these (comma-separated); may include sabotages.",
            autocompletion=complete_attacked,
            metavar="NAMES",
        ),
    ] = None,
    arch: ArchName = DEFAULT_ARCH.name,
    base: Base = USUAL_BASE,
    source: SourcePath = None,
    json: JsonPath = None,
) -> None:
    """Build the kernels of all variants, or find them in the cache."""
    lab = Lab.of(arch, source, base=base)
    described = lab.planner.here(feature_named(feature))
    part = described.only(listed(variants) or described.variants, proofs=())
    kernels = {
        name: lab.workshop.kernel(lab.planner.kernel(part, variant))
        for name, variant in part.all_variants.items()
    }
    if json:
        write_data(json, kernels_as_data(kernels))
    if json != "-":
        print_kernels(console(), kernels)
