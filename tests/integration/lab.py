"""What the tests with real boots share."""

import json
import tempfile
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from temper.analysis.boots import BootResults, boot_results, results_by_variant
from temper.arch import Arch, arch_named
from temper.catalog import Feature
from temper.cli import app
from temper.kernel import Cache, Kernel
from temper.machine import BootRequest, BootResult, Machine, Watcher
from temper.machine.tcg import Tcg
from temper.progress import Quiet
from temper.record.boot import StoredRun
from temper.record.plan import RunPlan, Slot
from temper.record.wire import AnyRecord, Samples
from temper.run.execute import execute
from temper.run.planner import Planner
from temper.run.prepare import Prepared, Workshop, prepare
from temper.run.programs import build_programs, programs, target_programs
from temper.run.threads import threads
from temper.store import Store
from temper.workloads import TARGET

ARCH = arch_named("x86_64")
ARM64 = ("--arch", "arm64")
ONE_LAYOUT = ("--layouts", "1")
"""For a price that is not looked at for its spread: fewer boots."""
CALLS = 200_000
"""So many that several ticks fall into every workload; boots take longer still."""
ARM64_CALLS = 20_000
"""Fewer: calls are ten times as slow there."""
TICKLESS_CALLS = (100, 120, 150, 200, 300)
"""So few that hardly ever one does; where one does, another number moves it away."""
SYSCALLS = ("syscall/getpid", "syscall/getppid", "syscall/invalid")
QUANTILES = ("p50", "p99", "p99.9")
VARIANTS = ("off", "stock", "lfsr", "floor", "temper", "temper-off")
PRICED = ("off", "stock", "temper", "temper-off")
"""Variants of kstack that make check prices."""
ATTACKED = ("off", "temper")
"""Variants of kstack that make check attacks; make check-all, its sabotages as well."""

# Another compiler makes other code of the same source.
KNOWN_RELEASE = "6.12.117"
KNOWN_COMPILERS = {
    "x86_64": "gcc (Debian 12.2.0-",
    "arm64": "aarch64-linux-gnu-gcc (Debian 12.2.0-",
}


def params(names: Iterable[str], often: Collection[str]) -> list[object]:
    """Return what a test is to take; all but ``often`` only in make check-all."""
    return [
        pytest.param(name, marks=() if name in often else pytest.mark.check_all)
        for name in names
    ]


@dataclass(frozen=True)
class Answer:
    """What a command that reports gave."""

    status: int
    output: str
    report: dict[str, Any]
    run: StoredRun

    def prices(
        self, workload: str, variant: str, without_ticks: bool = True
    ) -> dict[str, tuple[float, float]]:
        """Return result class -> value of the baseline, difference of a variant."""
        wanted = (workload, variant, without_ticks)
        return {
            row["class"]: (row["baseline_value"], row["delta"])
            for row in self.report["rows"]
            if (row["workload"], row["variant"], row["without_ticks"]) == wanted
        }

    def deltas(
        self, workload: str, variant: str, without_ticks: bool = True
    ) -> dict[str, float]:
        """Return the differences of a variant from the baseline by result class."""
        prices = self.prices(workload, variant, without_ticks)
        return {name: delta for name, (_, delta) in prices.items()}

    def class_delta(self, workload: str, name: str, variant: str) -> float:
        """Return the difference in instructions of a class per operation.

        A class without a row was never seen, in no variant.
        """
        wanted = (workload, name, variant)
        return sum(
            float(row["per_operation"] - row["baseline_per_operation"])
            for row in self.report["classes"]
            if (row["workload"], row["class"], row["variant"]) == wanted
        )

    def class_of_baseline(self, workload: str, name: str) -> float:
        """Return the instructions of a class per operation of the baseline."""
        counted = {
            row["class"]: float(row["baseline_per_operation"])
            for row in self.report["classes"]
            if row["workload"] == workload
        }
        return counted.get(name, 0.0)

    def kernels_share(self, workload: str) -> float:
        """Return which part of what the baseline executes is the kernel's."""
        kernel, user = (
            self.class_of_baseline(workload, f"{ring}_instructions")
            for ring in ("kernel", "user")
        )
        return kernel / (kernel + user)

    def boots(self) -> list[BootResults]:
        """Return the boots of all variants."""
        found = results_by_variant(self.run)
        return [boot for boots in found.values() for boot in boots]

    def need_known_kernel(self) -> None:
        """Skip a test whose values are those of another kernel."""
        need_known_kernel(self.report)


