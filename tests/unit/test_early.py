"""Boots of mutants that end as soon as something has noticed their kernels."""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_debugger import Debugger
from fake_machine import FakeMachine, prepared, result
from samples import STARTED
from test_mutate_report import ATTACK, CONSTANT, KUNIT, RANDOM, boot, plan
from test_tcg import BOOT, Host
from test_tcg_attacked import ATTACKED, job, line, ran, says
from test_tcg_attacked import host as host  # noqa: PLC0414 (a fixture)

from temper.analysis.early import EarlyLook
from temper.analysis.mutants import BootsNeeded, mutate_report
from temper.errors import BootError, InfraError, StoreError
from temper.extension import judge_named
from temper.machine import BootRequest, BootResult, Gdb, Limits, Watcher, watcher
from temper.record.boot import StoredBoot, StoredRun
from temper.record.plan import Kind, RunPlan, Slot, Twins, again
from temper.record.wire import Exit, Samples, parse_record
from temper.run.booting import Booter
from temper.run.prepare import Prepared
from temper.stats.judging import Arrays, Judge, Verdict

LATER = "across_tasks 9"


def two_proofs() -> RunPlan:
    """Plan a second proof, whose program runs after that of the first."""
    planned = plan()
    (first,) = planned.proofs.values()
    later = first.model_copy(update={"line": LATER})
    return planned.model_copy(
        update={
            "proofs": {**planned.proofs, "later": later},
            "work": planned.work.model_copy(
                update={"job": (f"run {ATTACK}", f"run {LATER}")}
            ),
        }
    )


def begun(
    positions: list[int] = RANDOM,
    programs: int = 1,
    on: bool = True,
    console: str = KUNIT,
) -> StoredBoot:
    """Return a boot of the mutant in which some programs have ended."""
    one = boot("0a", positions, on, console)
    sent = one.records[:-1]
    # Another program with the same samples.
    again_sent = [
        {**each, "program": LATER} if "program" in each else each for each in sent[1:]
    ]
    records = {0: sent[:-1], 1: sent, 2: [*sent, *again_sent]}[programs]
    facts = one.facts.model_copy(update={"early": True})
    return one.model_copy(update={"records": records, "facts": facts})


def silent(console: str = KUNIT) -> StoredBoot:
    """Return a boot that has made no check yet."""
    return begun(console=console).model_copy(update={"records": []})


BUG = KUNIT + "[    3.1] BUG: bad page\n"


def notices(boot: StoredBoot) -> bool:
    return EarlyLook(two_proofs()).has_noticed(boot)


@pytest.mark.parametrize(
    "wrong",
    [
        begun(CONSTANT),
        begun(programs=0, on=False),
        begun(programs=0, console=BUG),
        silent(BUG),
    ],
    ids=["proof", "in force", "console", "console before a check"],
)
def test_what_is_noticed_need_not_go_on(wrong: StoredBoot) -> None:
    assert notices(wrong)


@pytest.mark.parametrize(
    "fine",
    [
        begun(),
        begun(CONSTANT, programs=0),
        begun(programs=2),
        begun(console=KUNIT.replace("ok 2", "not ok 2")),
        silent(),
    ],
    ids=["passed", "not ended", "both passed", "only KUnit", "no check"],
)
def test_what_is_not_noticed_goes_on(fine: StoredBoot) -> None:
    """KUnit's results are the last to count, since ``temper prove`` has none."""
    assert not notices(fine)


def test_a_proof_judges_a_boot_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def counting(folder: Path, name: str, params: Mapping[str, Any]) -> Judge:
        judge = judge_named(folder, name, params)

        def count(samples: Arrays, definition: Arrays, **params: object) -> Verdict:
            asked.append(name)
            return judge(samples, definition, **params)

        return count

    monkeypatch.setattr("temper.analysis.proof.judge_named", counting)
    look = EarlyLook(two_proofs())
    times = []
    for programs in (0, 1, 1, 2):
        assert not look.has_noticed(begun(programs=programs))
        times.append(len(asked))
    assert times == [0, 1, 1, 2]


