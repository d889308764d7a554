"""Commands that work on a feature's patches in a git tree: tree, export."""

from pathlib import Path
from typing import Annotated

import typer

from temper.catalog import feature_named
from temper.cli.options import FeatureName, SourcePath
from temper.cli.output import console
from temper.errors import InputError
from temper.kernel import Cache, find_source
from temper.kernel.tree import export_series, make_tree
from temper.paths import IN_CHECKOUT
from temper.report.progress import on_stderr

app = typer.Typer(
    help="Work on a feature's patches in a git tree.", no_args_is_help=True
)


TreeFolder = Annotated[Path, typer.Argument(help="The git tree.", metavar="DIR")]


@app.command("tree")
def kernel_tree(
    feature: FeatureName, folder: TreeFolder, source: SourcePath = None
) -> None:
    """Make a git tree of the source with the feature's patches as commits."""
    progress, cache, described = on_stderr(), Cache(), feature_named(feature)
    found = find_source(source, described.series, cache)
    patches = make_tree(described, folder, found, cache, progress)
    console().print(f"{folder}: Linux {found.version} and {len(patches)} patches")


@app.command("export")
def kernel_export(feature: FeatureName, folder: TreeFolder) -> None:
    """Write the git tree's commits back to the feature's patches.

    The patch of a commit that did not change stays as it is.
    """
    if not IN_CHECKOUT:
        raise InputError(
            "an installed Temper has no patches to write to",
            "use ./temper of a checkout",
        )
    done = export_series(feature_named(feature), folder)
    for name in done.changed:
        console().print(f"wrote {name}", soft_wrap=True)
    for name in done.removed:
        console().print(f"removed {name}", soft_wrap=True)
    if not (done.changed or done.removed):
        console().print(f"{feature}: nothing changed")
