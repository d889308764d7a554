"""A machine in name only, and runs small enough to boot on it in a blink."""

import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from made_up import kernel_facts, machine_facts, run_plan
from temper.arch import arch_named
from temper.errors import InputError
from temper.machine import BootRequest, BootResult, Clock, Guest, Needs, Watcher
from temper.machine.qemu import led_words
from temper.record.boot import MachineFacts
from temper.record.wire import AnyRecord, parse_record
from temper.run.prepare import Prepared, Setup

PROGRAMS = 2
"""Programs in the job of every boot."""

FAKE_QEMU = Path(__file__).with_name("fake_qemu.py")
Behaviour = Callable[[Watcher], BootResult]


def result(
    *statuses: int,
    console: str = "[    0.000000] Linux\n",
    program: str = "syscall getpid 100 10",
) -> BootResult:
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
        fields.append({"type": "start", "program": program})
        fields.append({"type": "exit", "program": program, "status": status})
    fields.append({"type": "end"})
    records: list[AnyRecord] = [
        parse_record({"n": n, **each}) for n, each in enumerate(fields)
    ]
    return BootResult(records, console)


@dataclass
class FakeMachine:
    """Boots as it is told to for each variant; well, where it is told nothing."""

    behaviours: dict[str, Behaviour] = field(default_factory=dict)
    booted: list[str] = field(default_factory=list)
    """Variants, in the order their boots began."""
    prepared: int = 0
    requests: list[BootRequest] = field(default_factory=list)
    """Of boots that did a job, in the order they began."""
    led: list[BootRequest] = field(default_factory=list)
    """What guests that were led were asked for."""
    patience: float = 20
    """Of guests that are led."""
    at_once: int = 2
    """Boots."""
    unknown_cpu: str = ""
    """A CPU model that it has not."""
    version: str = "0.1"
    name: str = "fake"
    channel: str = "/dev/fake"
    lock: threading.Lock = field(default_factory=threading.Lock)

    def clock(self, exact: bool) -> Clock:
        return Clock("a made-up clock", "instructions", exact)

    def needs(self, exact: bool) -> Needs:
        return Needs("", ())

    def boots_at_once(self, cpus: int, memory: int) -> int:
        return self.at_once

    def boot_memory(self, memory: int) -> int:
        return 1

    def tools(self) -> dict[str, str]:
        return {"QEMU": self.version}

    def check_cpu(self, model: str) -> None:
        if model == self.unknown_cpu:
            raise InputError(f"no CPU model '{model}'")

    def prepare(self) -> None:
        self.prepared += 1

    def facts(self, request: BootRequest) -> MachineFacts:
        return machine_facts(
            name=self.name,
            cpus=request.cpus,
            cpu_model=request.cpu,
            cmdline=f"console=none {request.cmdline}",
        )

    def boot(self, request: BootRequest, work: Path, watcher: Watcher) -> BootResult:
        with self.lock:
            self.booted.append(request.cmdline)
            self.requests.append(request)
        assert request.initramfs.is_file()
        for done in range(PROGRAMS):
            watcher.on_program(done)
        behaviour = self.behaviours.get(request.cmdline)
        return behaviour(watcher) if behaviour else result()

    def lead(self, request: BootRequest, work: Path, watcher: Watcher) -> Guest:
        assert request.led
        assert request.initramfs.is_file()
        with self.lock:
            self.led.append(request)
        words = ("-init", request.cmdline, *led_words(arch_named("x86_64"), work))
        command = [sys.executable, str(FAKE_QEMU), *words]
        return Guest(command, work, self.patience, watcher)


def prepared(
    folder: Path, variants: Sequence[str] = ("off", "stock"), repeats: int = 2
) -> Prepared:
    """Prepare boots of ``variants``; a variant's command line is its name."""
    program = folder / "syscall"
    program.write_text("not really a program")
    setup = Setup(folder / "bzImage", kernel_facts(key="3f9c"), (program,))
    plan = run_plan(variants, repeats, machine="fake")
    return Prepared(plan, dict.fromkeys(variants, setup))
