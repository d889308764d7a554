"""Parts of a plan that are made apart, and put together again."""

import gzip
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fake_lab import FakeLab
from samples import STARTED, changed, price_run
from test_mutate_report import CONSTANT, RANDOM, boot, mutant, plan_of_two
from test_proof_report import stored as stored_proof
from typer.testing import CliRunner, Result

from made_up import kernel_facts, run_plan, variant_plan
from temper.cli import app
from temper.cli.files import Files
from temper.cli.lab import Lab
from temper.errors import InputError, StoreError
from temper.kernel import Cache
from temper.progress import Quiet
from temper.record.boot import StoredBoot, StoredRun
from temper.record.plan import KernelPlan, Root, RunPlan, Slot, again
from temper.run.mutate import choice_of
from temper.run.prepare import Setup, Workshop, prepare
from temper.store import Store

RUN = price_run()
MUTANTS = plan_of_two()
COUNT = 3


def parts(plan: RunPlan, count: int = COUNT) -> list[RunPlan]:
    return [plan.part(number, count) for number in range(1, count + 1)]


def mutated(*without: str) -> list[StoredBoot]:
    """Return boots of two mutants, which all notice, but for some variants."""
    return [
        boot(slot.variant, RANDOM if "unmutated" in slot.variant else CONSTANT)
        for slot in MUTANTS.slots
        if slot.variant not in without
    ]


def own(plan: RunPlan, boots: Iterable[StoredBoot] = RUN.boots) -> list[StoredBoot]:
    return [boot for boot in boots if boot.facts.slot in plan.slots]


def add(store: Store, plan: RunPlan, boots: Iterable[StoredBoot]) -> int:
    """Store a run that was made elsewhere; return its number."""
    with store.adding(plan, boots) as run:
        return run.id


Change = Callable[[StoredBoot], StoredBoot]


class Fleet:
    """Stores of hosts that made a shard each, and our own."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.own = root / "own"

    def host(self, number: int) -> Path:
        return self._root / f"host-{number}"

    def make(
        self,
        part: RunPlan,
        change: Change = lambda boot: boot,
        boots: Iterable[StoredBoot] = RUN.boots,
    ) -> Path:
        """Store a shard on a host of its own; return that host's folder."""
        assert part.shard
        folder = self.host(part.shard.number)
        with Store.open(data=folder) as store:
            add(store, part, map(change, own(part, boots)))
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


@pytest.mark.parametrize("number", [1, 2, 5])
def test_no_part_is_empty(number: int) -> None:
    with pytest.raises(ValueError, match="4 boots are too few for 5 shards"):
        RUN.plan.part(number, 5)


def test_shards_give_the_report_of_a_plain_run(fleet: Fleet, tmp_path: Path) -> None:
    with Store.open() as store:
        plain = add(store, RUN.plan, RUN.boots)
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
        add(store, RUN.plan.part(1, 3), own(RUN.plan.part(1, 3)))
    assert fleet.merge(*folders, again).exit_code == 0


def test_a_boot_that_counted_otherwise_is_refused(fleet: Fleet, tmp_path: Path) -> None:
    folders = [fleet.make(part) for part in parts(RUN.plan)]
    first, *rest = own(RUN.plan.part(1, 3))
    other = first.model_copy(update={"records": first.records[:-1]})
    with Store.open(data=tmp_path / "again") as store:
        add(store, RUN.plan.part(1, 3), [other, *rest])
    with pytest.raises(InputError, match="was made twice, and went another way"):
        fleet.merge(*folders, tmp_path / "again")


