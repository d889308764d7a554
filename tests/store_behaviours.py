"""What a store does on every database; each backend's test class inherits it."""

import gzip
import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Barrier
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import create_engine, inspect, text

from made_up import kernel_facts, machine_facts, run_plan
from temper.errors import InputError, StoreError
from temper.record.boot import BootFacts, StoredBoot, StoredRun
from temper.record.plan import Kind, ProofPlan, RunPlan, Slot
from temper.store import Store
from temper.store.database import parse_url

if TYPE_CHECKING:
    from _typeshed import TraceFunction

PATIENCE = 120
"""Seconds until a process of a test is given up."""

SPAWN = get_context("spawn")


def make_plan(
    repeats: int = 2, kind: Kind = Kind.PRICE, feature: str = "kstack"
) -> RunPlan:
    """Return a plan with variants off and stock, ``repeats`` boots of each."""
    proof = ProofPlan(title="predict", line="attack", judge="prediction", params={})
    attacked = {"control": "off", "proofs": {"it": proof}}
    more = attacked if kind is Kind.PROVE else {}
    return run_plan(repeats=repeats, kind=kind, feature=feature, calls=1000, **more)


def make_boot(
    slot: Slot, salt: int = 0, error: str = "", console: str = "Linux\n"
) -> StoredBoot:
    """Return a boot whose records tell ``salt``."""
    return StoredBoot(
        facts=BootFacts(
            variant=slot.variant,
            repeat=slot.repeat,
            machine=machine_facts(),
            kernel=kernel_facts(),
            initramfs_hash="4567",
            status="boot_error" if error else "ok",
            error=error,
            started=datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC),
            wall_seconds=2.5,
        ),
        records=[
            {"n": 0, "type": "samples", "name": "salt", "values": [salt]},
            {"n": 1, "type": "end"},
        ],
        console=console,
    )


def fill(store: Store, run: int, salt: int = 0) -> list[StoredBoot]:
    """Save a boot into every slot that misses one; return these."""
    boots = [make_boot(slot, salt) for slot in store.missing(run)]
    for boot in boots:
        store.save_boot(run, boot)
    return boots


def raw_files(data: Path) -> list[Path]:
    """Return the raw files in a data folder."""
    return sorted(data.glob("runs/*/*.jsonl.gz"))


def start(target: Callable[..., None], *args: object) -> BaseProcess:
    """Run a function of a module in a process of its own."""
    process = SPAWN.Process(target=target, args=args, daemon=True)
    process.start()
    return process


def wait_for(processes: list[BaseProcess]) -> None:
    """Let processes end; all must succeed."""
    for process in processes:
        process.join(PATIENCE)
    assert [process.exitcode for process in processes] == [0] * len(processes)


def price_once(url: str, data: Path, barrier: Barrier, salt: int) -> None:
    """Do what ``temper price`` does to the store."""
    barrier.wait(PATIENCE)
    with Store.open(url, data) as store:
        run = store.create_run(make_plan(repeats=6))
        fill(store, run, salt)
        store.finish(run)


def resume(url: str, data: Path, barrier: Barrier, run: int, salt: int) -> None:
    """Fill a run while another process does the same."""
    with Store.open(url, data) as store:
        missing = store.missing(run)
        barrier.wait(PATIENCE)
        for slot in missing:
            try:
                store.save_boot(run, make_boot(slot, salt))
            except StoreError as error:
                assert "already has boot" in error.message


def save_until_killed(url: str, data: Path, tell: Connection) -> None:
    """Tell of each boot once ``save_boot`` has returned."""
    with Store.open(url, data) as store:
        run = store.create_run(make_plan(repeats=2000))
        for slot in store.missing(run):
            store.save_boot(run, make_boot(slot, slot.repeat))
            tell.send((run, slot))


def make_until_killed(url: str, data: Path, run: int, tell: Connection) -> None:
    with Store.open(url, data) as store, store.making(run):
        tell.send("making")
        time.sleep(PATIENCE)


def killed_at_line(number: int, work: Callable[[], None]) -> bool:
    """Do ``work`` in a child that dies by SIGKILL at the n-th line of the store.

    Returns False when ``work`` was done before it came to that.
    """
    child = os.fork()
    if child == 0:
        _die_at_line(number)
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0
    return False


def _die_at_line(number: int) -> None:
    seen = 0

    def trace(frame: FrameType, event: str, _: object) -> "TraceFunction | None":
        nonlocal seen
        if "/temper/store/" not in frame.f_code.co_filename:
            return None
        seen += event == "line"
        if seen == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.settrace(trace)


