"""Runs from their first boot, and from where they were interrupted."""

import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_machine import FakeMachine, prepared, result
from test_mutate_report import mutant

from made_up import variant_plan
from temper.errors import InfraError, InputError, InterruptError, Signalled, StoreError
from temper.machine import BootResult, Watcher
from temper.progress import Quiet
from temper.record.boot import StoredRun
from temper.record.plan import Kind
from temper.run.execute import execute
from temper.run.prepare import Prepared
from temper.run.threads import threads
from temper.store import Store

WAY_ON = "finished boots are kept; resume with: temper price kstack --resume 1"


class Bench:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.prepared = prepared(folder)
        self.store = Store.open(data=folder / "data")

    def execute(
        self,
        machine: FakeMachine,
        resume: int | None = None,
        prepared: Prepared | None = None,
    ) -> StoredRun:
        with threads(prepared or self.prepared, machine) as engine:
            return execute(engine, self.store, Quiet(), resume)

    def changed(self, **changes: object) -> Prepared:
        return replace(
            self.prepared, plan=self.prepared.plan.model_copy(update=changes)
        )

    def interrupt(self, error: BaseException) -> None:
        """Begin run 1 and let `stock` end it."""

        def stock(watcher: Watcher) -> BootResult:
            raise error

        with pytest.raises((InfraError, InterruptError)):
            self.execute(FakeMachine({"stock": stock}))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a_run_comes_back_whole(bench: Bench) -> None:
    run = bench.execute(FakeMachine())
    assert run.id == 1
    assert run.plan == bench.prepared.plan
    assert run.finished is not None
    assert len(run.boots) == 4


def test_a_failing_host_is_told_with_the_way_on(bench: Bench) -> None:
    def stock(watcher: Watcher) -> BootResult:
        raise InfraError("QEMU was killed", "see dmesg")

    with pytest.raises(InfraError) as caught:
        bench.execute(FakeMachine({"stock": stock}))
    assert caught.value.hint == f"see dmesg; {WAY_ON}"


def test_a_failing_host_without_a_hint(bench: Bench) -> None:
    def stock(watcher: Watcher) -> BootResult:
        raise InfraError("QEMU was killed")

    with pytest.raises(InfraError) as caught:
        bench.execute(FakeMachine({"stock": stock}))
    assert caught.value.hint == WAY_ON


@pytest.mark.parametrize(
    ("stop", "status", "told"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (Signalled(signal.SIGINT), 130, "interrupted"),
        (Signalled(signal.SIGTERM), 143, "ended by SIGTERM"),
        (Signalled(signal.SIGHUP), 129, "ended by SIGHUP"),
    ],
)
def test_a_signal_is_told_with_the_way_on(
    stop: BaseException,
    status: int,
    told: str,
    bench: Bench,
) -> None:
    def stock(watcher: Watcher) -> BootResult:
        raise stop

    with pytest.raises(InterruptError) as caught:
        bench.execute(FakeMachine({"stock": stock}))
    assert caught.value.exit_code == status
    assert caught.value.message == told
    assert caught.value.hint == WAY_ON


def test_resuming_completes_the_run(bench: Bench) -> None:
    bench.interrupt(InfraError("QEMU was killed"))
    done = bench.store.load(1).boots
    machine = FakeMachine()
    run = bench.execute(machine, resume=1)
    assert run.id == 1
    assert len(run.boots) == 4
    assert len(machine.booted) == 4 - len(done)
    for boot in done:
        assert boot in run.boots


def test_a_run_that_is_being_made_is_refused_at_once(bench: Bench) -> None:
    bench.interrupt(InfraError("QEMU was killed"))
    done, machine = bench.store.load(1).boots, FakeMachine()
    with bench.store.making(1), pytest.raises(StoreError) as caught:
        bench.execute(machine, resume=1)
    assert caught.value.message == f"process {os.getpid()} is making run 1"
    assert caught.value.hint == "wait until it is done, or end it first"
    assert machine.booted == []
    assert bench.store.load(1).boots == done


