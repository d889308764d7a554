"""Boots the slots of a run, side by side, and stores each as it comes."""

import errno
import re
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from temper.digest import file_digest
from temper.errors import BootError, InfraError
from temper.machine import (
    Attack,
    BootRequest,
    BootResult,
    Machine,
    StoppedError,
    Watcher,
)
from temper.process import SCRATCH_FULL_HINT
from temper.progress import Progress, Task
from temper.record.boot import BootFacts, StoredBoot
from temper.record.console import last_of_programs
from temper.record.plan import Kind, RunPlan, Slot
from temper.record.wire import UNSUPPORTED, AnyRecord, Boot, Died, Exit, unended
from temper.run.attacking import attack
from temper.run.audited import boot_on
from temper.run.initramfs import pack, pack_for_kexec
from temper.run.leading import lead
from temper.run.prepare import Setup
from temper.scratch import scratch_folder
from temper.signals import signals_held
from temper.store import Store

_NOT_STARTED = 127
_POLL = 0.1
_RELEASE = re.compile(r"Linux version (\S+)")


@dataclass(frozen=True)
class Campaign:
    """The boots of one run."""

    run: int
    plan: RunPlan
    setups: Mapping[str, Setup]
    """variant -> what it is booted with."""
    machine: Machine
    store: Store
    progress: Progress

    def _steps(self, slot: Slot) -> int:
        """In how many steps progress tells of a boot; a led one has no programs."""
        return max(1, self.plan.program_count(slot))

    def boot_all(self, title: str) -> None:
        """Boot every slot that the store is without.

        A kernel that fails is a result and is stored; the rest goes on. Raises
        InfraError, KeyboardInterrupt or Signalled, with all finished boots stored.
        """
        self.machine.prepare()
        slots = self.store.missing(self.run)
        total = sum(map(self._steps, slots))
        with self.progress.task(title, total) as task:
            self._boot(slots, _Gauge(task, slots))
        self.store.finish(self.run)

    def _boot(self, slots: list[Slot], gauge: "_Gauge") -> None:
        """As many boots at once as the machine takes; give all up when one raises."""
        stop = threading.Event()
        work = self.plan.work
        pool = ThreadPoolExecutor(self.machine.boots_at_once(work.cpus, work.memory))
        boots: dict[Future[StoredBoot], Slot] = {}
        with signals_held() as deliver:
            try:
                for slot in slots:
                    boots[pool.submit(self._boot_one, slot, stop, gauge)] = slot
                self._save_each(boots, deliver)
            except BaseException:
                stop.set()
                pool.shutdown(cancel_futures=True)
                self._save_finished(boots)
                raise
            pool.shutdown()

    def _save_each(
        self, boots: Iterable[Future[StoredBoot]], deliver: Callable[[], None]
    ) -> None:
        """Store boots as they come; ``deliver``: called often, raises for a signal."""
        waiting = set(boots)
        while waiting:
            deliver()
            done, waiting = wait(waiting, _POLL, return_when=FIRST_COMPLETED)
            for future in done:
                self.store.save_boot(self.run, future.result())

    def _save_finished(self, boots: Mapping[Future[StoredBoot], Slot]) -> None:
        """Lose no boot that was done when another one failed."""
        missing = self.store.missing(self.run)
        for future, slot in boots.items():
            if future.cancelled() or future.exception() or slot not in missing:
                continue
            self.store.save_boot(self.run, future.result())

    def _boot_one(
        self, slot: Slot, stop: threading.Event, gauge: "_Gauge"
    ) -> StoredBoot:
        if stop.is_set():
            raise StoppedError
        watcher = Watcher(
            stop,
            on_program=lambda done: gauge.show(slot, done),
            on_wait=lambda text: gauge.note(slot, text),
        )
        with scratch_folder() as work, _host_explained(work):
            request = self._request(slot, work)
            begun = datetime.now(UTC)
            records: list[AnyRecord] = []
            error = console = ""
            try:
                result = self._carry_out(slot, request, work, watcher)
                records, console = result.records, result.console
                _check_exits(self.plan, records, console)
            except BootError as failure:
                error, console = failure.message, console or failure.console
                if request.attacks:
                    records = records or _until_death(failure)
            facts = self._facts(slot, request, begun, _release(records, console), error)
        gauge.show(slot, self._steps(slot))
        dumped = [record.model_dump(mode="json") for record in records]
        return StoredBoot(facts=facts, records=dumped, console=console)

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
            cmdline=planned.cmdline,
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
            setup.host_files,
            tree=setup.tree,
            texts=self.plan.work.texts,
            spacer=spacer,
        )

    def _facts(
        self,
        slot: Slot,
        request: BootRequest,
        begun: datetime,
        release: str,
        error: str,
    ) -> BootFacts:
        return BootFacts(
            variant=slot.variant,
            repeat=slot.repeat,
            machine=self.machine.facts(request),
            kernel=self.setups[slot.variant].kernel,
            release=release,
            initramfs_hash=file_digest(request.initramfs),
            status="boot_error" if error else "ok",
            error=error,
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


class _Gauge:
    """Adds up how far boots in several threads are."""

    def __init__(self, task: Task, slots: list[Slot]) -> None:
        self._task = task
        self._done = dict.fromkeys(slots, 0)
        self._lock = threading.Lock()

    def show(self, slot: Slot, done: int) -> None:
        with self._lock:
            self._done[slot] = max(self._done[slot], done)
            self._update(f"{slot.variant}, boot {slot.repeat + 1}")

    def note(self, slot: Slot, text: str) -> None:
        with self._lock:
            self._update(f"{slot.variant}, boot {slot.repeat + 1}: {text}")

    def _update(self, note: str) -> None:
        self._task.update(sum(self._done.values()), note=note)


def _until_death(failure: BootError) -> list[AnyRecord]:
    """Return the records of a boot that may have ended by an attack, and its end."""
    died = unended(failure.records)
    if died is None:
        return []
    end = Died(n=len(failure.records), type="died", program=died, how=failure.message)
    return [*failure.records, end]


def _check_exits(plan: RunPlan, records: list[AnyRecord], console: str) -> None:
    """Raise for a program that failed, but for attacks: each is judged by itself."""
    attacks = {proof.line for proof in plan.proofs.values()}
    for record in records:
        if not isinstance(record, Exit) or record.status in (0, UNSUPPORTED):
            continue
        if record.status == _NOT_STARTED:
            why = _said(record.program.split()[0], console)
            raise InfraError(f"'{record.program}' did not start in the target: {why}")
        # An audit's attack that fails has sent nothing, and is judged by that.
        if record.program in attacks or plan.kind is Kind.AUDIT:
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
