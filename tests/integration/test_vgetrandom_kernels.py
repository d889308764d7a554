"""libvgetrandom on kernels of others: one without the vDSO function, one for arm64."""

import re
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from debian_kernel import debian_kernel
from lab import init_program, kernel_of
from vgetrandom import static_programs

from temper.arch import ARCHES
from temper.catalog import feature_named
from temper.kernel import Cache
from temper.machine import BootRequest, BootResult, Watcher
from temper.machine.tcg import Tcg
from temper.progress import Quiet
from temper.record.wire import Boot, Exit
from temper.run.initramfs import pack

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1800)]

CPUS = 2
# The library's own tests that are quick on emulated CPUs too, with fewer rounds.
OF_ALL_KERNELS = ("chacha20_vectors", "chacha20_lengths")
OF_THE_VDSO = ("memory_core", "threads_churn 300", "threads_no_key", "vdso_fuzz 20000")
TARGETS = (
    "guest-programs",
    *(program.split()[0] for program in (*OF_ALL_KERNELS, *OF_THE_VDSO)),
)
COMPLAINTS = re.compile(r".*\b(?:BUG|WARNING)\b.*")
# That a busy host makes a guest slow is none.
NO_WATCHDOG = "nowatchdog"


@dataclass(frozen=True)
class Case:
    """A kernel, and what its vDSO makes of the library."""

    arch: str
    series: str
    image: Callable[[str], Path]
    """Finds or builds it for an architecture."""
    served_by: str


# What make check builds anyway.
CONTROLS = {"x86_64": ("kstack", "stock"), "arm64": ("scs-switch", "reverted")}


def lab_kernel(arch: str) -> Path:
    """Return what the lab's own runs boot."""
    feature, variant = CONTROLS[arch]
    kernel = kernel_of(feature_named(feature), variant, ARCHES[arch])
    assert "CONFIG_VDSO_GETRANDOM=y\n" in kernel.config.read_text()
    return kernel.image


CASES = {
    "without the function": Case(
        "x86_64", "6.1", lambda _: debian_kernel("6.1"), "system-calls"
    ),
    "x86_64": Case("x86_64", "6.12", lab_kernel, "vdso"),
    "arm64": Case("arm64", "6.12", lab_kernel, "vdso"),
}


def programs_for(case: Case) -> list[str]:
    """Return the command lines of what is run in the guest."""
    own = [f"{name} {case.served_by}" for name in ("served", "counted")]
    return [*own, *OF_ALL_KERNELS, *(OF_THE_VDSO if case.served_by == "vdso" else ())]


def boot(case: Case, work: Path) -> BootResult:
    """Run the programs; what they print is on the console."""
    arch = ARCHES[case.arch]
    built = static_programs(arch, TARGETS)
    machine = Tcg(arch, Cache(), Quiet())
    job = [f"channel {machine.channel}"]
    job += [f"run to_console {program}" for program in programs_for(case)]
    request = BootRequest(
        image=case.image(case.arch),
        initramfs=pack(job, [init_program(arch), *built.values()], work),
        cmdline=NO_WATCHDOG,
        cpu="",
        exact=False,
        cpus=CPUS,
    )
    return machine.boot(request, work, Watcher(threading.Event()))


@pytest.fixture(scope="module", params=CASES)
def booted(request: pytest.FixtureRequest) -> tuple[Case, BootResult]:
    case = CASES[request.param]
    with tempfile.TemporaryDirectory() as folder:
        return case, boot(case, Path(folder))


def test_the_library_works(booted: tuple[Case, BootResult]) -> None:
    case, result = booted
    statuses = {
        record.program.removeprefix("to_console "): record.status
        for record in result.records
        if isinstance(record, Exit)
    }
    assert statuses == dict.fromkeys(programs_for(case), 0), result.console


def test_the_kernel_does_not_complain(booted: tuple[Case, BootResult]) -> None:
    case, result = booted
    first = result.records[0]
    assert isinstance(first, Boot)
    assert first.release.startswith(f"{case.series}.")
    assert COMPLAINTS.findall(result.console) == []