@pytest.mark.parametrize(
    "changes",
    [
        {"status": "boot_error", "error": "it hung"},
        {"release": "6.12.118"},
        {"console": "BUG: KASAN"},
    ],
)
def test_a_boot_that_ended_otherwise_is_refused(
    fleet: Fleet, tmp_path: Path, changes: dict[str, str]
) -> None:
    """Whichever of the two folders comes first."""
    folders = [fleet.make(part) for part in parts(RUN.plan)]
    first, *rest = own(RUN.plan.part(1, 3))
    if "console" in changes:
        other = first.model_copy(update=changes)
    else:
        other = changed(first, **changes)
    with Store.open(data=tmp_path / "again") as store:
        add(store, RUN.plan.part(1, 3), [other, *rest])
    for order in ((*folders, tmp_path / "again"), (tmp_path / "again", *folders)):
        with pytest.raises(InputError, match="was made twice"):
            fleet.merge(*order)


def with_detail(name: str, value: str) -> Change:
    def change(boot: StoredBoot) -> StoredBoot:
        details = boot.facts.machine.details | {name: value}
        return changed(boot, details=details)

    return change


def with_fact(name: str, value: str) -> Change:
    return lambda boot: changed(boot, **{name: value})


@pytest.mark.parametrize(
    ("usual", "change", "said"),
    [
        (None, with_fact("version", "QEMU 10.0.13"), "the machine is another one"),
        (None, with_fact("name", "kvm"), "the machine is another one"),
        (None, with_fact("cpu_model", "EPYC"), "the CPU model is another one"),
        (None, with_fact("compiler", "gcc 14"), "the compiler is another one"),
        (None, with_fact("config_hash", "11"), "the kernel's configuration is another"),
        (None, with_fact("image_hash", "11"), "the kernel's image is another one"),
        (
            with_detail("plugin", "API level 1"),
            with_detail("plugin", "API level 4"),
            "QEMU's plugin is another one",
        ),
    ],
)
def test_other_tools_are_refused(
    fleet: Fleet, usual: Change | None, change: Change, said: str
) -> None:
    # Both boots of a variant are in different shards.
    parted = parts(RUN.plan, len(RUN.plan.slots))
    folders = [fleet.make(each, *((usual,) if usual else ())) for each in parted[:-1]]
    with pytest.raises(InputError) as caught:
        fleet.merge(*folders, fleet.make(parted[-1], change))
    assert said in caught.value.message
    assert str(fleet.host(len(parted))) in caught.value.message


def test_control_and_hardened_variant_need_the_same_qemu(fleet: Fleet) -> None:
    """Or a proof would compare two emulators."""
    keys = {"off": "11", "stock": "22"}
    variants = {name: variant_plan(name, key=key) for name, key in keys.items()}
    plan = RUN.plan.model_copy(update={"variants": variants})
    first, second = parts(plan, 2)
    assert (set(first.booted), set(second.booted)) == ({"off"}, {"stock"})
    folders = fleet.make(first), fleet.make(second, with_fact("version", "QEMU 10"))
    with pytest.raises(InputError, match="the machine is another one"):
        fleet.merge(*folders)


def test_what_cannot_be_judged_is_not_stored(fleet: Fleet) -> None:
    def without_samples(boot: StoredBoot) -> StoredBoot:
        kept = [each for each in boot.records if each["type"] != "histogram"]
        return boot.model_copy(update={"records": kept})

    folders = [fleet.make(part, without_samples) for part in parts(RUN.plan)]
    with pytest.raises(StoreError, match="samples were taken"):
        fleet.merge(*folders)
    with Store.open() as store:
        assert store.runs() == []
    assert not list(fleet.own.rglob("*.gz"))


def test_a_run_is_added_whole_or_not_at_all(tmp_path: Path) -> None:
    def boots() -> Iterator[StoredBoot]:
        yield RUN.boots[0]
        raise KeyboardInterrupt

    with Store.open(data=tmp_path) as store:
        with pytest.raises(KeyboardInterrupt):
            add(store, RUN.plan, boots())
        assert store.runs() == []
    assert not list(tmp_path.rglob("*.gz"))


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


OTHER_PACKAGES = RUN.plan.work.model_copy(
    update={"root": Root(packages=(), programs=())}
)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"command": "temper price kpkeys"}, "'temper price kpkeys'"),
        ({"temper_version": "0.9"}, "Temper 0.9"),
        ({"calls": 17}, "they differ in calls"),
        ({"work": OTHER_PACKAGES}, "other versions of Debian's packages"),
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