def run_with(*boots: StoredBoot) -> StoredRun:
    usual = [boot("off", CONSTANT, on=False, console="")]
    usual += [boot(name) for name in ("unmutated", again("unmutated"))]
    return run_of(*usual, *boots)


def run_of(*boots: StoredBoot) -> StoredRun:
    return StoredRun(id=4, plan=plan(), started=STARTED, boots=list(boots))


def ended_early(name: str, positions: list[int]) -> StoredBoot:
    found = begun(positions)
    facts = found.facts.model_copy(update={"variant": name})
    return found.model_copy(update={"facts": facts})


def test_boots_that_ended_early_are_noticed() -> None:
    run = run_with(ended_early("0a", CONSTANT), ended_early(again("0a"), CONSTANT))
    assert BootsNeeded()(run) == []
    assert mutate_report(run).noticed_by == {"prediction": 1}


def test_a_proof_that_was_not_reached_notices_nothing() -> None:
    """Its samples are missing, which is no fault of the mutant."""
    planned = two_proofs()
    late = begun(CONSTANT)
    run = StoredRun(id=4, plan=planned, started=late.facts.started, boots=[late])
    assert mutate_report(run).pending == ["0a"]
    (needed,) = [slot for slot in BootsNeeded()(run) if slot.variant == again("0a")]
    assert needed == Slot(variant=again("0a"), repeat=0)


def test_judges_that_see_nothing_any_more_are_an_error() -> None:
    """Nobody knows what the rest of the boot would have shown."""
    run = run_with(ended_early("0a", RANDOM))
    with pytest.raises(StoreError) as caught:
        mutate_report(run)
    assert caught.value.message == (
        "run 4 cannot be judged: a boot of 0a was ended by what judges found that "
        "have changed since"
    )
    assert "temper mutate kstack --sample 1" in caught.value.hint


AGAIN = [Slot(variant=again("0a"), repeat=0)]


def test_what_was_noticed_before_is_not_judged_again() -> None:
    needed = BootsNeeded()
    assert needed(run_with(boot("0a", CONSTANT))) == AGAIN
    # Nothing reads these samples any more.
    fine = run_with(boot("0a", RANDOM))
    assert needed(fine) == AGAIN
    assert BootsNeeded()(fine) == []


def test_what_was_not_noticed_before_is_judged_again() -> None:
    """A test that did not run is told by the series, in which it did."""
    lacking = boot("0a", console=KUNIT.replace("[    0.5]     ok 2 test_keys\n", ""))
    needed = BootsNeeded()
    assert not set(AGAIN) & set(needed(run_of(lacking)))
    assert needed(run_with(lacking)) == AGAIN


def programs(host: Host, *names: str) -> str:
    """Have a guest end programs, each after the test has heard of the one before it.

    Then it is in the middle of two lines.
    """
    body = f"echo $$ >{host.root}/pid\necho 'Linux version 6.12' >$console\n"
    body += says(BOOT)
    for number, name in enumerate(names):
        body += says(*ran(1 + 2 * number, name))
        body += f"until [ -e {host.root}/{name} ]; do sleep 0.02; done\n"
    return f"{body}sleep 60\n"


def test_a_guest_is_ended_when_there_is_enough(host: Host) -> None:
    host.qemu(programs(host, "first", "second"))
    asked: list[BootResult] = []

    def enough(so_far: BootResult) -> bool:
        asked.append(so_far)
        (host.root / ("first", "second")[len(asked) - 1]).touch()
        return len(asked) == 2

    request = replace(host.request(), enough=enough)
    found = host.tcg().boot(request, host.work, Watcher())
    # Not what has come since.
    assert found is asked[1]
    assert found.early
    ended = [[r.program for r in a.records if isinstance(r, Exit)] for a in asked]
    assert ended == [["first"], ["first", "second"]]
    pid = (host.root / "pid").read_text().strip()
    assert not Path(f"/proc/{pid}").exists()


