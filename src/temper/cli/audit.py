"""The command that attacks what a kernel as shipped promises."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from temper.analysis.audit import audit_report
from temper.analysis.joined import CHECKER_LINES, CheckerLine, joined
from temper.arch import DEFAULT_ARCH
from temper.cli.completion import complete_options
from temper.cli.files import CsvPath, Files, JsonPath, JunitPath, KtapPath
from temper.cli.lab import Lab
from temper.cli.options import (
    ArchName,
    Base,
    CpuModel,
    Full,
    OnlyPlan,
    OnPlace,
    Resume,
    ShardOf,
    SourcePath,
    listed,
)
from temper.cli.output import write_data
from temper.cli.reports import status_of
from temper.errors import InputError
from temper.record.plan import USUAL_BASE
from temper.run.audit import plan_audit

app = typer.Typer()


@app.command()
def audit(
    image: Annotated[
        Path,
        typer.Argument(
            help="The kernel: an image, a Debian package, or the folder of a build.",
            metavar="VMLINUZ",
        ),
    ],
    options: Annotated[
        str | None,
        typer.Option(
            help="Attack only these options (comma-separated).",
            autocompletion=complete_options,
            metavar="NAMES",
        ),
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(
            help="A TOML file with the options that must be BLOCKED, or at least "
            "DETECTED; exit status 1 if one is not.",
            metavar="FILE",
        ),
    ] = None,
    headers: Annotated[
        Path | None,
        typer.Option(
            help="The folder of the kernel's build, or of its headers. Default: beside "
            "the image, installed, or in Debian's packages.",
            metavar="FOLDER",
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            help="The kernel's configuration, which the report compares with what "
            "kernel-hardening-checker wants. Default: beside the "
            "image, or its headers'.",
            metavar="FILE",
        ),
    ] = None,
    cmdline: Annotated[
        str, typer.Option(help="More of the kernel's command line.", metavar="WORDS")
    ] = "",
    join: Annotated[
        str | None,
        typer.Option(
            help="Read the lines of kernel-hardening-checker -m json (-: stdin), and "
            "write them to stdout with what was proven of each, instead of the report.",
            metavar="FILE",
        ),
    ] = None,
    twins: Annotated[
        bool,
        typer.Option(
            "--twins",
            help="Also build two kernels of the base, one with the options off that "
            "nothing else weakens and one with them on, and attack them.",
        ),
    ] = False,
    base: Base = USUAL_BASE,
    arch: ArchName = DEFAULT_ARCH.name,
    cpu: CpuModel = "",
    source: SourcePath = None,
    resume: Resume = None,
    shard: ShardOf = None,
    on: OnPlace = None,
    only_plan: OnlyPlan = False,
    full: Full = False,
    json: JsonPath = None,
    csv: CsvPath = None,
    ktap: KtapPath = None,
    junit: JunitPath = None,
) -> None:
    """Say which hardening options of a kernel really stop an attack.

    It needs no build of the kernel: it boots the image as it is, with attacks as
    modules and programs, and again with each option weakened or switched on. Exit
    status 0 means that all boots ran and the policy is met, 77 that the kernel does not
    load the modules.
    """
    files = Files(json=json, csv=csv, ktap=ktap, junit=junit)
    if join and shard:
        raise InputError("a shard has no report to join", "leave out --join")
    # Whatever is wrong with it shows before anything is booted.
    lines = _checker_lines(join) if join else None
    lab = Lab.of(arch, source, cpu=cpu, base=base, shard=shard, on=on)
    plan = plan_audit(
        lab.planner,
        image,
        listed(options),
        policy,
        headers,
        config,
        cmdline,
        twins=twins,
    )
    if lines is None or only_plan:
        return lab.carry_out(plan, files, resume, only_plan=only_plan, full=full)
    report = audit_report(lab.run(plan, resume))
    files.write(report)
    write_data("-", joined(lines, report))
    if status := status_of(report):
        raise typer.Exit(status)


def _checker_lines(file: str) -> list[CheckerLine]:
    """Read what kernel-hardening-checker found; raise InputError if it is not that."""
    name = "stdin" if file == "-" else file
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text("utf-8")
        return CHECKER_LINES.validate_json(text)
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror}") from error
    except ValidationError as error:
        raise _no_lines(name, error.errors()[0]["msg"]) from error
    except UnicodeDecodeError as error:
        raise _no_lines(name, "it is not UTF-8") from error


def _no_lines(name: str, why: str) -> InputError:
    return InputError(
        f"{name} has no lines of kernel-hardening-checker: {why}",
        "kernel-hardening-checker -a -m json writes them",
    )