def test_a_reason_written_meanwhile_makes_no_other_plan(fleet: Fleet) -> None:
    accepted = {"0e": mutant(accepted="message: It only says something else.")}
    later = MUTANTS.model_copy(update={"mutants": MUTANTS.mutants | accepted})
    first, second = MUTANTS.part(1, 2), later.part(2, 2)
    fleet.merge(*(fleet.make(each, boots=mutated()) for each in (first, second)))


def test_folders_without_a_shard_are_told(fleet: Fleet, tmp_path: Path) -> None:
    with Store.open() as store:
        add(store, RUN.plan, RUN.boots)
    with pytest.raises(InputError, match="there is no shard in these folders"):
        fleet.merge(fleet.own)
    with pytest.raises(InputError, match="is no folder"):
        fleet.merge(tmp_path / "none")


def cut(raw: Path) -> None:
    raw.write_bytes(raw.read_bytes()[:-9])


def console_of(raw: Path) -> Path:
    return raw.with_name(raw.name.removesuffix(".jsonl.gz") + ".console.txt")


def with_line(line: str) -> Callable[[Path], None]:
    def add(raw: Path) -> None:
        head = gzip.decompress(raw.read_bytes()).splitlines()[0]
        raw.write_bytes(gzip.compress(head + b"\n" + line.encode() + b"\n"))

    return add


@contextmanager
def changed_head(raw: Path) -> Iterator[dict[str, Any]]:
    head, *records = gzip.decompress(raw.read_bytes()).splitlines()
    told = json.loads(head)
    yield told
    lines = [json.dumps(told).encode(), *records]
    raw.write_bytes(gzip.compress(b"\n".join(lines)))


@pytest.mark.parametrize(
    "damage",
    [
        cut,
        lambda raw: console_of(raw).unlink(),
        lambda raw: console_of(raw).write_text("another one"),
        with_line("5"),
        with_line("[" * 100_000),
    ],
)
def test_a_damaged_file_is_named(fleet: Fleet, damage: Callable[[Path], None]) -> None:
    folders = [fleet.make(part) for part in parts(RUN.plan)]
    raw = next(folders[0].rglob("*.jsonl.gz"))
    damage(raw)
    with pytest.raises(StoreError) as caught:
        fleet.merge(*folders)
    assert f"the raw file {raw} is damaged" in caught.value.message


def test_a_file_of_another_version_is_told(fleet: Fleet) -> None:
    folders = [fleet.make(part) for part in parts(RUN.plan)]
    raw = next(folders[0].rglob("*.jsonl.gz"))
    with changed_head(raw) as head:
        head["format"] += 1
    with pytest.raises(StoreError, match="another version of Temper wrote the raw"):
        fleet.merge(*folders)


def test_what_cannot_be_read_is_named(fleet: Fleet, tmp_path: Path) -> None:
    folders = [fleet.make(part) for part in parts(RUN.plan)]
    odd = folders[0] / "odd.jsonl.gz"
    odd.symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError, match=f"cannot read {odd}: No such file"):
        fleet.merge(*folders)


def test_a_boot_that_is_not_of_the_shard_is_refused(fleet: Fleet) -> None:
    first, *others = parts(RUN.plan)
    shard = first.shard
    fake = RUN.plan.part(2, 3).model_copy(update={"shard": shard})
    folder = fleet.make(fake)
    for raw in folder.rglob("*.jsonl.gz"):
        with changed_head(raw) as head:
            head["run"]["plan"]["slots"] = first.model_dump(mode="json")["slots"]
    with pytest.raises(InputError, match="is none of its shard's"):
        fleet.merge(folder, *map(fleet.make, others))