def test_a_new_run_is_being_made_until_its_end(bench: Bench) -> None:
    def stock(watcher: Watcher) -> BootResult:
        with pytest.raises(StoreError, match="is making run 1"), bench.store.making(1):
            pass
        return result()

    bench.execute(FakeMachine({"stock": stock}))
    with bench.store.making(1):
        pass


def test_a_finished_run_cannot_be_resumed(bench: Bench) -> None:
    bench.execute(FakeMachine())
    machine = FakeMachine()
    with pytest.raises(InputError, match="run 1 is finished") as caught:
        bench.execute(machine, resume=1)
    assert caught.value.hint == "temper report 1"
    assert machine.booted == []


def test_a_run_that_lacks_nothing_but_its_end_can_be_resumed(bench: Bench) -> None:
    run = bench.store.create_run(bench.prepared.plan)
    for boot in bench.execute(FakeMachine()).boots:
        bench.store.save_boot(run, boot)
    machine = FakeMachine()
    assert bench.execute(machine, resume=run).finished is not None
    assert machine.booted == []


def test_resuming_mends_a_damaged_raw_file(bench: Bench) -> None:
    bench.execute(FakeMachine())
    (damaged,) = bench.folder.glob("data/runs/*/stock-1.jsonl.gz")
    damaged.write_bytes(b"torn")
    with pytest.raises(StoreError) as caught:
        bench.store.load(1)
    way_out = "to repeat this boot: temper price kstack --resume 1 ("
    assert caught.value.hint.startswith(way_out)
    machine = FakeMachine()
    assert len(bench.execute(machine, resume=1).boots) == 4
    assert machine.booted == ["stock"]


def test_a_run_that_is_not_there_cannot_be_resumed(bench: Bench) -> None:
    with pytest.raises(InputError, match="there is no run 9"):
        bench.execute(FakeMachine(), resume=9)


@pytest.mark.parametrize(
    ("changes", "resumes"),
    [
        ({"accepted": "message: It only says something else."}, True),
        ({"line": 89}, False),
    ],
)
def test_a_reason_written_meanwhile_is_no_change(
    bench: Bench, changes: dict[str, Any], resumes: bool
) -> None:
    bench.prepared = bench.changed(mutants={"0a": mutant()})
    bench.interrupt(InfraError("QEMU was killed"))
    now = bench.changed(mutants={"0a": mutant(**changes)})
    if resumes:
        assert bench.execute(FakeMachine(), resume=1, prepared=now).finished
        return
    with pytest.raises(InputError, match=CHANGED):
        bench.execute(FakeMachine(), resume=1, prepared=now)


CHANGED = "kernel, programs, scripts or the feature's files have changed since"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (
            {"feature": "scs-switch", "command": "temper price scs-switch"},
            "it was: temper price kstack",
        ),
        (
            {"kind": Kind.PROVE, "command": "temper prove kstack"},
            "it was: temper price kstack",
        ),
        (
            {"command": "temper price kstack --calls 5"},
            "its options were: temper price kstack",
        ),
        (
            {
                "variants": {
                    name: variant_plan(name, key="x") for name in ("off", "stock")
                }
            },
            CHANGED,
        ),
        (
            {"baseline": "stock"},
            CHANGED,
        ),
    ],
)
def test_a_run_begun_with_something_else_is_refused(
    bench: Bench, changes: dict[str, Any], why: str
) -> None:
    bench.interrupt(InfraError("QEMU was killed"))
    machine = FakeMachine()
    with pytest.raises(InputError) as caught:
        bench.execute(machine, resume=1, prepared=bench.changed(**changes))
    assert caught.value.message == f"run 1 cannot be resumed: {why}"
    assert caught.value.hint == "start a new run"
    assert machine.booted == []
