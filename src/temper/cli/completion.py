"""Completes names on the command line."""

from collections.abc import Callable, Collection, Iterator
from contextlib import suppress

import typer

from temper import catalog
from temper.arch import ARCHES
from temper.catalog import read_feature
from temper.errors import InputError
from temper.kernel import base_names
from temper.options import all_options
from temper.paths import FEATURES
from temper.workloads import all_workloads, comparable_workloads


def complete_feature(begun: str) -> list[str]:
    """Return the features whose names start with ``begun``."""
    return [name for name in catalog.feature_names() if name.startswith(begun)]


def complete_arch(begun: str) -> list[str]:
    """Return the architectures whose names start with ``begun``."""
    return [name for name in ARCHES if name.startswith(begun)]


def complete_setting(begun: str) -> list[str]:
    """Return the settings of any architecture whose names start with ``begun``."""
    names = {name for arch in ARCHES.values() for name in arch.settings}
    return sorted(name for name in names if name.startswith(begun))


def complete_base(begun: str) -> list[str]:
    """Return the bases of kernels whose names start with ``begun``."""
    return [name for name in base_names() if name.startswith(begun)]


def complete_options(incomplete: str) -> list[str]:
    """Complete a comma-separated list of hardening options."""
    begun, comma, last = incomplete.rpartition(",")
    with suppress(InputError):
        left = sorted(all_options().keys() - set(begun.split(",")))
        return [begun + comma + name for name in left if name.startswith(last)]
    return []


def complete_part(table: str) -> Callable[[typer.Context, str], list[str]]:
    """Complete a comma-separated list of names from a feature's ``table``."""

    def complete(context: typer.Context, incomplete: str) -> list[str]:
        begun, comma, last = incomplete.rpartition(",")
        # The parser leaves the words of an incomplete line in args.
        features = set(catalog.feature_names())
        named = features & {context.params.get("feature"), *context.args}
        names = set(_names(table, named or features))
        left = sorted(names - set(begun.split(",")))
        return [begun + comma + name for name in left if name.startswith(last)]

    return complete


def _names(table: str, features: Collection[str]) -> Iterator[str]:
    for feature in features:
        # A shell has no use for the message of a feature that is not readable.
        with suppress(InputError):
            yield from getattr(read_feature(FEATURES / feature), table)


def _complete_workload(
    known: Callable[[], tuple[str, ...]],
) -> Callable[[typer.Context, str], list[str]]:
    """Return what completes a workload of those ``known`` that was not named yet."""

    def complete(context: typer.Context, incomplete: str) -> list[str]:
        named = {*(context.params.get("workload") or ()), *context.args}
        left = (name for name in known() if name not in named)
        return [name for name in left if name.startswith(incomplete)]

    return complete


complete_variants = complete_part("variants")
complete_attacked = complete_part("all_variants")
complete_proofs = complete_part("proofs")
complete_workloads = complete_part("workloads")
complete_workload = _complete_workload(all_workloads)
complete_comparable = _complete_workload(comparable_workloads)
