# SPDX-License-Identifier: MIT OR Apache-2.0
"""The machine that produced the figures."""

import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vgetrandom_bench.host import call

_GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
_TIMEOUT = 20


@dataclass(frozen=True)
class Machine:
    """What determines the speed, apart from the code."""

    cpu: str
    cpus: int
    """The CPUs that this process may use."""
    hypervisor: str
    """Empty if none is visible."""
    governor: str
    """Empty if it is not visible, as in most virtual machines."""
    kernel: str
    libc: str
    compiler: str
    load: float
    """The average number of runnable programs in the minute before."""

    def lines(self) -> Iterator[str]:
        """Yield the facts for the head of a table."""
        yield f"CPU       {self.cpu}, {self.cpus} usable"
        yield f"virtual   {self.hypervisor or 'no hypervisor visible'}"
        yield f"governor  {self.governor or 'not visible'}"
        yield f"kernel    {self.kernel}"
        yield f"host libc {self.libc}"
        yield f"compiler  {self.compiler}"
        yield f"load      {self.load:.1f} runnable programs when this started"


def this_machine() -> Machine:
    """Return the facts about this machine."""
    cpu = _lscpu()
    return Machine(
        cpu=cpu.get("Model name", platform.machine()),
        cpus=len(os.sched_getaffinity(0)),
        hypervisor=cpu.get("Hypervisor vendor", ""),
        governor=_GOVERNOR.read_text().strip() if _GOVERNOR.exists() else "",
        kernel=platform.release(),
        libc=os.confstr("CS_GNU_LIBC_VERSION") or "",
        compiler=_output("cc", "--version").split("\n")[0],
        load=os.getloadavg()[0],
    )


def _lscpu() -> dict[str, str]:
    # Its JSON is flat or nested, depending on the version; its text is always flat.
    fields = (line.partition(":") for line in _output("lscpu").split("\n"))
    return {name.strip(): value.strip() for name, _, value in fields}


def _output(*command: str) -> str:
    return "\n".join(call(command, Path("/"), _TIMEOUT).lines)
