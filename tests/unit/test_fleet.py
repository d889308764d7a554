"""Boots on workers of Dask, which are in this process; their machine is a fake."""

import errno
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from distributed import KilledWorker
from fake_fleet import FleetBench, Silent, cluster
from fake_machine import PROGRAMS, result

from temper.errors import BootError, InfraError, InputError, InterruptError
from temper.machine import BootRequest, BootResult, StoppedError, Watcher
from temper.progress import Quiet
from temper.record.boot import MachineFacts, StoredBoot
from temper.record.plan import Module, Slot
from temper.run.execute import execute
from temper.run.threads import threads
from temper.run.worker import Order, packed, unpacked

PATIENCE = 20.0
"""Seconds until a boot that nobody stops gives up, so that a test fails."""
ALL = [("off", 0), ("stock", 0), ("off", 1), ("stock", 1)]


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    with cluster() as started:
        yield started.scheduler_address


@pytest.fixture
def bench(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheduler: str
) -> FleetBench:
    return FleetBench.of(tmp_path, monkeypatch, scheduler)


class Screen:
    """Somebody who reads all that is shown."""

    def __init__(self) -> None:
        self.titles: dict[str, float | None] = {}
        self.done: list[float] = []
        self.notes: list[str] = []
        self.said: list[str] = []

    @contextmanager
    def task(self, title: str, total: float | None = None) -> Iterator["Screen"]:
        self.titles[title] = total
        self.done.clear()
        yield self

    def update(self, done: float, total: float | None = None, note: str = "") -> None:
        self.done.append(done)
        self.notes.append(note)

    def say(self, text: str) -> None:
        self.said.append(text)


def timeless(boot: StoredBoot) -> StoredBoot:
    """Return a boot without what no two boots have in common."""
    facts = boot.facts.model_copy(update={"started": None, "wall_seconds": 0})
    return boot.model_copy(update={"facts": facts})


def test_boots_are_those_of_a_plain_run(bench: FleetBench) -> None:
    with threads(bench.prepared, bench.own) as engine:
        plain = execute(engine, bench.store, Quiet())
    run = bench.run()
    assert run.finished
    assert bench.kept(run.id) == ALL
    assert sorted(bench.machine.booted) == ["off", "off", "stock", "stock"]
    assert list(map(timeless, run.boots)) == list(map(timeless, plain.boots))


def test_a_kernel_that_fails_is_a_result(bench: FleetBench) -> None:
    def stock(_watcher: Watcher) -> BootResult:
        raise BootError("it panicked", console="Kernel panic\udcff\n")

    bench.machine.behaviours["stock"] = stock
    boots = bench.run().boots
    assert [boot.facts.error for boot in boots] == ["", "it panicked"] * 2
    assert boots[1].console == "Kernel panic?\n"


def test_progress_tells_who_boots_what(bench: FleetBench) -> None:
    def stock(watcher: Watcher) -> BootResult:
        watcher.on_wait("no output for 30 s, limit 180 s")
        return result()

    bench.machine.behaviours["stock"] = stock
    screen = Screen()
    bench.run(screen)
    assert screen.titles["Booting kstack for run 1"] == 4 * PROGRAMS
    assert screen.done[-1] == 4 * PROGRAMS
    assert screen.said[0].endswith("at once: n1 (1), n2 (1)")
    assert screen.said[1].startswith("Dask's dashboard: http://127.0.0.1:")
    told = {note.partition(": ")[2] for note in screen.notes}
    assert "no output for 30 s, limit 180 s" in told
    assert {note.partition(" on ")[2][:2] for note in screen.notes} >= {"n1", "n2"}


def test_a_failing_host_is_named_with_the_way_on(bench: FleetBench) -> None:
    others_done = threading.Event()

    def stock(_watcher: Watcher) -> BootResult:
        assert others_done.wait(PATIENCE)
        raise OSError(errno.ENOSPC, "No space left on device")

    def off(_watcher: Watcher) -> BootResult:
        if bench.machine.booted.count("off") == 2:
            others_done.set()
        return result()

    bench.machine.behaviours |= {"off": off, "stock": stock}
    with pytest.raises(InfraError) as caught:
        bench.run()
    assert caught.value.message.startswith(("worker n1: the disk", "worker n2: the"))
    assert caught.value.message.endswith(" is full")
    assert caught.value.hint.endswith(f"--resume 1 --on {bench.place}")
    assert bench.kept() == [("off", 0), ("off", 1)]
    bench.machine.behaviours.clear()
    bench.machine.booted.clear()
    assert bench.run(resume=1).finished
    assert bench.machine.booted == ["stock", "stock"]


def test_ctrl_c_ends_boots_elsewhere_and_keeps_what_is_done(bench: FleetBench) -> None:
    ended = []

    def stock(watcher: Watcher) -> BootResult:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        assert watcher.stop.wait(PATIENCE), "nobody stopped this boot"
        ended.append("stock")
        raise StoppedError

    def off(watcher: Watcher) -> BootResult:
        assert watcher.stop.wait(PATIENCE), "nobody stopped this boot"
        return result()

    bench.machine.behaviours |= {"off": off, "stock": stock}
    with pytest.raises(InterruptError) as caught:
        bench.run()
    assert f"--resume 1 --on {bench.place}" in caught.value.hint
    assert bench.kept() == [("off", 0)]
    assert ended == ["stock"]
    # The next campaign is not stopped.
    bench.machine.behaviours.clear()
    assert bench.run(resume=1).finished


def test_another_qemu_is_refused_by_the_workers_name(bench: FleetBench) -> None:
    bench.own.version = "0.2"
    with pytest.raises(InputError) as caught:
        bench.run()
    assert caught.value.message in {
        f"QEMU is another one here (0.2) than on worker {name} (0.1)"
        for name in ("n1", "n2")
    }
    assert bench.machine.booted == []
    assert bench.store.runs() == []


