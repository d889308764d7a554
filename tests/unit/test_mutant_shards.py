"""Shards of mutants, which each have what they are judged by, put together again."""

import itertools
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import typer
from samples import STARTED, changed
from test_mutate_report import (
    CONSTANT,
    KUNIT,
    RANDOM,
    boot,
    mutant,
    plan_of_two,
    variant,
)
from test_shards import (
    Change,
    Fleet,
    add,
    fleet,
    mutated,
    own,
    parts,
    saying,
    with_fact,
)
from typer.testing import CliRunner

import temper.cli.lab
from temper.analysis.mutants import MutateReport, mutate_report
from temper.analysis.proof import Judging
from temper.cli.files import Files
from temper.cli.lab import Lab
from temper.errors import InputError, StoreError
from temper.record.boot import StoredBoot, StoredRun
from temper.record.plan import RunPlan, Slot, again
from temper.run.execute import check_resumable
from temper.run.mutate import choice_of
from temper.store import Store

__all__ = ["fleet"]

MUTANTS = plan_of_two()
SKIPPED = KUNIT.replace("ok 2 test_keys", "ok 2 test_keys # SKIP too slow")
SERIES = ("unmutated", again("unmutated"))


def plan_of(count: int) -> RunPlan:
    """Plan to boot so many mutants, 00 and so on; the control has two twins."""
    ids = [f"{number:02x}" for number in range(count)]
    names = [*ids, *map(again, ids)]
    kept = {name: MUTANTS.variants[name] for name in ("off", *SERIES)}
    booted = ["off", "unmutated", *ids, SERIES[1], *map(again, ids)]
    return MUTANTS.model_copy(
        update={
            "variants": kept | {name: variant(name) for name in names},
            "mutants": dict.fromkeys(ids, mutant()),
            "slots": (
                *(Slot(variant=name, repeat=0) for name in booted),
                *(Slot(variant="off", repeat=twin) for twin in (1, 2)),
            ),
        }
    )


def survivors(plan: RunPlan = MUTANTS, console: str = KUNIT) -> list[StoredBoot]:
    """Return boots of a plan whose mutants nobody notices."""
    booted = [name for name in plan.booted if name != "off"]
    return [
        boot("off", CONSTANT, on=False, console=""),
        *(
            boot(name, console=console)
            for name in booted
            if not name.endswith("again") or name in SERIES
        ),
    ]


def stored(root: Path, part: RunPlan, boots: Iterable[StoredBoot]) -> Path:
    """Store a shard in a folder of its own, and return that."""
    with Store.open(data=root) as store:
        add(store, part, own(part, boots))
    return root


