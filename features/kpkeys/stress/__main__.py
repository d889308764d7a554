"""Boot debug kernels with our series and give them all to do that changes page tables.

``python features/kpkeys/stress [--seconds N] [KERNEL ...]``. Ends with status 1 if
anything was wrong, or if something was never done.
"""

import argparse
import re
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from debug_kernels import KERNELS, debug_kernel
from findings import Findings, findings

from temper.arch import arch_named
from temper.catalog import feature_named
from temper.errors import BootError
from temper.exits import exit_with_message
from temper.kernel import Cache, Kernel, build_module
from temper.machine import DEFAULT_KIND, BootRequest, Limits, Watcher, kind_named
from temper.machine.qemu import qemu_version
from temper.report.progress import on_stderr
from temper.run.initramfs import pack
from temper.run.prepare import Workshop
from temper.run.programs import build_programs, programs, target_programs

_FOLDER = Path(__file__).parent
_SOURCES = ("stress.c", "work_memory.c", "work_system.c")
_MODULES = ("churn", "plug")
_CPUS = 2
# The kernel is to see half of it; plug.c gives it more for a while.
_MEMORY, _CMDLINE = 512, "mem=256M"
_MACHINES = {"max": "", "qemu64,+pks": "pti=on"}
"""CPU model -> kernel command line: five levels; four, and page table isolation."""


@dataclass(frozen=True)
class Stress:
    """Kernels under stress for ``seconds`` of the guest's time each."""

    workshop: Workshop
    seconds: int

    def boots(self, names: list[str]) -> Iterator[tuple[str, Findings]]:
        """Boot each kernel on each machine; yield what was booted and found."""
        feature = feature_named("kpkeys")
        for name in names:
            kernel = debug_kernel(self.workshop, feature, name)
            for cpu, cmdline in _MACHINES.items():
                title = f"{name}, -cpu {cpu} {cmdline}".rstrip()
                with self.workshop.progress.task(f"Stress: {title}"):
                    found = self._boot(kernel, cpu, cmdline)
                yield title, found

    def _boot(self, kernel: Kernel, cpu: str, cmdline: str) -> Findings:
        shop = self.workshop
        # A debug kernel on a busy host: slow, not hung.
        limits = Limits(silence=600, total=1800 + 10 * self.seconds)
        machine = kind_named(DEFAULT_KIND)(shop.arch, shop.cache, shop.progress, limits)
        with tempfile.TemporaryDirectory(prefix="temper-") as folder:
            work = Path(folder)
            request = BootRequest(
                image=kernel.image,
                initramfs=work / "initramfs",
                cmdline=f"{_CMDLINE} {cmdline}".rstrip(),
                cpu=cpu,
                exact=False,
                cpus=_CPUS,
                memory=_MEMORY,
            )
            job = [f"channel {machine.channel}", f"run stress {self.seconds}"]
            pack(job, self._files(kernel), work)
            try:
                result = machine.boot(request, work, Watcher(threading.Event()))
            except BootError as error:
                return findings((), error.console, [error.message])
            return findings(result.records, result.console)

    def _files(self, kernel: Kernel) -> list[Path]:
        shop = self.workshop
        host = (shop.arch, shop.cache, shop.progress)
        modules = [
            build_module(kernel, _FOLDER / f"{name}.c", shop.cache, shop.progress)
            for name in _MODULES
        ]
        stress = programs(shop.arch, _FOLDER, {"stress": _SOURCES}, "stress")
        built = [
            path
            for planned in (target_programs(shop.arch), stress)
            for path in build_programs(planned, *host)
        ]
        return [*built, *modules]


def _keep_log(cache: Cache, title: str, found: Findings) -> Path:
    """Write what the kernel said to a file of its own."""
    cache.logs.mkdir(exist_ok=True)
    name = "-".join(re.findall(r"\w+", title))
    path = cache.logs / f"kpkeys-stress-{name}.log"
    path.write_text(found.console, encoding="utf-8")
    return path


def _print(title: str, seconds: int, found: Findings, log: Path) -> None:
    print(f"\n{title}: {seconds} s, log {log}")
    for name, value in found.counters.items():
        print(f"  {name:28}{value:>10}")
    for line in found.bad:
        print(f"  WRONG: {line}")
    for name in found.missing:
        print(f"  NEVER DONE: {name}")
    print("  clean" if found.clean else "  not clean", flush=True)


def main() -> int:
    """Read the command line and do it; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=180)
    parser.add_argument("kernels", nargs="*", choices=[[], *KERNELS], metavar="KERNEL")
    asked = parser.parse_args()
    workshop = Workshop(arch_named("x86_64"), Cache(), on_stderr())
    # Without QEMU no kernel is worth building.
    qemu_version(workshop.arch.qemu)
    clean = True
    for title, found in Stress(workshop, asked.seconds).boots(
        asked.kernels or list(KERNELS)
    ):
        log = _keep_log(workshop.cache, title, found)
        _print(title, asked.seconds, found, log)
        clean = clean and found.clean
    return 0 if clean else 1


if __name__ == "__main__":
    with exit_with_message():
        sys.exit(main())
