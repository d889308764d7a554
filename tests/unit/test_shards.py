"""Parts of a plan that are made apart, and put together again."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from fake_lab import FakeLab
from samples import changed, price_run
from typer.testing import CliRunner, Result

from made_up import run_plan, variant_plan
from temper.cli import app
from temper.errors import InputError, StoreError
from temper.record.boot import StoredBoot
from temper.record.plan import RunPlan, Slot
from temper.store import Store

RUN = price_run()
COUNT = 3


def parts(plan: RunPlan, count: int = COUNT) -> list[RunPlan]:
    return [plan.part(number, count) for number in range(1, count + 1)]


def own(plan: RunPlan, boots: Iterable[StoredBoot] = RUN.boots) -> list[StoredBoot]:
    return [boot for boot in boots if boot.facts.slot in plan.slots]


Change = Callable[[StoredBoot], StoredBoot]


class Fleet:
    """Stores of hosts that made a shard each, and our own."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.own = root / "own"

    def host(self, number: int) -> Path:
        return self._root / f"host-{number}"

    def make(self, part: RunPlan, change: Change = lambda boot: boot) -> Path:
        """Store a shard on a host of its own; return that host's folder."""
        assert part.shard
        folder = self.host(part.shard.number)
        with Store.open(data=folder) as store:
            store.add(part, map(change, own(part)))
        return folder

    def temper(self, *words: str | Path) -> Result:
        return CliRunner().invoke(app, list(map(str, words)), catch_exceptions=False)

    def merge(self, *folders: Path, json: Path | None = None) -> Result:
        return self.temper("merge", *folders, *(("--json", json) if json else ()))


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    fleet = Fleet(tmp_path)
    monkeypatch.setenv("TEMPER_DATA", str(fleet.own))
    monkeypatch.delenv("TEMPER_STORE", raising=False)
    return fleet


@pytest.mark.parametrize("count", range(1, len(RUN.plan.slots) + 1))
def test_each_boot_is_in_one_part(count: int) -> None:
    found = [slot for part in parts(RUN.plan, count) for slot in part.slots]
    assert sorted(found, key=str) == sorted(RUN.plan.slots, key=str)
    sizes = {len(part.slots) for part in parts(RUN.plan, count)}
    assert max(sizes) - min(sizes) <= 1


def test_boots_of_a_kernel_stay_together() -> None:
    keys = {"off": "11", "temper": "22", "stock": "11", "temper-off": "22"}
    variants = {name: variant_plan(name, key=key) for name, key in keys.items()}
    first, second = parts(run_plan(variants), 2)
    assert set(first.booted) == {"off", "stock"}
    assert set(second.booted) == {"temper", "temper-off"}
    assert set(second.variants) == set(variants)


def test_a_part_knows_its_whole_and_its_command() -> None:
    part = RUN.plan.part(2, 3)
    assert part.whole == RUN.plan
    assert RUN.plan.whole == RUN.plan
    assert RunPlan.model_validate_json(part.model_dump_json()) == part
    assert part.own_command == f"{RUN.plan.command} --shard 2/3"
    assert part.resuming(7) == f"{RUN.plan.command} --shard 2/3 --resume 7"
    assert part.full_title.endswith(", shard 2/3")


def test_no_part_is_empty() -> None:
    with pytest.raises(ValueError, match="boots are too few for 99 shards"):
        RUN.plan.part(1, 99)


def test_shards_give_the_report_of_a_plain_run(fleet: Fleet, tmp_path: Path) -> None:
    with Store.open() as store:
        plain = store.add(RUN.plan, RUN.boots)
    fleet.temper("report", str(plain), "--json", tmp_path / "plain.json")
    folders = [fleet.make(part) for part in parts(RUN.plan)]
    # In any order, and under any folder around them.
    answer = fleet.merge(
        *reversed(folders[1:]), tmp_path, json=tmp_path / "merged.json"
    )
    assert answer.exit_code == 0, answer.output
    reports = [
        json.loads((tmp_path / f"{name}.json").read_text())
        for name in ("plain", "merged")
    ]
    for report in reports:
        del report["run"], report["started"]
    assert reports[0] == reports[1]
    assert len(reports[0]["rows"]) > 1


