"""Boots on a fake machine, stored in a real store."""

import errno
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from fake_machine import PROGRAMS, Behaviour, FakeMachine, prepared, result

from made_up import kernel_facts
from temper.errors import BootError, InfraError, StoreError
from temper.machine import BootRequest, BootResult, StoppedError, Watcher
from temper.progress import Quiet
from temper.record.boot import Choice, StoredBoot, StoredRun
from temper.record.plan import Fate, Kind, Layout, MutantPlan, ProofPlan, Slot, Twins
from temper.record.wire import Start
from temper.run.campaign import Campaign
from temper.run.engine import Engine, Told
from temper.run.threads import threads
from temper.store import Store

PATIENCE = 20.0
"""Seconds until a boot that nobody stops gives up, so that a test fails."""


class Meter:
    """Somebody who watches how far the work is."""

    def __init__(self) -> None:
        self.total: float | None = None
        self.done: list[float] = []
        self.notes: list[str] = []

    @contextmanager
    def task(self, title: str, total: float | None = None) -> Iterator["Meter"]:
        self.total = total
        yield self

    def update(self, done: float, total: float | None = None, note: str = "") -> None:
        self.done.append(done)
        self.notes.append(note)

    def say(self, text: str) -> None:
        pass


class Bench:
    """A campaign of two boots each of `off` and `stock`."""

    def __init__(self, folder: Path) -> None:
        self.store = Store.open(data=folder / "data")
        self.prepared = prepared(folder)
        self.run = self.store.create_run(self.prepared.plan)
        self.machine = FakeMachine()
        self.meter = Meter()

    def boot_all(self, choice: Choice | None = None) -> StoredRun:
        with threads(self.prepared, self.machine) as engine:
            campaign = Campaign(self.run, engine, self.store, self.meter, choice)
            campaign.boot_all("Booting")
        return self.stored

    @property
    def stored(self) -> StoredRun:
        return self.store.load(self.run)

    @property
    def kept(self) -> list[tuple[str, int]]:
        return [(b.facts.variant, b.facts.repeat) for b in self.stored.boots]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    # Where the test can see them.
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    return Bench(tmp_path)


def fails(error: Exception) -> Behaviour:
    def behave(watcher: Watcher) -> BootResult:
        raise error

    return behave


def waits_to_be_stopped(watcher: Watcher) -> BootResult:
    assert watcher.stop.wait(PATIENCE), "nobody stopped this boot"
    raise StoppedError


def finishes_when_others_stop(watcher: Watcher) -> BootResult:
    assert watcher.stop.wait(PATIENCE), "nobody stopped this boot"
    return result()


def test_every_boot_is_stored_with_its_facts(bench: Bench) -> None:
    run = bench.boot_all()
    assert bench.kept == [("off", 0), ("stock", 0), ("off", 1), ("stock", 1)]
    assert run.finished is not None
    assert bench.machine.prepared == 1
    facts = run.boots[1].facts
    assert facts.status == "ok"
    assert facts.release == "6.12.117"
    assert facts.kernel == kernel_facts(key="3f9c")
    assert facts.machine.cmdline == "console=none stock"
    assert facts.machine.cpus == 2
    assert run.boots[1].records == [
        record.model_dump(mode="json") for record in result().records
    ]
    assert len({boot.facts.initramfs_hash for boot in run.boots}) == 1


def test_a_kernel_that_fails_is_a_result(bench: Bench) -> None:
    error = BootError("it panicked", console="Kernel panic\n")
    bench.machine.behaviours["stock"] = fails(error)
    run = bench.boot_all()
    assert run.finished is not None
    assert [(b.facts.variant, b.facts.status) for b in run.boots] == [
        ("off", "ok"),
        ("stock", "boot_error"),
        ("off", "ok"),
        ("stock", "boot_error"),
    ]
    assert run.boots[1].facts.error == "it panicked"
    assert run.boots[1].console == "Kernel panic\n"


