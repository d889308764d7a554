"""Put a kernel with our series through the events of a machine, and check after each.

``python features/kpkeys/events``. A line for each event; status 1 if one went wrong.
"""

import sys
from pathlib import Path

from events import EVENTS, need_firmware
from kernels import events_kernel
from machine import Machine

from temper.arch import arch_named
from temper.catalog import feature_named
from temper.errors import BootError
from temper.exits import exit_with_message
from temper.kernel import Cache, build_module
from temper.machine.qemu import qemu_version
from temper.report.progress import on_stderr
from temper.run.prepare import Workshop
from temper.run.programs import build_programs, programs

_FOLDER = Path(__file__).parent

# The first CPU with keys for the kernel. Machine checks are handled by its name.
_CPU = "max,vendor=GenuineIntel,family=6,model=143"
_MACHINES = {
    "five levels": (_CPU, "pti=off"),
    "four levels, isolation": (f"{_CPU},-la57", "pti=on"),
}


def _machines(workshop: Workshop) -> dict[str, Machine]:
    kernel = events_kernel(workshop, feature_named("kpkeys"))
    host = (workshop.arch, workshop.cache, workshop.progress)
    planned = programs(workshop.arch, _FOLDER, {"init": ("init.c",)}, "events")
    init = build_programs(planned, *host)
    source = _FOLDER / "kpkeys_events.c"
    module = build_module(kernel, source, workshop.cache, workshop.progress)
    return {
        title: Machine(workshop.arch, kernel.image, (*init, module), cpu, cmdline)
        for title, (cpu, cmdline) in _MACHINES.items()
    }


def main() -> int:
    """Go through all events on all machines; return the exit status."""
    workshop = Workshop(arch_named("x86_64"), Cache(), on_stderr())
    # Without these no kernel is worth building.
    qemu_version(workshop.arch.qemu)
    need_firmware()
    failed = 0
    for title, machine in _machines(workshop).items():
        print(f"\n{title}: -cpu {machine.cpu} {machine.cmdline}")
        for name, event in EVENTS.items():
            try:
                with workshop.progress.task(f"{name}, {title}"):
                    result = f"protected: {event(machine)}"
            except BootError as error:
                result = f"FAILED: {error}"
                failed += 1
            print(f"  {name:28}{result}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    with exit_with_message():
        sys.exit(main())
