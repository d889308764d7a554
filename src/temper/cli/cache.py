"""Commands on the cache of built files: list, prune, verify."""

from typing import Annotated

import typer

from temper.cli.output import console
from temper.kernel import Cache
from temper.report.listings import print_items

app = typer.Typer(
    help="Manage the cache of kernels and other built files.", no_args_is_help=True
)


@app.command("list")
def cache_list() -> None:
    """List what is in the cache, most recently used first."""
    print_items(console(), Cache().items(), "The cache is empty.")


@app.command("prune")
def cache_prune(
    days: Annotated[
        float, typer.Option(help="Keep entries used within this many days.")
    ] = 0,
) -> None:
    """Remove entries from the cache; Temper builds them again when needed."""
    print_items(console(), Cache().prune(days), "Nothing to remove.")


@app.command("verify")
def cache_verify() -> None:
    """Check every file in the cache and remove what is damaged."""
    damaged = Cache().verify()
    print_items(console(), damaged, "All files are intact.")
    if damaged:
        raise typer.Exit(1)
