"""Attacks that a feature makes from outside: by a debugger, while a program runs."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from temper.extension import attack_named
from temper.kernel import Debugged
from temper.machine import Attack, Gdb
from temper.paths import absolute
from temper.record.plan import Outside, ProofPlan
from temper.record.wire import Samples
from temper.run.scripts import blaming


@dataclass(frozen=True)
class Target:
    """What an attack has to work with."""

    gdb: Gdb
    """The guest, which stands still."""
    kernel: Debugged
    """What is known of its kernel."""
    samples: int
    """As the proof has it."""


def attack(outside: Outside, proof: ProofPlan, kernel: Debugged) -> Attack:
    """Return what attacks a guest for a proof.

    It raises what ``temper.machine.Gdb`` does, and InputError if it has a bug. What it
    has found by then counts.
    """
    folder = Path(absolute(outside.folder))
    function = attack_named(folder, proof.outside)
    _, samples, *_ = proof.line.split()

    def attacked(gdb: Gdb) -> Iterator[Samples]:
        with blaming(f"the attack '{proof.outside}'", folder):
            for name, values in function(Target(gdb, kernel, int(samples))):
                yield Samples(n=0, type="samples", name=name, values=list(values))

    return attacked
