"""Boots of mutants that end as soon as something has noticed their kernels."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_machine import FakeMachine, prepared, result
from test_mutate_report import ATTACK, CONSTANT, KUNIT, RANDOM, boot, mutant, plan
from test_tcg import BOOT, Host
from test_tcg_attacked import host as host  # noqa: PLC0414 (a fixture)
from test_tcg_attacked import ran, says

from temper.analysis.early import EarlyLook
from temper.analysis.mutants import boots_needed, mutate_report
from temper.analysis.noticing import Notice
from temper.errors import StoreError
from temper.extension import judge_named
from temper.machine import BootResult, Watcher
from temper.record.boot import StoredBoot, StoredRun
from temper.record.plan import Kind, RunPlan, Slot, Twins, again
from temper.record.wire import Exit
from temper.run.booting import Booter
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


def notices(boot: StoredBoot) -> bool:
    return EarlyLook(two_proofs()).has_noticed(boot)


@pytest.mark.parametrize(
    "wrong",
    [
        begun(CONSTANT),
        begun(programs=0, on=False),
        begun(programs=0, console=KUNIT + "[    3.1] BUG: bad page\n"),
    ],
    ids=["proof", "in force", "console"],
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
    ],
    ids=["passed", "not ended", "both passed", "only KUnit"],
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
    one = boot("0a").facts
    return StoredRun(id=4, plan=plan(), started=one.started, boots=[*usual, *boots])


def ended_early(name: str, positions: list[int]) -> StoredBoot:
    found = begun(positions)
    facts = found.facts.model_copy(update={"variant": name})
    return found.model_copy(update={"facts": facts})


def test_boots_that_ended_early_are_noticed() -> None:
    run = run_with(ended_early("0a", CONSTANT), ended_early(again("0a"), CONSTANT))
    assert boots_needed(run) == []
    assert mutate_report(run).noticed_by == {"prediction": 1}


def test_a_proof_that_was_not_reached_notices_nothing() -> None:
    """Its samples are missing, which is no fault of the mutant."""
    planned = two_proofs()
    late = begun(CONSTANT)
    run = StoredRun(id=4, plan=planned, started=late.facts.started, boots=[late])
    assert mutate_report(run).pending == ["0a"]
    (needed,) = [slot for slot in boots_needed(run) if slot.variant == again("0a")]
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


def test_what_was_noticed_before_is_not_judged_again() -> None:
    known: dict[str, Notice | None] = {}
    run = run_with(boot("0a", CONSTANT))
    again_due = [Slot(variant=again("0a"), repeat=0)]
    assert boots_needed(run, known) == again_due
    assert known["0a"]
    # Nothing reads these samples any more.
    run = run_with(boot("0a", RANDOM))
    assert boots_needed(run, known) == again_due
    assert boots_needed(run) == []


def program(host: Host, *more: str) -> str:
    """Have a guest end programs in turn, and then go on for long."""
    body = "echo 'Linux version 6.12' >$console\n" + says(BOOT)
    for number, name in enumerate(more):
        body += says(*ran(1 + 2 * number, name)) + "sleep 0.3\n"
    return f"echo $$ >{host.root}/pid\n{body}sleep 60\n"


def test_a_guest_is_ended_when_there_is_enough(host: Host) -> None:
    host.qemu(program(host, "first", "second"))
    asked: list[BootResult] = []

    def enough(so_far: BootResult) -> bool:
        asked.append(so_far)
        return len(asked) == 2

    request = replace(host.request(), enough=enough)
    found = host.tcg().boot(request, host.work, Watcher())
    assert found == asked[1]
    assert found.early
    ended = [[r.program for r in a.records if isinstance(r, Exit)] for a in asked]
    assert ended == [["first"], ["first", "second"]]
    assert found.console == "Linux version 6.12\n"
    pid = (host.root / "pid").read_text().strip()
    assert not Path(f"/proc/{pid}").exists()


def test_a_boot_that_came_to_its_end_did_not_end_early(host: Host) -> None:
    body = "echo 'Linux version 6.12' >$console\n" + says(BOOT, *ran(1, "first"))
    host.qemu(body + says('{"n":3,"type":"end"}'))
    request = replace(host.request(), enough=lambda _: False)
    assert not host.tcg().boot(request, host.work, Watcher()).early


def test_only_boots_of_mutants_may_end_early(tmp_path: Path) -> None:
    names = ("off", "unmutated", "0a", again("0a"))
    made = prepared(tmp_path, names, repeats=3)
    twins = Twins(job=("run twins 9",), seeds=(1, 2))
    work = made.plan.work.model_copy(update={"exact": False})
    changes = {
        "kind": Kind.MUTATE,
        "mutants": {"0a": mutant()},
        "twins": twins,
        "work": work,
    }
    made = replace(made, plan=made.plan.model_copy(update=changes))
    early = result()

    def behaves(watcher: Watcher) -> BootResult:
        return replace(early, early=True)

    machine = FakeMachine({"0a": behaves})
    booter = Booter(made, machine)
    asked: dict[tuple[str, bool], bool] = {}
    for slot in made.plan.slots:
        found = booter.boot(slot, Watcher())
        request = machine.requests[-1]
        asked[slot.variant, slot.repeat > 0] = request.enough is not None
        assert found.facts.early is (slot.variant == "0a")
    assert [place for place, may in asked.items() if may] == [
        ("0a", False),
        (again("0a"), False),
    ]
