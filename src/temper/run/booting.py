"""Boots a slot of a plan: its request, its job, and what became of it."""

import errno
import re
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from temper.analysis.early import EarlyLook
from temper.digest import file_digest
from temper.errors import BootError, InfraError
from temper.machine import (
    Attack,
    BootRequest,
    BootResult,
    Enough,
    Machine,
    StoppedError,
    Watcher,
)
from temper.process import SCRATCH_FULL_HINT
from temper.record.boot import BootFacts, StoredBoot
from temper.record.console import last_of_programs
from temper.record.plan import Kind, RunPlan, Slot, real_program
from temper.record.wire import UNSUPPORTED, AnyRecord, Boot, Died, Exit, unended
from temper.run.attacking import attack
from temper.run.audited import boot_on
from temper.run.initramfs import pack, pack_for_kexec
from temper.run.leading import lead
from temper.run.prepare import Prepared, Setup
from temper.scratch import scratch_folder

_NOT_STARTED = 127
_RELEASE = re.compile(r"Linux version (\S+)")


@dataclass(frozen=True)
class Booter:
    """Boots slots of a plan on a machine of this host."""

    prepared: Prepared
    machine: Machine

    @property
    def plan(self) -> RunPlan:
        """What is booted."""
        return self.prepared.plan

    @property
    def setups(self) -> Mapping[str, Setup]:
        """Variant -> what it is booted with."""
        return self.prepared.setups

    def boot(self, slot: Slot, watcher: Watcher) -> StoredBoot:
        """Return what became of a slot; a kernel that fails is a result, too.

        Raises InfraError if the host or the machine failed, StoppedError when the
        watcher asked for it.
        """
        if watcher.stop.is_set():
            raise StoppedError
        with scratch_folder() as work, _host_explained(work):
            request = self._request(slot, work)
            begun = datetime.now(UTC)
            if self.plan.kind is Kind.MUTATE and not request.exact:
                request = replace(request, enough=self._enough(slot, request, begun))
            result = BootResult([], "")
            error = ""
            try:
                result = self._carry_out(slot, request, work, watcher)
                _check_exits(self.plan, slot, result.records, result.console)
            except BootError as failure:
                error = failure.message
                records = result.records
                if request.attacks:
                    records = records or _until_death(failure)
                console = result.console or failure.console
                result = replace(result, records=records, console=console)
            return self._stored(slot, request, begun, result, error)

    def _enough(self, slot: Slot, request: BootRequest, begun: datetime) -> Enough:
        """Have a mutant's boot end as soon as something has noticed its kernel.

        Others are looked at as well, but go on: looks take time from guests, and what
        that does to proofs must show with the series as it is.
        """
        look = EarlyLook(self.plan)
        mutant = bool(self.plan.mutant_of(slot.variant))

        def enough(so_far: BootResult) -> bool:
            boot = self._stored(slot, request, begun, so_far)
            return look.has_noticed(boot) and mutant

        return enough

    def _stored(
        self,
        slot: Slot,
        request: BootRequest,
        begun: datetime,
        result: BootResult,
        error: str = "",
    ) -> StoredBoot:
        return StoredBoot(
            facts=self._facts(slot, request, begun, result, error),
            records=[record.model_dump(mode="json") for record in result.records],
            console=result.console,
        )

    def _carry_out(
        self, slot: Slot, request: BootRequest, work: Path, watcher: Watcher
    ) -> BootResult:
        """Have the job done, or the guest led by its script."""
        if scripts := self.plan.scripts:
            return lead(self.machine, scripts, slot.variant, request, work, watcher)
        if self.plan.kind is not Kind.AUDIT:
            return self.machine.boot(request, work, watcher)

        def boot(lines: Sequence[str], number: int) -> BootResult:
            if not number:
                return self.machine.boot(request, work, watcher)
            again = work / f"boot-{number}"
            again.mkdir()
            initramfs = self._initramfs(slot, request.exact, again, lines)
            return self.machine.boot(
                replace(request, initramfs=initramfs), again, watcher
            )

        return boot_on(boot, self.plan.job(slot))

    def _request(self, slot: Slot, work: Path) -> BootRequest:
        seed = self.plan.twin_seed(slot)
        exact = self.plan.work.exact or seed is not None
        setup = self.setups[slot.variant]
        planned = self.plan.variants[slot.variant]
        request = BootRequest(
            image=setup.image,
            initramfs=self._initramfs(slot, exact, work, self.plan.job(slot)),
            cmdline=self.plan.cmdline(slot),
            cpu=planned.cpu,
            exact=exact,
            cpus=self.plan.work.cpus,
            memory=self.plan.work.memory,
            in_turn=self.plan.work.in_turn,
            led=self.plan.scripts is not None,
            hardware=(self.plan.scripts or self.plan.work).hardware,
            watched=setup.watched,
            attacks=self._attacks(slot, setup),
        )
        if layout := self.plan.layouts.get(slot.repeat):
            return replace(request, seed=layout.seed)
        return request if seed is None else replace(request, cpus=1, seed=seed)

    def _attacks(self, slot: Slot, setup: Setup) -> dict[str, Attack]:
        """Return what attacks a boot from outside, by the program that it goes with."""
        if not self.plan.outside:
            return {}
        # prepare() has found it out for every kernel of such a plan.
        assert setup.debugged
        return {
            proof.line: attack(self.plan.outside, proof, setup.debugged)
            for proof in self.plan.proofs.values()
            if proof.outside and self.plan.runs(slot, proof.line)
        }

    def _initramfs(
        self, slot: Slot, exact: bool, work: Path, lines: Sequence[str]
    ) -> Path:
        setup = self.setups[slot.variant]
        if self.plan.scripts:
            return pack_for_kexec(setup.image, list(setup.files), work)
        unit = self.machine.clock(exact).unit
        head = [f"channel {self.machine.channel}", f"unit {unit}"]
        job = [*head, *lines]
        layout = self.plan.layouts.get(slot.repeat)
        spacer = layout.spacer if layout else 0
        return pack(
            job,
            list(setup.files),
            work,
            trees=setup.trees,
            texts=self.plan.work.texts,
            spacer=spacer,
        )

    def _facts(
        self,
        slot: Slot,
        request: BootRequest,
        begun: datetime,
        result: BootResult,
        error: str,
    ) -> BootFacts:
        return BootFacts(
            variant=slot.variant,
            repeat=slot.repeat,
            machine=self.machine.facts(request),
            kernel=self.setups[slot.variant].kernel,
            release=_release(result.records, result.console),
            initramfs_hash=file_digest(request.initramfs),
            status="boot_error" if error else "ok",
            error=error,
            early=result.early,
            started=begun,
            wall_seconds=(datetime.now(UTC) - begun).total_seconds(),
        )