def test_lines_that_are_not_whole_do_not_count(host: Host) -> None:
    """Half of a complaint that is expected is one that nobody expects."""
    sent = "".join(f"{line}\n" for line in (BOOT, *ran(1, "first")))
    torn = sent + '{"n":3,"type":'
    host.qemu(
        "printf 'Linux\\nWARNING: CP' >$console\n"
        f"printf %s {shlex.quote(torn)} >$records\nsleep 60\n"
    )
    request = replace(host.request(), enough=lambda _: True)
    found = host.tcg().boot(request, host.work, Watcher())
    assert found.console == "Linux\n"
    assert [record.type for record in found.records] == ["boot", "start", "exit"]


def test_a_full_memory_is_no_notice(host: Host) -> None:
    """Programs that were cut off fail on every kernel."""
    full = "Initramfs unpacking failed: write error"
    sent = says(BOOT, *ran(1, "first"))
    host.qemu(f"echo '{full}' >$console\n{sent}sleep 60\n")
    request = replace(host.request(), enough=lambda _: True)
    with pytest.raises(InfraError, match="do not fit into the guest's memory"):
        host.tcg().boot(request, host.work, Watcher())


def test_what_a_debugger_found_is_looked_at(host: Host) -> None:
    def attack(gdb: Gdb) -> Iterator[Samples]:
        (host.root / "attacked").touch()
        yield Samples(n=0, type="samples", name="rows", values=[3])

    host.qemu(job(host, ATTACKED) + "sleep 60\n")

    def enough(so_far: BootResult) -> bool:
        samples = [r.values for r in so_far.records if isinstance(r, Samples)]
        return samples == [[3]]

    request = replace(host.request(), attacks={ATTACKED: attack}, enough=enough)
    with Debugger(host.work / "debugger"):
        assert host.tcg().boot(request, host.work, Watcher()).early