class StoreBehaviours:
    """Inherited by a class that has the fixture ``url`` of an empty database."""

    @pytest.fixture
    def data(self, tmp_path: Path) -> Path:
        return tmp_path / "data"

    @pytest.fixture
    def store(self, url: str, data: Path) -> Iterator[Store]:
        with Store.open(url, data) as store:
            yield store

    def test_reading_makes_no_store(self, url: str, data: Path) -> None:
        with Store.open_to_read(url, data) as store:
            assert store.runs() == []
        assert not data.exists()
        engine = create_engine(parse_url(url))
        if engine.dialect.name == "postgresql":
            assert not inspect(engine).has_table("temper_runs")
        engine.dispose()

    def test_what_is_read_is_what_was_saved(
        self, store: Store, url: str, data: Path
    ) -> None:
        run = store.create_run(make_plan())
        boots = fill(store, run)
        with Store.open_to_read(url, data) as reader:
            assert reader.load(run).boots == boots

    def test_gives_back_what_was_saved(self, store: Store) -> None:
        run = store.create_run(make_plan())
        boots = fill(store, run)
        store.finish(run)
        loaded = store.load(run)
        assert loaded.plan == make_plan()
        assert loaded.boots == boots
        assert loaded.started.tzinfo is not None
        assert loaded.finished is not None
        assert loaded.started <= loaded.finished

    def test_a_run_is_made_by_one_at_a_time(
        self, store: Store, url: str, data: Path
    ) -> None:
        first, second = store.create_run(make_plan()), store.create_run(make_plan())
        with Store.open(url, data) as other:
            with store.making(first), other.making(second):
                with pytest.raises(StoreError) as caught, other.making(first):
                    pass
                assert caught.value.message.endswith(f" is making run {first}")
                assert "end it first" in caught.value.hint
            with other.making(first):
                pass
        with pytest.raises(InputError, match="there is no run 99"), store.making(99):
            pass

    def test_a_run_whose_maker_was_killed_can_be_made(
        self, store: Store, url: str, data: Path
    ) -> None:
        run = store.create_run(make_plan())
        ours, theirs = SPAWN.Pipe()
        child = SPAWN.Process(target=make_until_killed, args=(url, data, run, theirs))
        child.start()
        assert ours.poll(PATIENCE)
        with pytest.raises(StoreError, match="is making run"), store.making(run):
            pass
        child.kill()
        child.join(PATIENCE)
        # A server takes a moment to notice.
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                with store.making(run):
                    return
            except StoreError:
                assert time.monotonic() < deadline
                time.sleep(0.05)

    def test_takes_what_a_dying_kernel_prints(self, store: Store) -> None:
        run = store.create_run(make_plan())
        garbage = "\x00\x1b[31m\r\nüß\ufffd\udcff\ud800"
        boot = make_boot(Slot(variant="off", repeat=0), 0, garbage, garbage)
        store.save_boot(run, boot)
        (loaded,) = store.load(run).boots
        assert loaded.facts == boot.facts
        assert loaded.console == garbage.encode(errors="replace").decode()

    def test_variant_names_may_hold_anything(self, store: Store, data: Path) -> None:
        slots = tuple(
            Slot(variant=name, repeat=0)
            for name in ("../../up", "a b", "é", ".", "x%2F", "x/", "a-1")
        )
        variants = [slot.variant for slot in slots]
        run = store.create_run(run_plan(variants, repeats=1))
        assert store.plan(run).slots == slots
        boots = fill(store, run)
        assert store.load(run).boots == boots
        assert len(raw_files(data)) == len(slots)

    def test_missing_are_the_slots_without_boot(self, store: Store) -> None:
        plan = make_plan()
        run = store.create_run(plan)
        assert store.missing(run) == list(plan.slots)
        store.save_boot(run, make_boot(plan.slots[2]))
        assert store.missing(run) == [plan.slots[0], plan.slots[1], plan.slots[3]]
        assert [boot.facts.repeat for boot in store.load(run).boots] == [1]

    def test_a_kernel_that_panicked_is_not_tried_again(self, store: Store) -> None:
        plan = make_plan()
        run = store.create_run(plan)
        store.save_boot(run, make_boot(plan.slots[0], 0, "panic"))
        assert plan.slots[0] not in store.missing(run)
        assert store.load(run).boots[0].facts.error == "panic"

    def test_a_boot_is_not_replaced(self, store: Store) -> None:
        plan = make_plan()
        run = store.create_run(plan)
        store.save_boot(run, make_boot(plan.slots[0], 1))
        with pytest.raises(StoreError, match=f"run {run} already has boot off-0"):
            store.save_boot(run, make_boot(plan.slots[0], 2))
        assert store.load(run).boots == [make_boot(plan.slots[0], 1)]

    def test_a_boot_that_was_not_planned_is_refused(self, store: Store) -> None:
        run = store.create_run(make_plan())
        with pytest.raises(ValueError, match="not in the plan"):
            store.save_boot(run, make_boot(Slot(variant="off", repeat=9)))

    def test_an_unknown_run_is_named(self, store: Store) -> None:
        for call in (store.missing, store.load, store.finish):
            with pytest.raises(InputError, match="no run 77") as caught:
                call(77)
            assert "temper runs" in caught.value.hint

    def test_lists_runs_newest_first(self, store: Store) -> None:
        first = store.create_run(make_plan())
        second = store.create_run(make_plan(repeats=1, kind=Kind.PROVE))
        fill(store, second)
        store.finish(second)
        newest, oldest = store.runs()
        assert (newest.id, newest.kind, newest.boots_done) == (second, Kind.PROVE, 2)
        assert newest.finished is not None
        assert newest.finished >= newest.started
        assert (oldest.id, oldest.boots_done, oldest.boots_planned) == (first, 0, 4)
        assert oldest.finished is None
        assert (oldest.feature, oldest.machine, oldest.arch) == (
            "kstack",
            "tcg",
            "x86_64",
        )

    def test_finds_the_latest_finished_run(self, store: Store) -> None:
        assert store.latest(tuple(Kind)) is None
        runs = [store.create_run(make_plan()) for _ in range(3)]
        assert store.latest(tuple(Kind)) is None
        store.finish(runs[1])
        store.finish(runs[0])
        assert store.latest(tuple(Kind)) == runs[1]

    def test_a_run_of_another_version_is_listed_and_refused(
        self, store: Store, url: str
    ) -> None:
        """One that leans on a feature.toml which may have changed since."""
        run = store.create_run(make_plan())
        old = json.loads(make_plan().model_dump_json())
        del old["format"], old["variants"], old["work"]
        engine = create_engine(parse_url(url))
        with engine.begin() as conn:
            change = text("UPDATE temper_runs SET plan = :plan WHERE id = :id")
            conn.execute(change, {"plan": json.dumps(old), "id": run})
        engine.dispose()
        (listed,) = store.runs()
        assert (listed.id, listed.current, listed.boots_planned) == (run, False, 4)
        for read in (store.load, store.plan):
            with pytest.raises(StoreError, match="by another version") as caught:
                read(run)
            assert caught.value.hint == "measure again: temper price kstack"

    def test_what_is_deleted_is_gone_with_its_files(
        self, store: Store, url: str, data: Path
    ) -> None:
        first, second, third = (store.create_run(make_plan()) for _ in range(3))
        fill(store, first)
        kept = fill(store, second)
        store.delete([first, third, first])
        assert [run.id for run in store.runs()] == [second]
        assert store.load(second).boots == kept
        assert len(raw_files(data)) == len(kept)
        assert [path.name.split("-")[0] for path in (data / "runs").iterdir()] == [
            str(second)
        ]
        with pytest.raises(InputError, match=f"there is no run {first}"):
            store.load(first)
        assert store.create_run(make_plan()) > third

    def test_nothing_is_deleted_if_one_is_being_made(
        self, store: Store, url: str, data: Path
    ) -> None:
        idle, busy = (store.create_run(make_plan()) for _ in range(2))
        fill(store, idle)
        with Store.open(url, data) as other, other.making(busy):
            with pytest.raises(StoreError, match=f"is making run {busy}"):
                store.delete([idle, busy])
            assert len(store.runs()) == 2
            assert len(raw_files(data)) == 4
        store.delete([idle, busy])
        assert store.runs() == []

    def test_nothing_is_deleted_if_one_is_not_there(self, store: Store) -> None:
        run = store.create_run(make_plan())
        with pytest.raises(InputError, match="there is no run 99"):
            store.delete([run, 99])
        assert len(store.runs()) == 1

    @pytest.mark.parametrize("plan", ["{", "{}"])
    def test_a_run_that_cannot_be_read_can_be_deleted(
        self, store: Store, url: str, data: Path, plan: str
    ) -> None:
        run = store.create_run(make_plan())
        fill(store, run)
        engine = create_engine(parse_url(url))
        with engine.begin() as conn:
            conn.execute(text("UPDATE temper_runs SET plan = :plan"), {"plan": plan})
        engine.dispose()
        store.delete([run])
        assert store.runs() == []
        assert raw_files(data) == []

    def test_is_the_same_when_opened_again(
        self, store: Store, url: str, data: Path
    ) -> None:
        run = store.create_run(make_plan())
        fill(store, run)
        with Store.open(url, data) as again:
            assert again.load(run) == store.load(run)
            assert again.create_run(make_plan()) != run

    def test_a_raw_file_describes_itself(self, store: Store, data: Path) -> None:
        run = store.create_run(make_plan())
        (boot, *_) = fill(store, run)
        (path, *_) = raw_files(data)
        head, *records = map(
            json.loads, gzip.decompress(path.read_bytes()).splitlines()
        )
        assert head["run"]["id"] == run
        assert head["run"]["uuid"].startswith(path.parent.name.split("-")[1])
        assert RunPlan.model_validate(head["run"]["plan"]) == make_plan()
        assert BootFacts.model_validate(head["facts"]) == boot.facts
        assert records == boot.records

    @pytest.mark.parametrize("damage", ["flip", "truncate", "empty", "gone"])
    def test_a_damaged_raw_file_is_named_and_booted_again(
        self, store: Store, data: Path, damage: str
    ) -> None:
        run = store.create_run(make_plan())
        boots = fill(store, run)
        path = raw_files(data)[1]
        spoil(path, damage)
        with pytest.raises(StoreError, match=path.name) as caught:
            store.load(run)
        assert "resume" in caught.value.hint
        assert store.missing(run) == [Slot(variant="off", repeat=1)]
        fill(store, run)
        assert store.load(run).boots == boots

    def test_a_lost_console_log_is_a_lost_boot(self, store: Store, data: Path) -> None:
        run = store.create_run(make_plan())
        boots = fill(store, run)
        (data / "runs").glob("*/off-0.console.txt").__next__().unlink()
        assert store.missing(run) == [Slot(variant="off", repeat=0)]
        with pytest.raises(StoreError, match="off-0"):
            store.load(run)
        fill(store, run)
        assert store.load(run).boots == boots

    def test_another_schema_version_is_refused(
        self, store: Store, url: str, data: Path
    ) -> None:
        store.create_run(make_plan())
        engine = create_engine(parse_url(url))
        with engine.begin() as conn:
            conn.execute(text("UPDATE temper_schema SET version = 99"))
        engine.dispose()
        with pytest.raises(StoreError, match="schema version 99") as caught:
            Store.open(url, data)
        assert "TEMPER_STORE" in caught.value.hint

    def test_a_damaged_row_is_an_error_that_can_be_understood(
        self, store: Store, url: str
    ) -> None:
        run = store.create_run(make_plan())
        engine = create_engine(parse_url(url))
        with engine.begin() as conn:
            conn.execute(text("UPDATE temper_runs SET plan = '{'"))
        engine.dispose()
        for call in (store.load, store.missing):
            with pytest.raises(StoreError, match="damaged"):
                call(run)

    def test_a_damaged_row_hides_no_other(self, store: Store, url: str) -> None:
        damaged, intact = (store.create_run(make_plan()) for _ in range(2))
        engine = create_engine(parse_url(url))
        with engine.begin() as conn:
            conn.execute(
                text("UPDATE temper_runs SET plan = '{' WHERE id = :run"),
                {"run": damaged},
            )
        engine.dispose()
        newest, oldest = store.runs()
        assert (newest.id, newest.damaged) == (intact, False)
        assert (oldest.id, oldest.damaged, oldest.current) == (damaged, True, False)

    @pytest.mark.parametrize(
        "change",
        [
            "plan = '" + "[" * 100_000 + "'",
            "plan = '" + "9" * 5000 + "'",
            "started = 'yesterday'",
            "finished = 'soon'",
            "kind = 'weather'",
        ],
        ids=["deep", "long", "started", "finished", "kind"],
    )
    def test_whatever_is_damaged_the_list_is_there(
        self, store: Store, url: str, change: str
    ) -> None:
        run = store.create_run(make_plan())
        engine = create_engine(parse_url(url))
        with engine.begin() as conn:
            conn.execute(text(f"UPDATE temper_runs SET {change}"))
        engine.dispose()
        assert [each.id for each in store.runs()] == [run]

    def test_processes_at_once_lose_nothing(self, url: str, data: Path) -> None:
        barrier = SPAWN.Barrier(4)
        wait_for([start(price_once, url, data, barrier, salt) for salt in range(4)])
        with Store.open(url, data) as store:
            runs = [store.load(summary.id) for summary in store.runs()]
        assert len({run.id for run in runs}) == 4
        assert sorted(salts(run)[0] for run in runs) == [0, 1, 2, 3]
        for run in runs:
            assert run.finished is not None
            assert len(run.boots) == len(run.plan.slots)
            assert len(set(salts(run))) == 1

    def test_two_may_resume_one_run(self, store: Store, url: str, data: Path) -> None:
        run = store.create_run(make_plan(repeats=20))
        barrier = SPAWN.Barrier(2)
        wait_for([start(resume, url, data, barrier, run, salt) for salt in (1, 2)])
        assert store.missing(run) == []
        assert len(store.load(run).boots) == 40

    def test_a_power_cut_at_any_line_leaves_a_boot_or_none(
        self, store: Store, url: str, data: Path
    ) -> None:
        plan = make_plan(repeats=1).model_copy(
            update={"slots": (Slot(variant="off", repeat=0),)}
        )
        boot = make_boot(plan.slots[0])
        outcomes = set()
        died, line = True, 0
        while died:
            line += 1
            run = store.create_run(plan)
            died = killed_at_line(line, lambda run=run: store.save_boot(run, boot))  # type: ignore[misc]
            for path in raw_files(data):
                assert gzip.decompress(path.read_bytes())
            with Store.open(url, data) as after:
                missing = after.missing(run)
                assert after.load(run).boots == ([] if missing else [boot])
                fill(after, run)
                assert after.load(run).boots == [boot]
            outcomes.add(bool(missing))
        assert not missing
        assert outcomes == {True, False}
        assert line > 30

    def test_a_power_cut_at_any_line_leaves_a_run_that_can_be_deleted(
        self, store: Store, url: str, data: Path
    ) -> None:
        run, seen = 0, set()
        died, line = True, 0
        while died:
            line += 1
            if not store.runs():
                run = store.create_run(make_plan(repeats=1))
                fill(store, run)
            died = killed_at_line(line, lambda run=run: store.delete([run]))  # type: ignore[misc]
            with Store.open(url, data) as after:
                seen.add((bool(after.runs()), bool(raw_files(data))))
                # A rebuilt database would have the run again.
                assert after.runs() or not raw_files(data)
        assert not raw_files(data)
        assert seen == {(True, True), (True, False), (False, False)}
        assert line > 30

    def test_killed_at_any_moment_keeps_what_was_saved(
        self, url: str, data: Path
    ) -> None:
        moments = random.Random(1)
        for _ in range(4):
            ours, theirs = SPAWN.Pipe(duplex=False)
            process = start(save_until_killed, url, data, theirs)
            theirs.close()
            assert ours.poll(PATIENCE)
            time.sleep(moments.uniform(0, 0.3))
            process.kill()
            process.join(PATIENCE)
            told = drain(ours)
            run = told[0][0]
            with Store.open(url, data) as store:
                boots = store.load(run).boots
                missing = store.missing(run)
            saved = [
                Slot(variant=b.facts.variant, repeat=b.facts.repeat) for b in boots
            ]
            assert saved[: len(told)] == [slot for _, slot in told]
            assert len(saved) - len(told) in (0, 1)
            assert len(saved) + len(missing) == 4000
            assert all(
                boot.records[0]["values"] == [boot.facts.repeat] for boot in boots
            )


def salts(run: StoredRun) -> list[int]:
    """Return what was given ``make_boot`` as salt."""
    return [boot.records[0]["values"][0] for boot in run.boots]


def drain(connection: Connection) -> list[tuple[int, Slot]]:
    """Receive until the other end is closed."""
    received = []
    try:
        while True:
            received.append(connection.recv())
    except EOFError:
        return received


def spoil(path: Path, damage: str) -> None:
    """Damage a file in the way named."""
    content = path.read_bytes()
    middle = len(content) // 2
    match damage:
        case "flip":
            flipped = bytes([content[middle] ^ 1])
            path.write_bytes(content[:middle] + flipped + content[middle + 1 :])
        case "truncate":
            path.write_bytes(content[:middle])
        case "empty":
            path.write_bytes(b"")
        case "gone":
            path.unlink()