@contextmanager
def _host_explained(work: Path) -> Iterator[None]:
    """Turn what the host refuses to a boot in the folder ``work`` into InfraErrors."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise InfraError(
                f"the disk of {work.parent} is full", SCRATCH_FULL_HINT
            ) from error
        where = f"{error.filename}: " if error.filename else ""
        raise InfraError(f"a boot cannot go on: {where}{error.strerror}") from error


def _until_death(failure: BootError) -> list[AnyRecord]:
    """Return the records of a boot that may have ended by an attack, and its end."""
    died = unended(failure.records)
    if died is None:
        return []
    end = Died(n=len(failure.records), type="died", program=died, how=failure.message)
    return [*failure.records, end]


def _check_exits(
    plan: RunPlan, slot: Slot, records: list[AnyRecord], console: str
) -> None:
    """Raise for a program that failed, but for those that are judged by themselves.

    These are attacks, and real programs: what others cost is known without them.
    """
    attacks = {proof.line for proof in plan.proofs.values()}
    for record in records:
        if not isinstance(record, Exit) or record.status in (0, UNSUPPORTED):
            continue
        if record.status == _NOT_STARTED:
            why = _said(record.program.split()[0], console)
            how = f"'{record.program}' did not start in the target: {why}"
            # Control and series boot first, and have it start.
            if plan.mutant_of(slot.variant):
                raise BootError(how, console=console)
            raise InfraError(how)
        # An audit's attack that fails has sent nothing, and is judged by that.
        if record.program in attacks or plan.kind is Kind.AUDIT:
            continue
        if plan.kind in (Kind.PRICE, Kind.COMPARE) and real_program(record.program):
            continue
        how = f"'{record.program}' {_ended(record.status)}"
        raise BootError("; ".join([how, *last_of_programs(console)]), console=console)


def _release(records: list[AnyRecord], console: str) -> str:
    """Return what the target says of its kernel, or what the kernel says itself."""
    if records and isinstance(records[0], Boot):
        return records[0].release
    found = _RELEASE.search(console)
    return found[1] if found else ""


def _said(program: str, console: str) -> str:
    """Return what init said of a program on the console."""
    lines = [line for line in console.splitlines() if line.startswith(f"/{program}: ")]
    return lines[-1] if lines else "its console does not say why"


def _ended(status: int) -> str:
    for number in signal.Signals:
        if status == 128 + number:
            return f"was killed by {number.name}"
    return f"ended with status {status}"