def test_a_guest_that_hangs_is_looked_at(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No program of it ends, and it says so time and again."""
    monkeypatch.setattr(watcher, "LASTING", 0.3)
    stall = "rcu: INFO: rcu_sched detected stalls on CPUs/tasks:"
    host.qemu(f"while :; do echo '{stall}' >>$console; sleep 1; done\n")
    asked: list[BootResult] = []

    def enough(so_far: BootResult) -> bool:
        asked.append(so_far)
        return len(asked) == 2

    request = replace(host.request(), enough=enough)
    assert host.tcg().boot(request, host.work, Watcher()) is asked[1]
    # Once in each silence.
    assert [each.console.count(stall) for each in asked] == [1, 2]


def test_a_program_that_is_silent_is_left_alone(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look takes seconds from it, and some measure time."""
    monkeypatch.setattr(watcher, "LASTING", 0.3)
    body = "echo 'Linux version 6.12' >$console\n" + says(BOOT, *ran(1, "first"))
    host.qemu(body + "sleep 2\n" + says('{"n":3,"type":"end"}'))
    asked: list[BootResult] = []

    def enough(so_far: BootResult) -> bool:
        asked.append(so_far)
        return False

    request = replace(host.request(), enough=enough)
    host.tcg().boot(request, host.work, Watcher())
    # When the program had ended.
    assert len(asked) == 1


COMPLAINS = "(for i in 1 2 3 4 5 6 7 8; do echo again >>$console; sleep 0.5; done)\n"


@pytest.mark.parametrize(
    ("guest", "silent", "last"),
    [
        # A program waits for memory, and its kernel says so again and again.
        (says(BOOT, line(1, "start", "first")) + COMPLAINS, "its programs", "again"),
        ("echo 'Linux' >$console\n", "it", "Linux"),
    ],
    ids=["it complains for ever", "it runs no program"],
)
def test_a_mutant_that_hangs_is_given_up(
    host: Host, guest: str, silent: str, last: str
) -> None:
    host.qemu(guest + "sleep 60\n")
    request = replace(host.request(), enough=lambda _: False)
    with pytest.raises(BootError) as caught:
        host.tcg(Limits(silence=1)).boot(request, host.work, Watcher())
    assert caught.value.message == (
        f"the kernel hung: {silent} said nothing for 1 s; last on its console: '{last}'"
    )
    assert caught.value.console.count("again") < 5


@pytest.mark.parametrize("mutant", [True, False])
def test_what_a_console_says_shows_life_where_nothing_else_can(
    host: Host, mutant: bool
) -> None:
    """Before init is up, and of kernels that are not known to be broken."""
    end = says(*ran(1, "first"), '{"n":3,"type":"end"}')
    first, then = ("", says(BOOT)) if mutant else (says(BOOT), "")
    host.qemu(first + COMPLAINS + then + end)
    enough = (lambda _: False) if mutant else None
    request = replace(host.request(), enough=enough)
    host.tcg(Limits(silence=1.5)).boot(request, host.work, Watcher())


def test_a_boot_that_came_to_its_end_did_not_end_early(host: Host) -> None:
    body = "echo 'Linux version 6.12' >$console\n" + says(BOOT, *ran(1, "first"))
    host.qemu(body + says('{"n":3,"type":"end"}'))
    request = replace(host.request(), enough=lambda _: False)
    assert not host.tcg().boot(request, host.work, Watcher()).early


def sent(found: StoredBoot) -> BootResult:
    """Return what a boot brought back to whoever stored it."""
    return BootResult([parse_record(record) for record in found.records], found.console)


class Asking(FakeMachine):
    """Asks whether what a broken kernel sends is enough, and a harmless one."""

    answers: list[bool]

    def boot(self, request: BootRequest, work: Path, watcher: Watcher) -> BootResult:
        assert request.enough
        kernels = (CONSTANT, RANDOM)
        self.answers = [request.enough(sent(begun(each))) for each in kernels]
        return super().boot(request, work, watcher)


def test_only_a_mutant_is_ended_by_what_notices_it(tmp_path: Path) -> None:
    planned = plan()
    setup = prepared(tmp_path).setups["off"]
    machine = Asking()
    booter = Booter(Prepared(planned, dict.fromkeys(planned.variants, setup)), machine)
    ended: dict[str, list[bool]] = {}
    for slot in planned.slots:
        booter.boot(slot, Watcher())
        ended[slot.variant] = machine.answers
    mutants = {name: [True, False] for name in ("0a", again("0a"))}
    others = ("off", "unmutated", again("unmutated"))
    assert ended == mutants | {name: [False, False] for name in others}


def test_twins_and_other_runs_come_to_their_end(tmp_path: Path) -> None:
    """Twins decide together, and a proof is of whole boots."""
    twins = Twins(job=("run twins 9",), seeds=(1, 2))
    for kind in (Kind.MUTATE, Kind.PROVE):
        made = prepared(tmp_path, repeats=3)
        work = made.plan.work.model_copy(update={"exact": False})
        changes = {"kind": kind, "twins": twins, "work": work}
        made = replace(made, plan=made.plan.model_copy(update=changes))
        machine = FakeMachine()
        for slot in made.plan.slots:
            Booter(made, machine).boot(slot, Watcher())
            may = machine.requests[-1].enough is not None
            assert may is (kind is Kind.MUTATE and not slot.repeat)


def test_that_a_boot_ended_early_is_stored(tmp_path: Path) -> None:
    early = replace(result(), early=True)
    machine = FakeMachine({"off": lambda _: early})
    made = prepared(tmp_path)
    for slot in made.plan.slots:
        found = Booter(made, machine).boot(slot, Watcher())
        assert found.facts.early is (slot.variant == "off")