def test_a_shard_is_no_report(fleet: Fleet) -> None:
    with Store.open() as store:
        part = RUN.plan.part(1, 3)
        number = add(store, part, own(part))
        assert store.latest([RUN.plan.kind]) is None
    for words in (("report", number), ("diff", number, number)):
        with pytest.raises(InputError, match=f"run {number} is shard 1/3 of a plan"):
            fleet.temper(*map(str, words))
    with pytest.raises(InputError, match="there are no prices"):
        fleet.temper("history", RUN.plan.feature)
    assert "shard 1/3" in fleet.temper("runs").output


def test_a_shard_is_not_the_proof_that_goes_with_a_price(fleet: Fleet) -> None:
    proof = stored_proof()
    part = proof.plan.part(1, 2)
    with Store.open() as store:
        add(store, part, own(part, proof.boots))
        add(store, RUN.plan, RUN.boots)
    assert fleet.temper("report").exit_code == 0


def test_an_unfinished_shard_is_told_from_a_run(fleet: Fleet) -> None:
    part = RUN.plan.part(3, 3)
    with Store.open() as store:
        store.save_boot(store.create_run(part), own(part)[0])
    assert "shard 3/3: 1 of 2" in fleet.temper("runs").output


def test_a_shard_builds_its_kernels_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = []

    def setup(_: Workshop, kernel: KernelPlan, __: object) -> Setup:
        built.append(kernel.key)
        return Setup(tmp_path, kernel_facts(), ())

    monkeypatch.setattr(Workshop, "setup", setup)
    monkeypatch.setattr(Workshop, "check_needs", lambda *_: None)
    plan = run_plan({n: variant_plan(n, key=n) for n in ("off", "stock", "temper")})
    part = plan.part(2, 3)
    whole = prepare(part, Cache(tmp_path), Quiet())
    assert built == ["stock"]
    assert set(whole.setups) == {"stock"}


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
    assert "of all 2 shards together" in answer.output
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


def test_a_finished_shard_is_merged_next(lab: FakeLab) -> None:
    lab.temper(*STRESS, "--shard", "1/2")
    with pytest.raises(InputError) as caught:
        lab.temper(*STRESS, "--shard", "1/2", "--resume", "1")
    assert caught.value.hint == "temper merge FOLDER..."


def test_too_many_shards_are_told(lab: FakeLab) -> None:
    with pytest.raises(InputError, match="are too few for 99 shards") as caught:
        lab.temper(*STRESS, "--shard", "1/99")
    assert caught.value.hint == "make fewer shards"
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


def saying(line: str) -> Change:
    """Return what adds a line to a boot's console."""
    return lambda boot: boot.model_copy(update={"console": f"{boot.console}{line}\n"})


@pytest.mark.parametrize(("count", "shares"), [(1, ["0a 0e"]), (2, ["0a", "0e"])])
def test_all_boots_of_a_mutant_are_in_one_part(count: int, shares: list[str]) -> None:
    for part, share in zip(parts(MUTANTS, count), shares, strict=True):
        booted = {"off", "unmutated", *share.split()}
        assert {name for name in part.booted if "again" not in name} == booted
        # The order is that of the plan: second boots come last.
        assert [s for s in MUTANTS.slots if s in part.slots] == list(part.slots)
        for name in booted - {"off"}:
            assert again(name) in part.booted
    with pytest.raises(ValueError, match="2 mutants are too few for 3 shards"):
        MUTANTS.part(1, 3)


@pytest.mark.parametrize(("first", "then"), [(CONSTANT, [again("0e")]), (RANDOM, [])])
def test_a_shard_boots_what_decides_in_it(first: list[int], then: list[str]) -> None:
    """A second boot confirms what the first has noticed, if it has."""
    part = MUTANTS.part(2, 2)
    boots = [*own(part, mutated("0e", again("0e"))), boot("0e", first)]
    choice = choice_of(part)
    assert choice
    run = StoredRun(id=1, plan=part, started=STARTED, boots=boots)
    assert [slot.variant for slot in choice(run)] == then


