"""Arguments and options that several commands share."""

import re
from pathlib import Path
from typing import Annotated

import typer

from temper.arch import ARCHES, DEFAULT_ARCH
from temper.cli.completion import (
    complete_arch,
    complete_base,
    complete_feature,
    complete_setting,
)
from temper.cli.output import check_output
from temper.errors import InputError
from temper.kernel import base_names

_ALL_SETTINGS = "; ".join(
    f"{', '.join(arch.settings)} ({arch.name})"
    for arch in ARCHES.values()
    if arch.settings
)

FeatureName = Annotated[
    str,
    typer.Argument(
        help="A hardening feature; [bold]temper features[/] lists them.",
        autocompletion=complete_feature,
        metavar="FEATURE",
    ),
]
ArchName = Annotated[
    str,
    typer.Option(
        "--arch", help="Architecture of the kernel.", autocompletion=complete_arch
    ),
]
Setting = Annotated[
    str,
    typer.Option(
        help="A setting of the architecture for every boot, including the baseline's: "
        f"{_ALL_SETTINGS}.",
        autocompletion=complete_setting,
        metavar="NAME",
    ),
]
CpuModel = Annotated[
    str,
    typer.Option(
        "--cpu",
        help="CPU model as QEMU names it, with properties if you like: EPYC, max,-pks, "
        "neoverse-n1. Variants that need a certain model keep it. "
        f"Default: {DEFAULT_ARCH.cpu}.",
        metavar="MODEL",
    ),
]
Base = Annotated[
    str,
    typer.Option(
        help="What kernels are built with besides the feature: "
        f"{', '.join(base_names())}. kernel/README.md says what that is.",
        autocompletion=complete_base,
        metavar="NAME",
    ),
]
PackagesFrom = Annotated[
    Path | None,
    typer.Option(
        "--packages",
        help="Take the packages of real programs from where this file of apt's sources "
        "says, which may name a suite or a snapshot. Default: as /etc/apt says.",
        metavar="FILE",
    ),
]
SourcePath = Annotated[
    Path | None,
    typer.Option(
        "--source",
        help="Linux source: a tarball, a folder or a git tree. "
        "Default: Debian's linux-source package.",
        metavar="PATH",
    ),
]
JsonPath = Annotated[
    str | None,
    typer.Option(
        "--json",
        help="Write the result as JSON; - is stdout.",
        metavar="FILE",
        callback=check_output,
    ),
]
Calls = Annotated[
    int,
    typer.Option(
        help="System calls to time in each boot; other workloads scale with it."
    ),
]
Layouts = Annotated[
    int,
    typer.Option(
        help="Layouts of memory. Each after the first is a boot more of each variant. "
        "Differences that they alone can make are not marked. 1: this is not measured.",
    ),
]
LARGEST_RUN = 2**63 - 1
"""What a database holds."""

Resume = Annotated[
    int | None,
    typer.Option(
        help="Resume this interrupted run.", metavar="RUN", min=1, max=LARGEST_RUN
    ),
]

ShardOf = Annotated[
    str | None,
    typer.Option(
        "--shard",
        help="Make only part I of N of the boots, such as 2/3; temper merge puts the "
        "parts together.",
        metavar="I/N",
    ),
]

_PLACES = re.compile(r"local|slurm|pbs|htcondor|(tcp|tls)://[^/]+:\d+")


def _check_place(context: typer.Context, place: str | None) -> str | None:
    """Return where workers are to be; raise InputError if that cannot be."""
    if place and not context.resilient_parsing and not _PLACES.fullmatch(place):
        raise InputError(
            f"'{place}' is no place for workers",
            "known: local, slurm, pbs, htcondor, tcp://HOST:PORT, tls://HOST:PORT",
        )
    return place


OnPlace = Annotated[
    str | None,
    typer.Option(
        "--on",
        help="Boot on workers of Dask: local starts some on this host, slurm (pbs, "
        "htcondor) as its jobs; tcp://HOST:PORT is a scheduler of yours.",
        metavar="PLACE",
        callback=_check_place,
    ),
]

OnlyPlan = Annotated[
    bool,
    typer.Option(
        "--plan",
        help="Print what it would build and boot and how long that takes, without "
        "doing it. With --json: the whole plan.",
    ),
]

Full = Annotated[
    bool,
    typer.Option("--full", help="Show all of the report, not only what fits a page."),
]

DEFAULT_CALLS = 1_000_000


def listed(names: str | None) -> tuple[str, ...]:
    """Split comma-separated names; None: the option was not given, so there are none.

    A name that is missing beside a comma, or altogether, is in the result as an empty
    one, which ``temper.catalog.check_known`` refuses.
    """
    return () if names is None else tuple(name.strip() for name in names.split(","))