def need_known_kernel(report: dict[str, Any]) -> None:
    """Skip a test that knows what another kernel costs, or another compiler's."""
    known = KNOWN_COMPILERS[report["arch"]]
    for variant in report["variants"].values():
        if variant["kernel_release"] != KNOWN_RELEASE:
            pytest.skip("another kernel")
        if not variant["compiler"].startswith(known):
            pytest.skip("another compiler")


def ask(folder: Path, *command: str) -> Answer:
    """Run a command that reports, with its results in the empty ``folder``."""
    file = folder / "report.json"
    done = CliRunner().invoke(
        app,
        [*command, "--json", str(file)],
        env={"TEMPER_DATA": str(folder), "TEMPER_STORE": None},
        catch_exceptions=False,
    )
    with Store.open(f"sqlite:///{folder / 'results.db'}", folder) as store:
        run = store.load(1)
    return Answer(done.exit_code, done.output, json.loads(file.read_bytes()), run)


def planner(arch: Arch = ARCH) -> Planner:
    return Planner(arch, Cache())


def prepared(plan: RunPlan) -> Prepared:
    """Build or find all that a plan needs."""
    return prepare(plan, Cache(), Quiet())


def kernel_of(feature: Feature, variant: str, arch: Arch = ARCH) -> Kernel:
    """Build or find the kernel of a variant."""
    plan = planner(arch).kernel(feature, feature.all_variants[variant])
    return Workshop(arch, Cache(), Quiet()).kernel(plan)


def init_program(arch: Arch = ARCH) -> Path:
    """Build or find the target's init."""
    (init,) = build_programs(target_programs(arch), arch, Cache(), Quiet())
    return init


def guest_program(name: str, *include: Path) -> Path:
    """Build or find the program of ``name``.c beside the tests, for a guest."""
    folder = Path(__file__).parent
    planned = programs(
        ARCH,
        folder,
        {name: (f"{name}.c",)},
        f"tests that run {name}",
        include=[TARGET, *include],
    )
    (program,) = build_programs(planned, ARCH, Cache(), Quiet())
    return program


def samples_of(records: Iterable[AnyRecord]) -> dict[str, list[int]]:
    """Return what a guest's programs sent, by its name."""
    lists: dict[str, list[int]] = {}
    for record in records:
        if isinstance(record, Samples):
            lists.setdefault(record.name, []).extend(record.values)
    return lists


def new_machine(kind: type[Tcg] = Tcg, arch: Arch = ARCH) -> Tcg:
    return kind(arch, Cache(), Quiet())


def boots_of(
    whole: Prepared, machine: Tcg, variant: str, count: int = 1
) -> list[BootResults]:
    """Boot one variant of a run, and nothing else meanwhile if ``count`` is 1."""
    slots = tuple(Slot(variant=variant, repeat=number) for number in range(count))
    part = replace(whole, plan=whole.plan.model_copy(update={"slots": slots}))
    return [boot_results(boot) for boot in run_of(part, machine).boots]


def run_of(whole: Prepared, machine: Machine) -> StoredRun:
    """Carry out a run, with a store of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (
            Store.open(f"sqlite:///{folder / 'results.db'}", folder) as store,
            threads(whole, machine) as engine,
        ):
            return execute(engine, store, Quiet())


class WithoutPlugin(Tcg):
    """Exact as ever, but nobody counts classes."""

    def boot(self, request: BootRequest, work: Path, watcher: Watcher) -> BootResult:
        return super().boot(replace(request, exact=False), work, watcher)

    def _command(self, request: BootRequest, work: Path) -> list[str]:
        return super()._command(replace(request, exact=True), work)


class WithoutFlag(Tcg):
    """Leaves out a flag of QEMU and its value."""

    flag = ""

    def _command(self, request: BootRequest, work: Path) -> list[str]:
        command = super()._command(request, work)
        at = command.index(self.flag)
        return command[:at] + command[at + 2 :]


class WithoutIcount(WithoutFlag):
    flag = "-icount"


class WithoutSeed(WithoutFlag):
    flag = "-seed"
