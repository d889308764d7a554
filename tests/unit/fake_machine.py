"""A machine in name only, and runs small enough to boot on it in a blink."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from temper.machine import BootRequest, BootResult, MachineFacts, Watcher
from temper.run.campaign import Setup
from temper.run.facts import Kind, RunPlan, Slot
from temper.run.plans import Planned
from temper.run.wire import AnyRecord, parse_record

PROGRAMS = 2
"""Programs in the job of every boot."""

Behaviour = Callable[[Watcher], BootResult]


def result(*statuses: int, console: str = "[    0.000000] Linux\n") -> BootResult:
    """Return a boot whose programs ended with ``statuses``, by default well."""
    fields: list[dict[str, Any]] = [
        {
            "type": "boot",
            "protocol": 1,
            "release": "6.12.117",
            "clocksource": "tsc",
            "cpus": 1,
        }
    ]
    for status in statuses or (0,) * PROGRAMS:
        fields.append({"type": "start", "program": "syscall getpid 100 10"})
        fields.append(
            {"type": "exit", "program": "syscall getpid 100 10", "status": status}
        )
    fields.append({"type": "end"})
    records: list[AnyRecord] = [
        parse_record({"n": n, **each}) for n, each in enumerate(fields)
    ]
    return BootResult(records, console, wall_seconds=0.1)


@dataclass
class FakeMachine:
    """Boots as it is told to for each variant; well, where it is told nothing."""

    behaviours: dict[str, Behaviour] = field(default_factory=dict)
    booted: list[str] = field(default_factory=list)
    """Variants, in the order their boots began."""
    prepared: int = 0
    name: str = "fake"
    channel: str = "/dev/fake"
    lock: threading.Lock = field(default_factory=threading.Lock)

    def prepare(self) -> None:
        self.prepared += 1

    def facts(self, request: BootRequest) -> MachineFacts:
        return MachineFacts(
            clock="none",
            unit="instructions",
            cpus=request.cpus,
            cpu_model=request.cpu,
            qemu_version="0",
            qemu_command="none",
            cmdline=f"console=none {request.cmdline}",
            plugin="",
        )

    def boot(self, request: BootRequest, work: Path, watcher: Watcher) -> BootResult:
        with self.lock:
            self.booted.append(request.cmdline)
        assert request.initramfs.is_file()
        for done in range(PROGRAMS):
            watcher.on_program(done)
        behaviour = self.behaviours.get(request.cmdline)
        return behaviour(watcher) if behaviour else result()


def planned(
    folder: Path, variants: Sequence[str] = ("off", "stock"), repeats: int = 2
) -> Planned:
    """Plan boots of ``variants``; a variant's command line is its name."""
    program = folder / "syscall"
    program.write_text("not really a program")
    setups = {
        variant: Setup(
            image=folder / "bzImage",
            kernel_key="3f9c",
            config_hash="81d0",
            compiler="gcc",
            cmdline=variant,
            cpu="max",
            exact=True,
            cpus=2,
            job=("settle 3", *("run syscall getpid 100 10",) * PROGRAMS),
            files=(program,),
        )
        for variant in variants
    }
    plan = RunPlan(
        kind=Kind.PRICE,
        feature="kstack",
        arch="x86_64",
        machine="fake",
        baseline=variants[0],
        slots=tuple(
            Slot(variant=variant, repeat=repeat)
            for repeat in range(repeats)
            for variant in variants
        ),
        command="uv run temper price kstack",
        params={"setups": {variant: {"kernel": "3f9c"} for variant in variants}},
        temper_version="0.1.0",
    )
    return Planned(plan, setups)
