"""The command that builds a QEMU of our own, and checks it."""

import typer

from temper.cli.output import console
from temper.kernel import Cache
from temper.machine.qemu.overlays import OverlayCheck, check_overlays
from temper.machine.qemu.own import OwnQemu, own_qemu
from temper.report.progress import on_stderr

app = typer.Typer()


@app.command()
def emulator() -> None:
    """Build a QEMU that emulates arm64's permission overlays, and check it.

    No packaged QEMU has them (FEAT_S1POE). Exit status 1 means that an access did not
    do what the architecture says.
    """
    progress = on_stderr()
    qemu = own_qemu(Cache(), progress)
    with progress.task("Trying each access under each overlay"):
        found = check_overlays(qemu.program)
    _show(qemu, found)
    if found.differences:
        raise typer.Exit(1)


def _show(qemu: OwnQemu, found: OverlayCheck) -> None:
    out = console()
    out.print(f"{qemu.program}", soft_wrap=True)
    out.print(f"QEMU {qemu.version}, with {', '.join(qemu.patches)}", soft_wrap=True)
    for line in found.shown:
        out.print(line, soft_wrap=True)
    out.print(
        f"{found.tries:,} accesses: {found.differences:,} did not do what the "
        "architecture says"
    )