def test_a_worker_that_came_later_is_refused_before_it_boots(
    bench: FleetBench,
) -> None:
    with bench.engine() as engine:
        bench.machine.version = "0.2"
        # Those that are asked again have forgotten nothing, so it is another order.
        other = engine.order.model_copy(update={"campaign": "later"})
        engine.client.subscribe_topic("later", lambda _: None)
        changed = replace(engine, order=other)
        with pytest.raises(InputError) as caught:
            changed.submit(Slot(variant="off", repeat=0), Silent()).result()
    assert caught.value.message.startswith(("worker n1: QEMU is ", "worker n2: QEMU"))
    assert bench.machine.booted == []


def test_a_boot_with_other_tools_is_refused(
    bench: FleetBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual, told = bench.machine.facts, []

    def facts(request: BootRequest) -> MachineFacts:
        told.append(request)
        changes = {"version": f"QEMU {len(told)}"}
        return usual(request).model_copy(update=changes)

    monkeypatch.setattr(bench.machine, "facts", facts)
    with pytest.raises(InfraError, match="the machine is another one on worker n"):
        bench.run()
    assert len(bench.kept()) >= 1


def test_too_little_memory_is_told(
    bench: FleetBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench.own, "boot_memory", lambda _: 11)
    with pytest.raises(InfraError, match=r"worker n. has no room for a boot, which"):
        bench.run()


def test_a_worker_that_offers_nothing_is_told_how(bench: FleetBench) -> None:
    with cluster(("bare",), {}) as started:
        bench.place = started.scheduler_address
        with pytest.raises(InfraError) as caught:
            bench.run()
    assert caught.value.message.startswith("worker bare has no room for a boot")
    assert caught.value.hint.endswith("--preload temper.run.worker")


def test_files_must_be_those_of_the_plan(bench: FleetBench) -> None:
    file = bench.folder / "probe.c"
    file.write_text("another one")
    plan = bench.prepared.plan
    module = Module(source=str(file), digest="0" * 64)
    work = plan.work.model_copy(update={"modules": (module,)})
    bench.prepared = replace(
        bench.prepared, plan=plan.model_copy(update={"work": work})
    )
    with pytest.raises(InputError) as caught:
        bench.run()
    assert str(file) in caught.value.message
    assert caught.value.message.startswith("worker n")


@pytest.mark.parametrize("exact", [True, False])
def test_a_boot_that_ran_twice_must_repeat_if_it_is_exact(
    bench: FleetBench, monkeypatch: pytest.MonkeyPatch, exact: bool
) -> None:
    usual = bench.machine.facts
    monkeypatch.setattr(
        bench.machine,
        "facts",
        lambda request: usual(request).model_copy(update={"exact": exact}),
    )
    first = {"name": "n9", "variant": "off", "repeat": 0, "outcome": "f00"}
    with bench.engine() as engine:
        if exact:
            engine._heard((0.0, first))
            with pytest.raises(InfraError, match=r"twice, .* on n9 than on n[12]"):
                execute(engine, bench.store, Quiet())
            assert ("off", 0) not in bench.kept()
        else:
            # It tells of none, and repeats none.
            execute(engine, bench.store, Quiet())
            assert not engine._made


def test_an_exact_boot_tells_what_became_of_it(bench: FleetBench) -> None:
    with bench.engine() as engine:
        heard: list[tuple[float, dict[str, Any]]] = []
        engine.client.subscribe_topic(engine.order.campaign, heard.append)
        run = execute(engine, bench.store, Quiet())
        assert {len(made) for made in engine._made.values()} == {1}
    told = [message for _, message in heard if "outcome" in message]
    assert {(each["variant"], each["repeat"]) for each in told} == set(ALL)
    assert run.finished


def test_a_boot_that_no_worker_survives_is_named(bench: FleetBench) -> None:
    last: Any = SimpleNamespace(name="n2")
    killed: Future[object] = Future()
    killed.set_exception(KilledWorker("boot-1", last, 3))
    with bench.engine() as engine, pytest.raises(InfraError) as caught:
        engine._result(killed, "boot off-0")
    assert caught.value.message == (
        "boot off-0 was begun 4 times, and its worker was lost each time; at last n2"
    )


def test_no_scheduler_is_told(
    bench: FleetBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("temper.run.clusters._PATIENCE", 0.5)
    bench.place = "tcp://127.0.0.1:9"
    with pytest.raises(InfraError, match="no scheduler answers at tcp://127"):
        bench.run()


def test_a_campaign_waits_for_its_first_worker(bench: FleetBench) -> None:
    screen = Screen()
    with cluster(()) as started:
        bench.place = started.scheduler_address
        timer = threading.Timer(1.0, lambda: add_worker(started))
        timer.start()
        assert bench.run(screen).finished
        timer.join()
    assert f"Waiting for a worker at {bench.place}" in screen.titles


def add_worker(started: object) -> None:
    from distributed import SpecCluster, Worker  # noqa: PLC0415
    from fake_fleet import ROOM  # noqa: PLC0415

    assert isinstance(started, SpecCluster)
    options = {"host": "127.0.0.1", "nthreads": 1, "resources": ROOM}
    started.new_spec = {"cls": Worker, "options": options}
    started.scale(1)


def test_what_travels_comes_back(bench: FleetBench) -> None:
    plan = bench.prepared.plan
    order = Order(campaign="c", plan=plan, tools={"QEMU": "0.1"})
    assert Order.unpacked(order.packed()) == order
    boot = bench.run().boots[0].model_copy(update={"console": "\udcff"})
    assert unpacked(packed(boot)) == boot