def judged(plan: RunPlan, boots: Iterable[StoredBoot]) -> MutateReport:
    run = StoredRun(id=1, plan=plan, started=STARTED, boots=own(plan, boots))
    return mutate_report(run)


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_shards_follow_one_another(count: int) -> None:
    """Each mutant is in one, and what judges them in all, twins as well."""
    plan = plan_of(5)
    found = parts(plan, count)
    shares = [[name for name in part.booted if name in plan.mutants] for part in found]
    assert [*itertools.chain(*shares)] == [*plan.mutants]
    assert {len(share) for share in shares} <= {5 // count, 5 // count + 1}
    others = [slot for slot in plan.slots if not plan.mutant_of(slot.variant)]
    assert len(others) == 5
    for part in found:
        assert [slot for slot in others if slot in part.slots] == others


def both_orders(*folders: Path) -> Iterator[tuple[Path, ...]]:
    yield folders
    yield folders[::-1]


@pytest.mark.parametrize("consoles", [(KUNIT, SKIPPED), (SKIPPED, KUNIT)])
def test_series_that_pass_other_tests_judge_other_mutants(
    fleet: Fleet, consoles: tuple[str, str]
) -> None:
    """Whoever is first would decide: a test that does not run notices nothing."""
    folders = [
        fleet.make(part, boots=survivors(console=console))
        for part, console in zip(parts(MUTANTS, 2), consoles, strict=True)
    ]
    for order in both_orders(*folders):
        with pytest.raises(InputError) as caught:
            fleet.merge(*order)
        assert caught.value.message == (
            "shards 1/2 and 2/2 judge mutants by different boots: KUnit's "
            "test_keys passes on unmutated in one of them alone"
        )
        commands = [f"{MUTANTS.command} --shard {n}/2" for n in (1, 2)]
        assert caught.value.hint == f"make them again: {'; '.join(commands)}"


def test_controls_that_are_tried_less_often_judge_other_mutants(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tries(judging: Judging, variant: str, _: str) -> int:
        assert variant == "off"
        (found,) = (b for b in judging.run.boots if b.facts.variant == variant)
        return 100 - len(found.console)

    monkeypatch.setattr(Judging, "tries", tries)
    folders = [
        fleet.make(first, boots=survivors()) for first in parts(MUTANTS, 2)[:1]
    ] + [fleet.make(MUTANTS.part(2, 2), saying("a line"), survivors())]
    for order in both_orders(*folders):
        with pytest.raises(
            InputError, match="prediction tries 100 times on off in one"
        ):
            fleet.merge(*order)


@pytest.mark.parametrize("where", [1, 2, 3])
def test_the_series_must_hold_in_each_of_many_shards(fleet: Fleet, where: int) -> None:
    plan = plan_of(3)
    boots = [each for each in survivors(plan)]
    twins = [boot("off", CONSTANT, on=False, console="", repeat=n) for n in (1, 2)]

    def change(number: int) -> Change:
        busy = saying("WARNING: it is busy here")
        return lambda b: busy(b) if number == where and b.facts.variant in SERIES else b

    folders = [
        fleet.make(part, change(number), [*boots, *twins])
        for number, part in enumerate(parts(plan, 3), 1)
    ]
    with pytest.raises(InputError) as caught:
        fleet.merge(*folders)
    said = f"shard {where}/3 has no score: unmutated is noticed by console, too"
    assert caught.value.message.startswith(said)
    again_ = f"make it again: {plan.command} --shard {where}/3"
    assert caught.value.hint == again_


@pytest.mark.parametrize("chosen", [False, True])
def test_attacks_must_land_on_the_control_in_each_shard(
    fleet: Fleet, chosen: bool
) -> None:
    plan = MUTANTS.model_copy(update={"chosen": chosen})
    first, second = parts(plan, 2)
    blocked = boot("off", RANDOM, on=False, console="")
    boots = [blocked if b.facts.variant == "off" else b for b in survivors()]
    folders = (fleet.make(first, boots=survivors()), fleet.make(second, boots=boots))
    with pytest.raises(InputError) as caught:
        fleet.merge(*folders)
    assert caught.value.message == (
        "shard 2/2 has no score: prediction does not find off VULNERABLE"
    )


@pytest.mark.parametrize("variant", ["unmutated", "0e"])
def test_a_shard_that_was_made_twice_must_have_gone_the_same_way(
    fleet: Fleet, tmp_path: Path, variant: str
) -> None:
    first, second = parts(MUTANTS, 2)
    one = fleet.make(first, boots=mutated())
    good = stored(tmp_path / "good", second, mutated())
    odd = [
        saying("WARNING: it is busy here")(b) if b.facts.variant == variant else b
        for b in mutated()
    ]
    bad = stored(tmp_path / "bad", second, odd)
    for order in itertools.permutations((one, good, bad)):
        with pytest.raises(InputError, match=f"boot {variant}-0 was made twice"):
            fleet.merge(*order)


def test_shards_of_two_numbers_are_refused(fleet: Fleet, tmp_path: Path) -> None:
    plan = plan_of(3)
    boots = survivors(plan)
    folders = (
        stored(tmp_path / "second", plan.part(2, 2), boots),
        stored(tmp_path / "first", plan.part(1, 3), boots),
    )
    for order in both_orders(*folders):
        with pytest.raises(InputError, match=r"is one of [23] shards, and "):
            fleet.merge(*order)


def test_a_reason_is_not_said_to_make_another_plan(fleet: Fleet) -> None:
    reason = {"0e": mutant(accepted="message: It only says something else.")}
    later = MUTANTS.model_copy(
        update={"mutants": MUTANTS.mutants | reason, "judges": "ff"}
    )
    folders = (
        fleet.make(MUTANTS.part(1, 2), boots=mutated()),
        fleet.make(later.part(2, 2), boots=mutated()),
    )
    with pytest.raises(InputError, match=r"they differ in judges$"):
        fleet.merge(*folders)


def test_a_control_by_another_qemu_is_refused(fleet: Fleet) -> None:
    newer = with_fact("version", "QEMU 99")

    def elsewhere(boot: StoredBoot) -> StoredBoot:
        return newer(boot) if boot.facts.variant == "off" else boot

    first, second = parts(MUTANTS, 2)
    folders = (
        fleet.make(first, boots=mutated()),
        fleet.make(second, elsewhere, mutated()),
    )
    with pytest.raises(InputError, match="the machine is another one"):
        fleet.merge(*folders)


def test_all_shards_that_are_not_there_are_named(fleet: Fleet) -> None:
    plan = plan_of(3)
    folder = fleet.make(plan.part(2, 3), boots=survivors(plan))
    with pytest.raises(InputError) as caught:
        fleet.merge(folder)
    assert caught.value.message == (
        "shard 1/3, 2/3, 3/3 is incomplete: boots off-0, unmutated-0, 00-0, "
        "unmutated-again-0, off-1, off-2 and 8 more are missing"
    )
    commands = [f"{plan.command} --shard {number}/3" for number in (1, 2, 3)]
    assert caught.value.hint == "; ".join(commands)


def test_a_shard_says_as_little_as_a_small_sample() -> None:
    part = MUTANTS.part(2, 2)
    found = judged(part, survivors())
    assert found.score == 0
    assert found.interval == pytest.approx((0, 97.5))


def test_a_shard_has_no_score_before_it_is_finished() -> None:
    plan = plan_of(4)
    twins = [boot("off", CONSTANT, on=False, console="", repeat=n) for n in (1, 2)]
    boots = [*survivors(plan), *twins]
    part = plan.part(2, 2)
    assert judged(part, boots).score == 0
    found = judged(part, [b for b in boots if b.facts.variant != "03"])
    assert [each.id for each in found.mutants] == ["02"]
    assert (found.unsound, found.score, found.pending) == ("", None, ["03"])


def test_the_only_shard_is_no_sample() -> None:
    whole = judged(MUTANTS.part(1, 1), mutated())
    assert (whole.score, whole.interval) == (100, None)


def test_boots_that_judges_ended_are_made_again_by_the_shard(fleet: Fleet) -> None:
    def early(boot: StoredBoot) -> StoredBoot:
        return changed(boot, early=True) if boot.facts.variant == "0e" else boot

    first, second = parts(MUTANTS, 2)
    with Store.open() as store:
        number = add(store, second, map(early, own(second, survivors())))
    folders = (
        fleet.make(first, boots=survivors()),
        fleet.make(second, early, survivors()),
    )
    for words in (("report", str(number)), ("merge", *folders)):
        with pytest.raises(StoreError) as caught:
            fleet.temper(*words)
        assert caught.value.message.startswith("shard 2/2 cannot be judged")
        assert caught.value.hint
        assert caught.value.hint.endswith(f"{MUTANTS.command} --shard 2/2")


def test_a_judge_that_is_gone_is_told_with_the_shard() -> None:
    gone = {
        name: proof.model_copy(update={"judge": "gone"})
        for name, proof in MUTANTS.proofs.items()
    }
    plan = MUTANTS.model_copy(update={"proofs": gone})
    with pytest.raises(StoreError, match="shard 2/2 cannot be judged") as caught:
        judged(plan.part(2, 2), survivors())
    assert caught.value.hint
    assert caught.value.hint.endswith(f"{plan.command} --shard 2/2")


def test_the_order_of_folders_changes_nothing(fleet: Fleet) -> None:
    folders = [
        fleet.make(part, saying(f"host {part.shard}"), mutated())
        for part in parts(MUTANTS, 2)
    ]
    for order in both_orders(*folders):
        assert fleet.merge(*order).exit_code == 0
    with Store.open() as store:
        one, two = store.load(1), store.load(2)
    assert one.boots == two.boots


def test_nothing_is_left_of_a_finished_shard(tmp_path: Path) -> None:
    """Boots that decide nothing were left out; they are not missing."""
    part = MUTANTS.part(2, 2)
    with Store.open(data=tmp_path) as store:
        number = add(store, part, own(part, survivors()))
        assert store.missing(number)
        with pytest.raises(InputError, match="there is nothing to resume") as caught:
            check_resumable(store, part, number, choice_of(part))
        assert caught.value.hint == "temper merge FOLDER..."
        # Something else is to be decided now.
        check_resumable(store, part, number, lambda run: [Slot(variant="0e", repeat=0)])


@pytest.fixture
def shard_made(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Have shards made by nobody; return what chose their boots."""

    class Anywhere:
        def prepare(self) -> None:
            pass

    chosen: list[object] = []

    def make(
        plan: RunPlan, store: Store, _: object, __: object, choice: object
    ) -> StoredRun:
        chosen.append(choice)
        with store.adding(plan, own(plan, mutated())) as run:
            return run

    @contextmanager
    def engine(_: Lab, plan: RunPlan, __: object) -> Iterator[RunPlan]:
        yield plan

    monkeypatch.setattr(temper.cli.lab, "machine_for", lambda *_: Anywhere())
    monkeypatch.setattr(temper.cli.lab, "check_cpus", lambda *_: None)
    monkeypatch.setattr(temper.cli.lab, "execute", make)
    monkeypatch.setattr(Lab, "_engine", engine)
    return chosen


def said_by_a_shard(file: str | None) -> str:
    """Return what goes to stdout as a shard is made."""
    app = typer.Typer()

    @app.command()
    def make() -> None:
        lab = Lab.of("x86_64", None, shard="2/2")
        lab.carry_out(MUTANTS, Files(json=file), None, only_plan=False)

    return CliRunner().invoke(app, [], catch_exceptions=False).stdout


@pytest.mark.usefixtures("fleet")
def test_a_shard_leaves_stdout_to_its_report(shard_made: list[object]) -> None:
    assert json.loads(said_by_a_shard("-"))["score"] == 100
    assert shard_made
    assert all(shard_made)


def test_a_shard_says_where_its_boots_are(
    fleet: Fleet, shard_made: list[object]
) -> None:
    said = said_by_a_shard(None)
    assert shard_made
    assert said.startswith("Shard 2/2 is done. Its boots are in")
    assert str(fleet.own) in said
    assert "of all 2 shards together" in said