def test_a_price_that_is_not_exact_ends_with_1(fleet: Fleet) -> None:
    def odd(boot: StoredBoot) -> StoredBoot:
        failed = boot.facts.slot == RUN.plan.slots[-1]
        return changed(boot, status="boot_error", error="it hung") if failed else boot

    answer = fleet.merge(*(fleet.make(part, odd) for part in parts(RUN.plan)))
    assert answer.exit_code == 1
    assert "it hung" in answer.output


def test_a_missing_shard_is_named_with_its_command(fleet: Fleet) -> None:
    first, second, third = parts(RUN.plan)
    folders = [fleet.make(first), fleet.make(third)]
    with pytest.raises(InputError) as caught:
        fleet.merge(*folders)
    assert caught.value.message.startswith("shard 2/3 is incomplete: boots ")
    for slot in second.slots:
        assert f"{slot.variant}-{slot.repeat}" in caught.value.message
    assert caught.value.hint == f"{RUN.plan.command} --shard 2/3"
    assert not fleet.own.exists()


def test_a_shard_that_was_made_twice_counts_once(fleet: Fleet, tmp_path: Path) -> None:
    folders = [fleet.make(part) for part in parts(RUN.plan)]
    again = tmp_path / "again"
    with Store.open(data=again) as store:
        store.add(RUN.plan.part(1, 3), own(RUN.plan.part(1, 3)))
    assert fleet.merge(*folders, again).exit_code == 0


def test_a_boot_that_counted_otherwise_is_refused(fleet: Fleet, tmp_path: Path) -> None:
    folders = [fleet.make(part) for part in parts(RUN.plan)]
    first, *rest = own(RUN.plan.part(1, 3))
    other = first.model_copy(update={"records": first.records[:-1]})
    with Store.open(data=tmp_path / "again") as store:
        store.add(RUN.plan.part(1, 3), [other, *rest])
    with pytest.raises(InputError, match=r"boot \S+ differs in "):
        fleet.merge(*folders, tmp_path / "again")


def on_qemu_10(boot: StoredBoot) -> StoredBoot:
    return changed(boot, version="QEMU 10.0.13")


def by_gcc_14(boot: StoredBoot) -> StoredBoot:
    return changed(boot, compiler="gcc 14")


@pytest.mark.parametrize(
    ("change", "tool"), [(on_qemu_10, "QEMU 10.0.13"), (by_gcc_14, "gcc 14")]
)
def test_other_tools_are_refused(fleet: Fleet, change: Change, tool: str) -> None:
    # Both boots of a variant are in different shards.
    parted = parts(RUN.plan, len(RUN.plan.slots))
    folders = [fleet.make(each) for each in parted[:-1]]
    with pytest.raises(InputError) as caught:
        fleet.merge(*folders, fleet.make(parted[-1], change))
    assert tool in caught.value.message
    assert str(fleet.host(len(parted))) in caught.value.message


def test_another_host_is_no_matter(fleet: Fleet) -> None:
    def elsewhere(boot: StoredBoot) -> StoredBoot:
        details = boot.facts.machine.details | {"host": "lab2", "command": "qemu -x"}
        return changed(boot, details=details)

    first, *rest = parts(RUN.plan, len(RUN.plan.slots))
    folders = [fleet.make(first, elsewhere), *map(fleet.make, rest)]
    assert fleet.merge(*folders).exit_code == 0


def other_kernel(plan: RunPlan) -> RunPlan:
    name = plan.baseline
    variants = plan.variants | {name: variant_plan(name, key="0123")}
    return plan.model_copy(update={"variants": variants})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"command": "temper price kpkeys"}, "'temper price kpkeys'"),
        ({"temper_version": "0.9"}, "Temper 0.9"),
        ({"calls": 17}, "they differ in calls"),
        (None, "the kernel of off differs"),
    ],
)
def test_shards_of_two_plans_are_refused(
    fleet: Fleet, changes: dict[str, object] | None, said: str
) -> None:
    other = RUN.plan.model_copy(update=changes) if changes else other_kernel(RUN.plan)
    first, _, third = parts(RUN.plan)
    folders = [fleet.make(first), fleet.make(other.part(2, 3)), fleet.make(third)]
    with pytest.raises(InputError, match="are of two plans") as caught:
        fleet.merge(*folders)
    assert said in caught.value.message


