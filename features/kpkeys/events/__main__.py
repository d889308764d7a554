"""Put a kernel with our series through the events of a machine, and check after each.

``python features/kpkeys/events``. A line for each event; status 1 if one went wrong.
"""

import sys
from pathlib import Path

_FOLDER = Path(__file__).parent
# What is wrong in a log is the same as under stress.
sys.path.append(str(_FOLDER.parent / "stress"))

from events import EVENTS, need_firmware  # noqa: E402
from kernels import events_kernel  # noqa: E402
from machine import Machine  # noqa: E402

from temper.arch import arch_named  # noqa: E402
from temper.catalog import feature_named  # noqa: E402
from temper.errors import BootError  # noqa: E402
from temper.exits import exit_with_message  # noqa: E402
from temper.kernel import Cache, build_module  # noqa: E402
from temper.machine.qemu import qemu_version  # noqa: E402
from temper.report.progress import on_stderr  # noqa: E402
from temper.run.prepare import Workshop  # noqa: E402
from temper.run.programs import build_programs, programs  # noqa: E402

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