def test_shards_of_mutants_give_the_report_of_a_plain_run(
    fleet: Fleet, tmp_path: Path
) -> None:
    """Each has booted the series for itself, which never says quite the same."""
    boots = mutated()
    with Store.open() as store:
        plain = add(store, MUTANTS, boots)
    fleet.temper("report", str(plain), "--json", tmp_path / "plain.json")
    folders = [
        fleet.make(part, saying(f"host {part.shard}"), boots)
        for part in parts(MUTANTS, 2)
    ]
    answer = fleet.merge(*reversed(folders), json=tmp_path / "merged.json")
    assert answer.exit_code == 0, answer.output
    first, second = (
        json.loads((tmp_path / f"{name}.json").read_text())
        for name in ("plain", "merged")
    )
    assert first["score"] == 100
    assert first | {"run": 2, "started": ""} == second | {"started": ""}


def test_a_boot_that_decides_must_be_there(fleet: Fleet) -> None:
    first, second = parts(MUTANTS, 2)
    boots = mutated(again("0e"))
    folders = [fleet.make(first, boots=boots), fleet.make(second, boots=boots)]
    with pytest.raises(InputError) as caught:
        fleet.merge(*folders)
    assert caught.value.message == (
        f"shard 2/2 is incomplete: boots {again('0e')}-0 are missing"
    )
    assert caught.value.hint == f"{MUTANTS.command} --shard 2/2"


def test_a_boot_that_decides_nothing_may_be_missing(fleet: Fleet) -> None:
    boots = [each for each in mutated(again("0e")) if each.facts.variant != "0e"]
    boots.append(boot("0e"))
    folders = [fleet.make(part, boots=boots) for part in parts(MUTANTS, 2)]
    answer = fleet.merge(*folders)
    assert answer.exit_code == 1
    assert "SURVIVED: 0e" in answer.output


def test_a_shard_of_mutants_that_is_not_there_is_told_of(fleet: Fleet) -> None:
    folder = fleet.make(MUTANTS.part(2, 2), boots=mutated())
    with pytest.raises(InputError, match="shard 1/2 is incomplete: boots off-0, "):
        fleet.merge(folder)


def test_the_series_must_hold_in_each_shard(fleet: Fleet) -> None:
    first, second = parts(MUTANTS, 2)
    folders = [
        fleet.make(first, boots=mutated()),
        fleet.make(second, saying("WARNING: it is busy here"), mutated()),
    ]
    with pytest.raises(
        InputError, match="shard 2/2 has no score: unmutated is noticed"
    ):
        fleet.merge(*folders)


def test_a_shard_of_mutants_has_a_report(fleet: Fleet, tmp_path: Path) -> None:
    part = MUTANTS.part(2, 2)
    with Store.open() as store:
        number = add(store, part, own(part, mutated()))
    out = tmp_path / "shard.json"
    answer = fleet.temper("report", str(number), "--json", out)
    assert answer.exit_code == 0
    found = json.loads(out.read_text())
    assert [each["id"] for each in found["mutants"]] == ["0e"]
    assert found["command"] == f"{MUTANTS.command} --shard 2/2"
    # A part says something of the others, as a sample does.
    assert found["interval"][1] == found["score"] == 100


def test_a_shard_of_mutants_succeeds_if_it_was_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or who makes shards would make it again, since something has survived."""
    part = MUTANTS.part(2, 2)
    boots = [boot(name) for name in part.booted if name != "off"]
    boots.append(boot("off", CONSTANT, on=False, console=""))
    made = StoredRun(id=1, plan=part, started=STARTED, boots=boots)
    monkeypatch.setattr(Lab, "run", lambda *_: made)
    monkeypatch.setattr(Lab, "_folder", lambda *_: tmp_path)
    out = tmp_path / "shard.json"
    lab = Lab.of("x86_64", None, shard="2/2")
    lab.carry_out(MUTANTS, Files(json=str(out)), None, only_plan=False)
    assert json.loads(out.read_text())["score"] == 0