def test_folders_without_a_shard_are_told(fleet: Fleet, tmp_path: Path) -> None:
    with Store.open() as store:
        store.add(RUN.plan, RUN.boots)
    with pytest.raises(InputError, match="there is no shard in these folders"):
        fleet.merge(fleet.own)
    with pytest.raises(InputError, match="is no folder"):
        fleet.merge(tmp_path / "none")


@pytest.mark.parametrize("damage", ["cut", "console"])
def test_a_damaged_file_is_named(fleet: Fleet, damage: str) -> None:
    folders = [fleet.make(part) for part in parts(RUN.plan)]
    raw = next(folders[0].rglob("*.jsonl.gz"))
    if damage == "cut":
        raw.write_bytes(raw.read_bytes()[:-9])
    else:
        raw.with_name(raw.name.removesuffix(".jsonl.gz") + ".console.txt").unlink()
    with pytest.raises(StoreError) as caught:
        fleet.merge(*folders)
    assert f"the raw file {raw} is damaged" in caught.value.message


def test_a_shard_is_no_report(fleet: Fleet) -> None:
    with Store.open() as store:
        part = RUN.plan.part(1, 3)
        number = store.add(part, own(part))
        assert store.latest([RUN.plan.kind]) is None
    for words in (("report", number), ("diff", number, number)):
        with pytest.raises(InputError, match=f"run {number} is shard 1/3 of a plan"):
            fleet.temper(*map(str, words))
    with pytest.raises(InputError, match="there are no prices"):
        fleet.temper("history", RUN.plan.feature)
    assert "shard 1/3" in fleet.temper("runs").output


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeLab:
    return FakeLab(tmp_path, monkeypatch)


STRESS = ("stress", "kpkeys", "--seconds", "1")


def test_a_shard_boots_its_part_and_says_where_it_is(
    lab: FakeLab, tmp_path: Path
) -> None:
    answer = lab.temper(*STRESS, "--shard", "1/2")
    assert answer.exit_code == 0, answer.output
    with Store.open() as store:
        plan, folder = store.plan(1), store.run_folder(1)
    assert len(plan.slots) == len(lab.machine.booted)
    assert 2 * len(plan.slots) == len(plan.whole.slots)
    assert str(folder) in answer.output
    assert len(list(folder.glob("*.jsonl.gz"))) == len(plan.slots)


def test_the_plan_of_a_shard_is_shown(lab: FakeLab, tmp_path: Path) -> None:
    out = tmp_path / "plan.json"
    answer = lab.temper(*STRESS, "--shard", "2/2", "--plan", "--json", str(out))
    assert answer.exit_code == 0
    assert "shard 2/2" in answer.output
    plan = RunPlan.model_validate_json(out.read_text())
    assert plan.slots == plan.whole.part(2, 2).slots
    assert not lab.machine.booted


@pytest.mark.parametrize("words", ["0/2", "3/2", "2", "a/b", "1/2/3", "-1/2", ""])
def test_what_names_no_shard_is_told_before_anything_is_built(
    lab: FakeLab, words: str
) -> None:
    with pytest.raises(InputError, match="names no shard"):
        lab.temper(*STRESS, "--shard", words)
    assert lab.built == 0


def test_too_many_shards_are_told(lab: FakeLab) -> None:
    with pytest.raises(InputError, match="are too few for 99 shards"):
        lab.temper(*STRESS, "--shard", "1/99")
    assert lab.built == 0


def test_a_shard_writes_no_report(lab: FakeLab, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a shard has no report"):
        lab.temper(*STRESS, "--shard", "1/2", "--json", str(tmp_path / "out"))
    assert lab.built == 0


def test_another_shard_does_not_resume_it(lab: FakeLab) -> None:
    with Store.open() as store:
        lab.temper(*STRESS, "--shard", "1/2")
        assert isinstance(store.plan(1).slots[0], Slot)
    with pytest.raises(InputError) as caught:
        lab.temper(*STRESS, "--shard", "2/2", "--resume", "1")
    assert "its options were: " in caught.value.message
    assert "--shard 1/2" in caught.value.message
