"""Lists for the terminal: features, kernels, runs, cache entries."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.filesize import decimal
from rich.table import Table

from temper.catalog import Feature, Variant
from temper.invocation import as_typed
from temper.kernel import Kernel
from temper.kernel.cache import Item
from temper.record.outcome import Outcome
from temper.record.plan import Kind, Shard
from temper.report.layout import WIDTH
from temper.store import RunSummary


def print_features(console: Console, features: Iterable[Feature]) -> None:
    """Print the catalogue, one line per feature."""
    table = _table("feature", "what it is", "architectures", "variants")
    for feature in features:
        table.add_row(
            feature.name,
            feature.title,
            " ".join(feature.architectures),
            " ".join(feature.variants),
        )
    console.print(table)
    console.print(f"'{as_typed('temper show FEATURE')}' shows more.")


def print_feature(console: Console, feature: Feature) -> None:
    """Print everything the catalogue says about one feature."""
    console.print(f"[bold]{feature.name}[/]: {feature.title}\n")
    console.print(feature.summary.strip(), width=WIDTH, markup=False)
    console.print(
        f"\nLinux {feature.series}, {', '.join(feature.architectures)}; "
        f"baseline '{feature.baseline}'{_roles(feature)}",
        width=WIDTH,
    )
    console.print(_variants("variant", feature.variants))
    if feature.proofs:
        proofs = _table("proof", "the attack", "samples")
        for name, proof in feature.proofs.items():
            label = f"{name} (limit)" if proof.limit else name
            proofs.add_row(label, proof.title, f"{proof.samples:,}")
        console.print(proofs)
        _print_limits(console, feature)
    console.print(f"Priced by: {', '.join(feature.workloads)}", width=WIDTH)
    if feature.sabotages:
        console.print(_variants("sabotage", feature.sabotages))


def _print_limits(console: Console, feature: Feature) -> None:
    if len(feature.deciding) < len(feature.proofs):
        console.print(
            f"(limit): {feature.name} does not claim to stop this attack. It lands on "
            "every variant, unless what is expected of that names it.\n",
            width=WIDTH,
            markup=False,
        )


def _roles(feature: Feature) -> str:
    if not feature.proofs:
        return "; no proof: Temper has no attack on it"
    return f", control '{feature.control}', hardened {', '.join(feature.hardened)}"


def print_kernels(console: Console, kernels: Mapping[str, Kernel]) -> None:
    """Print which kernel each variant has, and where the images are."""
    table = _table("variant", "Linux", "key", "from")
    for variant, kernel in kernels.items():
        origin = f"built in {kernel.seconds:.0f} s" if kernel.built else "the cache"
        table.add_row(variant, kernel.release, kernel.key[:16], origin)
    console.print(table)
    for image in dict.fromkeys(kernel.image for kernel in kernels.values()):
        console.print(str(image), soft_wrap=True, markup=False)


def print_items(console: Console, items: Sequence[Item], nothing: str) -> None:
    """Print cache entries and their total size, or ``nothing``."""
    if not items:
        console.print(nothing)
        return
    table = _table("kind", "key", "what it is", "size", "last used")
    for item in items:
        what = f"{item.title}: {item.damage}" if item.damage else item.title
        used = datetime.fromtimestamp(item.last_used).strftime("%Y-%m-%d %H:%M")
        table.add_row(item.kind, item.key[:10], what, decimal(item.size), used)
    console.print(table)
    console.print(f"{decimal(sum(item.size for item in items))} in total")


def print_runs(console: Console, runs: Sequence[RunSummary]) -> None:
    """Print the stored runs."""
    if not runs:
        console.print(f"No runs yet. Start one: {as_typed('temper price kstack')}")
        return
    print_chosen_runs(console, runs)
    console.print(f"'{as_typed('temper report RUN')}' shows one.")


def print_shard(console: Console, shard: Shard, folder: Path) -> None:
    """Say where a shard's boots are, and what to do with them."""
    console.print(f"Shard {shard} is done. Its boots are in")
    console.print(str(folder), soft_wrap=True, markup=False)
    merge = as_typed("temper merge FOLDER...")
    console.print(f"'{merge}' puts those of all {shard.count} shards together.")


def print_chosen_runs(console: Console, runs: Iterable[RunSummary]) -> None:
    """Print some of the stored runs."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("run", justify="right", no_wrap=True)
    table.add_column("kind", no_wrap=True)
    table.add_column("feature or kernel", overflow="fold")
    table.add_column("machine", overflow="fold", max_width=_MACHINE)
    table.add_column("started (UTC)", no_wrap=True)
    table.add_column("state", no_wrap=True)
    for run in runs:
        table.add_row(
            str(run.id),
            run.kind,
            _measured(run),
            " ".join(filter(None, (run.machine, run.arch, run.setting))),
            run.started.strftime("%Y-%m-%d %H:%M"),
            _state(run),
        )
    console.print(table, width=WIDTH)


def _measured(run: RunSummary) -> str:
    """Return the feature, or the release of the kernel that was audited."""
    if run.kind == Kind.AUDIT and run.title:
        return run.title.split()[0].removeprefix("linux-image-")
    return run.feature


_MACHINE = len("tcg x86_64")
"""A setting goes into a second line."""


def _state(run: RunSummary) -> str:
    if run.damaged:
        return "damaged"
    if not run.current:
        return "other version"
    shard = f"shard {run.shard}" if run.shard else ""
    if run.finished:
        return shard or "finished"
    made = f"{run.boots_done} of {run.boots_planned}"
    return f"{shard}: {made}" if shard else f"{made} boots"


def kernels_as_data(kernels: Mapping[str, Kernel]) -> dict[str, dict[str, str]]:
    """Return what ``temper build --json`` writes: variant -> its kernel."""
    return {
        variant: {
            "key": kernel.key,
            "image": str(kernel.image),
            "release": kernel.release,
            "config_hash": kernel.config_hash,
            "compiler": kernel.compiler,
        }
        for variant, kernel in kernels.items()
    }


def _variants(kind: str, variants: Mapping[str, Variant]) -> Table:
    table = _table(kind, "expected", "what it is; its command line")
    for name, variant in variants.items():
        table.add_row(name, _expected(variant), variant.title)
        table.add_row("", "", f"[dim]{variant.cmdline}[/]")
    return table


def _expected(variant: Variant) -> str:
    if isinstance(variant.expect, Outcome):
        return variant.expect
    return "\n".join(f"{proof} {wanted}" for proof, wanted in variant.expect.items())


def _table(*columns: str) -> Table:
    table = Table(box=SIMPLE_HEAD, width=WIDTH, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table