def test_a_failing_host_ends_the_run_and_keeps_what_is_done(bench: Bench) -> None:
    others_done = threading.Event()

    def fails_last(watcher: Watcher) -> BootResult:
        assert others_done.wait(PATIENCE)
        raise InfraError("QEMU was killed")

    def off(watcher: Watcher) -> BootResult:
        if bench.machine.booted.count("off") == 2:
            others_done.set()
        return result()

    bench.machine.behaviours |= {"off": off, "stock": fails_last}
    with pytest.raises(InfraError, match="QEMU was killed"):
        bench.boot_all()
    assert bench.kept == [("off", 0), ("off", 1)]
    assert bench.stored.finished is None


def test_a_boot_that_finishes_meanwhile_is_kept(bench: Bench) -> None:
    bench.machine.behaviours |= {
        "off": finishes_when_others_stop,
        "stock": fails(InfraError("QEMU was killed")),
    }
    with pytest.raises(InfraError):
        bench.boot_all()
    assert ("off", 0) in bench.kept


def test_boots_not_begun_are_not_begun_after_a_failure(bench: Bench) -> None:
    bench.machine.behaviours |= {
        "off": waits_to_be_stopped,
        "stock": fails(InfraError("QEMU was killed")),
    }
    with pytest.raises(InfraError, match="QEMU was killed"):
        bench.boot_all()
    assert bench.kept == []
    assert bench.machine.booted.count("stock") == 1


def interrupt() -> None:
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def test_ctrl_c_stops_the_others_and_keeps_what_is_done(bench: Bench) -> None:
    def stock(watcher: Watcher) -> BootResult:
        while len(bench.kept) < 1:
            assert not watcher.stop.wait(0.01)
        interrupt()
        return waits_to_be_stopped(watcher)

    def off(watcher: Watcher) -> BootResult:
        if bench.machine.booted.count("off") == 1:
            return result()
        return finishes_when_others_stop(watcher)

    bench.machine.behaviours |= {"off": off, "stock": stock}
    with pytest.raises(KeyboardInterrupt):
        bench.boot_all()
    assert bench.kept == [("off", 0), ("off", 1)]
    assert bench.stored.finished is None


