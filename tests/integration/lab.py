"""What the tests with real boots share."""

import json
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from temper.arch import arch_named
from temper.cli import app
from temper.kernel import Cache
from temper.machine import BootRequest, BootResult, Tcg, Watcher
from temper.progress import Quiet
from temper.report.boots import BootResults, boot_results
from temper.run.execute import execute
from temper.run.facts import Slot, StoredRun
from temper.run.plans import Planned
from temper.store import Store

ARCH = arch_named("x86_64")
CALLS = 200_000
"""So many that several ticks fall into every workload; boots take longer still."""
TICKLESS_CALLS = (300, 280, 260, 240)
"""So few that hardly ever one does; where one does, another number moves it away."""
SYSCALLS = ("syscall/getpid", "syscall/getppid", "syscall/invalid")
QUANTILES = ("p50", "p99", "p99.9")


@dataclass(frozen=True)
class Answer:
    """What a command that reports gave."""

    status: int
    output: str
    report: dict[str, Any]
    run: StoredRun

    def deltas(self, workload: str, without_ticks: bool = True) -> dict[str, float]:
        """Return the differences of a price's only variant by result class."""
        return {
            row["class"]: row["delta"]
            for row in self.report["rows"]
            if (row["workload"], row["without_ticks"]) == (workload, without_ticks)
        }

    def class_delta(self, workload: str, name: str) -> float:
        """Return the difference in instructions of a class per operation."""
        (row,) = (
            row
            for row in self.report["classes"]
            if (row["workload"], row["class"]) == (workload, name)
        )
        return float(row["per_operation"] - row["baseline_per_operation"])


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


def new_machine(kind: type[Tcg] = Tcg) -> Tcg:
    return kind(ARCH, Cache(), Quiet())


def boots_of(
    planned: Planned, machine: Tcg, variant: str, count: int = 1
) -> list[BootResults]:
    """Boot one variant of a plan, and nothing else meanwhile if ``count`` is 1."""
    slots = tuple(Slot(variant=variant, repeat=number) for number in range(count))
    plan = planned.plan.model_copy(update={"slots": slots})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with Store.open(f"sqlite:///{folder / 'results.db'}", folder) as store:
            run = execute(replace(planned, plan=plan), machine, store, Quiet())
    return [boot_results(boot) for boot in run.boots]


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
