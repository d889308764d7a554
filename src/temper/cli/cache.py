"""Commands on the cache of built files: list, prune, verify."""

from typing import Annotated

import typer
from rich.filesize import decimal

from temper.cli.output import confirmed, console
from temper.kernel import Cache, shared_cache
from temper.report.listings import print_items

app = typer.Typer(
    help="Manage the cache of kernels and other built files.", no_args_is_help=True
)


@app.command("list")
def cache_list() -> None:
    """List what is in the cache, most recently used first.

    If there is a shared cache, say what is in it.
    """
    print_items(console(), Cache().items(), "The cache is empty.")
    if shared := shared_cache():
        count, size = shared.usage()
        entries = "1 entry" if count == 1 else f"{count} entries"
        text = f"In {shared}: {entries}, {decimal(size)}"
        console().print(text, soft_wrap=True, markup=False)


@app.command("prune")
def cache_prune(
    days: Annotated[
        float, typer.Option(help="Keep what was used within this many days.", min=0)
    ] = 0,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Remove what is in the cache, once you confirm it.

    Temper makes it again when it is needed.
    """
    cache = Cache()
    items = cache.prunable(days)
    print_items(console(), items, "Nothing to remove.")
    if items and not (yes or confirmed("Remove all of this?")):
        console().print("Nothing was removed.")
        raise typer.Exit(1)
    removed = cache.prune(days)
    if items:
        freed = decimal(sum(item.size for item in removed))
        console().print(f"Removed {len(removed)} of {len(items)}: {freed}.")


@app.command("verify")
def cache_verify() -> None:
    """Check every file in the cache and remove what is damaged."""
    damaged = Cache().verify()
    print_items(console(), damaged, "All files are intact.")
    if damaged:
        raise typer.Exit(1)