def test_ctrl_c_comes_at_no_time_that_would_leave_a_lock_held(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once in fifty it hung, when it came as the first boots began."""
    submit, submitted = ThreadPoolExecutor.submit, []

    def interrupted(
        pool: ThreadPoolExecutor, boot: Callable[..., StoredBoot], *words: object
    ) -> "Future[StoredBoot]":
        signal.raise_signal(signal.SIGINT)
        submitted.append(words)
        return submit(pool, boot, *words)

    monkeypatch.setattr(ThreadPoolExecutor, "submit", interrupted)
    bench.machine.behaviours |= dict.fromkeys(("off", "stock"), waits_to_be_stopped)
    with pytest.raises(KeyboardInterrupt):
        bench.boot_all()
    assert len(submitted) == bench.machine.at_once
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_while_a_boot_is_saved_does_not_lose_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    save = bench.store.save_boot
    saved: list[StoredBoot] = []

    def interrupted(run: int, boot: StoredBoot) -> None:
        saved.append(boot)
        if len(saved) == 1:
            raise KeyboardInterrupt
        save(run, boot)

    bench.machine.behaviours["stock"] = waits_to_be_stopped
    monkeypatch.setattr(bench.store, "save_boot", interrupted)
    with pytest.raises(KeyboardInterrupt):
        bench.boot_all()
    assert ("off", 0) in bench.kept


def test_only_missing_slots_are_booted(bench: Bench) -> None:
    bench.machine.behaviours["stock"] = fails(InfraError("QEMU was killed"))
    with pytest.raises(InfraError):
        bench.boot_all()
    missing = bench.store.missing(bench.run)
    assert Slot(variant="stock", repeat=0) in missing
    bench.machine = FakeMachine()
    assert len(bench.boot_all().boots) == 4
    assert sorted(bench.machine.booted) == sorted(slot.variant for slot in missing)
    bench.machine = FakeMachine()
    bench.boot_all()
    assert bench.machine.booted == []


def firsts_then_one(run: StoredRun) -> list[Slot]:
    """Choose the first boots and, where one was fine, its variant's second."""
    if not run.boots:
        return [slot for slot in run.plan.slots if not slot.repeat]
    fine = {boot.facts.variant for boot in run.boots if boot.facts.status == "ok"}
    return [Slot(variant=name, repeat=1) for name in fine]


def test_a_choice_sees_what_has_booted(bench: Bench) -> None:
    bench.machine.behaviours["stock"] = fails(BootError("it panicked"))
    run = bench.boot_all(firsts_then_one)
    assert bench.kept == [("off", 0), ("stock", 0), ("off", 1)]
    assert run.finished is not None


def test_what_was_not_needed_is_not_needed_when_the_run_goes_on(bench: Bench) -> None:
    bench.machine.behaviours["stock"] = fails(BootError("it panicked"))
    bench.boot_all(firsts_then_one)
    bench.machine = FakeMachine()
    bench.boot_all(firsts_then_one)
    assert bench.machine.booted == []


def test_a_damaged_boot_comes_first(bench: Bench) -> None:
    bench.boot_all(firsts_then_one)
    kept = bench.kept
    files = sorted(bench.store.run_folder(bench.run).iterdir())
    files[0].write_bytes(b"")
    bench.machine = FakeMachine()
    bench.boot_all(firsts_then_one)
    assert len(bench.machine.booted) == 1
    assert bench.kept == kept


def test_a_run_that_cannot_be_judged_boots_nothing_more(bench: Bench) -> None:
    """More boots would not help; the error says what does."""

    def refuses(_run: StoredRun) -> list[Slot]:
        raise StoreError("run 1 cannot be judged")

    with pytest.raises(StoreError, match="cannot be judged"):
        bench.boot_all(refuses)
    assert bench.machine.booted == []


def test_progress_reaches_its_total(bench: Bench) -> None:
    bench.machine.behaviours["stock"] = fails(BootError("it panicked"))
    bench.boot_all()
    assert bench.meter.total == 4 * PROGRAMS
    assert bench.meter.done[-1] == 4 * PROGRAMS
    assert bench.meter.done == sorted(bench.meter.done)


def test_a_program_may_say_that_it_cannot_run_here(bench: Bench) -> None:
    bench.machine.behaviours["stock"] = lambda watcher: result(77, 0)
    assert {boot.facts.status for boot in bench.boot_all().boots} == {"ok"}


@pytest.mark.parametrize(
    ("status", "how"),
    [
        (1, "ended with status 1"),
        (255, "ended with status 255"),
        (139, "was killed by SIGSEGV"),
        (137, "was killed by SIGKILL"),
    ],
)
def test_a_program_that_fails_fails_the_boot(
    bench: Bench, status: int, how: str
) -> None:
    bench.machine.behaviours["stock"] = lambda watcher: result(0, status)
    boot = bench.boot_all().boots[1]
    assert boot.facts.error == f"'syscall getpid 100 10' {how}"
    assert boot.console == "[    0.000000] Linux\n"
    assert boot.records != []


def test_a_real_program_that_fails_leaves_the_boot_to_the_others(
    bench: Bench,
) -> None:
    nginx = "real net/nginx 5 2"
    bench.machine.behaviours["stock"] = lambda _: result(0, 1, program=nginx)
    boot = bench.boot_all().boots[1]
    assert (boot.facts.status, boot.facts.error) == ("ok", "")


def test_an_attack_that_fails_leaves_the_boot_to_the_others(bench: Bench) -> None:
    attack = ProofPlan(
        title="an attack", line="syscall getpid 100 10", judge="none", params={}
    )
    plan = bench.prepared.plan.model_copy(update={"proofs": {"attack": attack}})
    bench.prepared = replace(bench.prepared, plan=plan)
    bench.machine.behaviours["stock"] = lambda watcher: result(0, 1)
    assert {boot.facts.status for boot in bench.boot_all().boots} == {"ok"}


def audit(bench: Bench) -> None:
    """Have the campaign be an audit, whose attacks each variant makes."""
    plan = bench.prepared.plan.model_copy(update={"kind": Kind.AUDIT})
    bench.prepared = replace(bench.prepared, plan=plan)


def test_an_audits_attack_that_fails_leaves_the_boot_to_the_others(
    bench: Bench,
) -> None:
    audit(bench)
    bench.machine.behaviours["stock"] = lambda watcher: result(0, 139)
    assert {boot.facts.status for boot in bench.boot_all().boots} == {"ok"}


def test_an_audit_goes_on_where_an_attack_ended_the_kernel(bench: Bench) -> None:
    audit(bench)
    program = "syscall getpid 100 10"
    boots: list[int] = []

    def dies_first(_watcher: Watcher) -> BootResult:
        boots.append(1)
        if len(boots) % 2 == 0:
            return result()
        error = BootError("it panicked", console="[    1.0] panic\n")
        error.records = [Start(n=0, type="start", program=program)]
        raise error

    job = (f"run {program}", "run attack user dmesg")
    plan = bench.prepared.plan
    variants = {
        name: each.model_copy(update={"job": job})
        for name, each in plan.variants.items()
    }
    changed = plan.model_copy(update={"variants": variants})
    bench.prepared = replace(bench.prepared, plan=changed)
    bench.machine.behaviours["stock"] = dies_first
    bench.machine.at_once = 1
    stored = [b for b in bench.boot_all().boots if b.facts.variant == "stock"]
    # Each of the two boots is made again.
    assert len(boots) == 4
    for boot in stored:
        assert boot.facts.status == "ok"
        assert boot.console.startswith("[    1.0] panic\n[    0.0")
        assert [each["type"] for each in boot.records][:3] == ["start", "died", "boot"]


def test_a_layout_has_its_own_seed_and_a_spacer(bench: Bench) -> None:
    layouts = {1: Layout(seed=7, spacer=5)}
    plan = bench.prepared.plan.model_copy(update={"layouts": layouts})
    bench.prepared = replace(bench.prepared, plan=plan)
    run = bench.boot_all()
    usual = BootRequest.__dataclass_fields__["seed"].default
    assert sorted(request.seed for request in bench.machine.requests) == [
        *(7, 7),
        *(usual, usual),
    ]
    # A layout changes nothing but that.
    others = {replace(r, seed=0, initramfs=Path()) for r in bench.machine.requests}
    assert len(others) == len(plan.variants)
    hashes = {boot.facts.slot: boot.facts.initramfs_hash for boot in run.boots}
    for variant in plan.variants:
        before, after = (hashes[Slot(variant=variant, repeat=n)] for n in (0, 1))
        assert before != after


def test_twins_count_instructions_on_a_machine_of_their_own(bench: Bench) -> None:
    work = bench.prepared.plan.work.model_copy(update={"exact": False, "cpus": 2})
    changes = {
        "work": work,
        "twins": Twins(job=("run twins 5",), seeds=(7, 8), cmdline="nohz=off"),
    }
    plan = bench.prepared.plan.model_copy(update=changes)
    bench.prepared = replace(bench.prepared, plan=plan)
    bench.boot_all()
    asked = sorted(
        (each.exact, each.cpus, each.seed) for each in bench.machine.requests
    )
    usual = BootRequest.seed
    assert asked == [(False, 2, usual)] * 2 + [(True, 1, 7)] * 2
    words = [each.cmdline.split() for each in bench.machine.requests]
    assert [("nohz=off" in each) for each in words] == [
        each.exact for each in bench.machine.requests
    ]
    assert bench.meter.total == 2 * PROGRAMS + 2 * 1


def test_what_it_said_last_is_told(bench: Bench) -> None:
    console = "hello\n[    1.5] Linux\nno device\nno data\n\n[   12.125000] end\n"
    bench.machine.behaviours["stock"] = lambda _: result(0, 1, console=console)
    error = bench.boot_all().boots[1].facts.error
    assert error == "'syscall getpid 100 10' ended with status 1; no device; no data"


NOT_STARTED = (
    "'syscall getpid 100 10' did not start in the target: "
    "/syscall: No such file or directory"
)


def does_not_start(_: Watcher) -> BootResult:
    console = "Linux\n/syscall: No such file or directory\nreboot: Restarting\n"
    return result(127, console=console)


def mutate_stock(bench: Bench) -> None:
    """Have the plan say that ``stock`` is a mutant."""
    mutant = MutantPlan(file="a.c", line=1, hunk="", does="", fate=Fate.DISTINCT)
    plan = bench.prepared.plan.model_copy(update={"mutants": {"stock": mutant}})
    bench.prepared = replace(bench.prepared, plan=plan)


def test_a_program_that_does_not_start_is_our_fault(bench: Bench) -> None:
    bench.machine.behaviours["stock"] = does_not_start
    with pytest.raises(InfraError) as caught:
        bench.boot_all()
    assert caught.value.message == NOT_STARTED


def test_a_program_that_does_not_start_is_a_mutants_fault(bench: Bench) -> None:
    mutate_stock(bench)
    bench.machine.behaviours["stock"] = does_not_start
    facts = bench.boot_all().boots[1].facts
    assert (facts.status, facts.error) == ("boot_error", NOT_STARTED)


def test_where_there_is_no_mutant_it_is_no_mutants_fault(bench: Bench) -> None:
    mutate_stock(bench)
    bench.machine.behaviours["off"] = does_not_start
    with pytest.raises(InfraError, match="did not start"):
        bench.boot_all()


def test_a_full_disk_is_named(bench: Bench, tmp_path: Path) -> None:
    full = OSError(errno.ENOSPC, "No space left on device")
    bench.machine.behaviours["stock"] = fails(full)
    with pytest.raises(InfraError) as caught:
        bench.boot_all()
    assert caught.value.message == (f"the disk of {tmp_path / 'scratch'} is full")
    assert "TMPDIR" in caught.value.hint


def test_a_file_that_somebody_removes_is_named(bench: Bench, tmp_path: Path) -> None:
    def off(watcher: Watcher) -> BootResult:
        (tmp_path / "syscall").unlink(missing_ok=True)
        return result()

    bench.machine.behaviours |= {"off": off, "stock": off}
    with pytest.raises(InfraError) as caught:
        bench.boot_all()
    assert caught.value.message == (
        f"a boot cannot go on: {tmp_path / 'syscall'}: No such file or directory"
    )


def test_without_a_folder_to_work_in_it_is_said(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "scratch").rmdir()
    (tmp_path / "scratch").touch()
    with pytest.raises(InfraError, match=r"cannot make a scratch folder: .*/scratch"):
        bench.boot_all()


def test_nothing_is_left_in_the_scratch_folder(bench: Bench, tmp_path: Path) -> None:
    bench.machine.behaviours["stock"] = fails(InfraError("QEMU was killed"))
    with pytest.raises(InfraError):
        bench.boot_all()
    assert list((tmp_path / "scratch").iterdir()) == []


def test_progress_tells_which_boot_keeps_us_waiting(bench: Bench) -> None:
    def stock(watcher: Watcher) -> BootResult:
        watcher.on_wait("no output for 30 s, limit 180 s")
        return result()

    bench.machine.behaviours["stock"] = stock
    bench.boot_all()
    for boot in (1, 2):
        note = f"stock, boot {boot}: no output for 30 s, limit 180 s"
        assert note in bench.meter.notes


def test_quiet_progress_will_do(bench: Bench) -> None:
    with threads(bench.prepared, bench.machine) as engine:
        Campaign(bench.run, engine, bench.store, Quiet()).boot_all("Booting")
    assert len(bench.kept) == 4


class Narrow:
    """Has room for one boot less than it could make."""

    option = ""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.plan = engine.plan
        self._begun: list[Future[StoredBoot]] = []

    def room(self) -> int:
        return 1

    def submit(self, slot: Slot, told: Told) -> "Future[StoredBoot]":
        assert all(each.done() for each in self._begun), "there was no room"
        self._begun.append(self._engine.submit(slot, told))
        return self._begun[-1]

    def stop(self) -> None:
        self._engine.stop()


def test_no_more_is_begun_than_there_is_room_for(bench: Bench) -> None:
    with threads(bench.prepared, bench.machine) as engine:
        narrow = Narrow(engine)
        Campaign(bench.run, narrow, bench.store, Quiet()).boot_all("Booting")
    assert len(bench.kept) == 4
