"""What mutants say beside PROVEN, how sure it is, and when it is said."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest
from kernels import fake_source
from samples import STARTED, proof_report
from test_mutate_report import CONSTANT, MORE, boot, both, plan, plan_of_two, under_naps
from test_proof_report import stored
from typer.testing import CliRunner

from temper import mutation
from temper.analysis.models import ProofReport, Strength
from temper.analysis.mutants import mutate_report
from temper.analysis.proof import proof_report as proof_report_of
from temper.catalog import feature_named
from temper.cli import app
from temper.cli.lab import Lab
from temper.cli.stored import with_strength
from temper.mutation import with_reasons
from temper.record.boot import StoredBoot, StoredRun
from temper.record.plan import RunPlan
from temper.report.strength import score
from temper.report.verdict import verdict
from temper.run.mutate import choice_of
from temper.stats.proportion import interval
from temper.store import Store

FOUND = Strength(
    score=96.9,
    interval=None,
    mutants=32,
    survivors=1,
    variant="temper",
    run=7,
    started=datetime(2026, 11, 26, tzinfo=UTC),
    command="temper mutate kstack",
)


# From the tables of Clopper and Pearson's limits in any textbook.
@pytest.mark.parametrize(
    ("hits", "tries", "limits"),
    [
        (0, 20, (0, 0.1684)),
        (19, 20, (0.7513, 0.9987)),
        (20, 20, (0.8316, 1)),
        (5, 10, (0.1871, 0.8129)),
    ],
)
def test_the_interval_is_clopper_and_pearsons(
    hits: int, tries: int, limits: tuple[float, float]
) -> None:
    assert interval(hits, tries) == pytest.approx(limits, abs=5e-5)


def test_a_score_is_never_rounded_up() -> None:
    assert score(FOUND) == "96 % of 32 mutants noticed or accepted, 1 listed"
    sampled = FOUND.model_copy(update={"interval": (83.8, 99.1)})
    assert score(sampled).startswith("96 % (83.8 to 99.1 %) of 32 mutants")
    near = FOUND.model_copy(update={"interval": (75.139, 99.871)})
    assert score(near).startswith("96 % (75.1 to 99.9 %) of 32 mutants")


def test_it_stands_beside_proven() -> None:
    found = proof_report().model_copy(update={"strength": FOUND})
    assert verdict(found) == (
        "kstack is PROVEN: off is VULNERABLE, stock is BLOCKED. Of temper's series, "
        "96 % of 32 mutants noticed or accepted, 1 listed (run 7, 2026-11-26)."
    )


def mutated(planned: RunPlan, *boots: StoredBoot) -> StoredRun:
    """Return a run of planned mutants in which all hold but those in ``boots``."""
    usual = {"off": boot("off", CONSTANT, on=False, console="")}
    usual |= {name: boot(name) for name in planned.variants if name != "off"}
    told = usual | {each.facts.variant: each for each in boots}
    return StoredRun(id=1, plan=planned, started=STARTED, boots=list(told.values()))


def noticed(planned: RunPlan) -> StoredRun:
    return mutated(planned, *both(lambda name: boot(name, CONSTANT)))


def test_only_a_sample_has_an_interval() -> None:
    whole, sampled = plan(), plan().model_copy(update={"sampled": True})
    assert mutate_report(noticed(whole)).interval is None
    assert mutate_report(noticed(sampled)).interval == pytest.approx((2.5, 100))
    two = noticed(plan_of_two())
    begun = [each for each in two.boots if each.facts.variant not in MORE]
    assert mutate_report(two).interval is None
    unfinished = mutate_report(two.model_copy(update={"boots": begun}))
    assert unfinished.pending
    assert (unfinished.score, unfinished.interval) == (None, None)
    unsound = mutated(sampled, boot("off", console=""))
    assert mutate_report(unsound).interval is None


@dataclass(frozen=True)
class Shelf:
    """A folder of results with a proof of stock, which is proven."""

    folder: Path
    proof: StoredRun = field(default_factory=stored)

    @property
    def mutants(self) -> RunPlan:
        """Plan mutants of the kernel that the proof attacks."""
        return self.of_proof(plan())

    def of_proof(self, planned: RunPlan) -> RunPlan:
        proof = self.proof.plan
        own = proof.variants["stock"]
        variants = {
            name: each.model_copy(update={"cpu": own.cpu, "cmdline": "kunit.enable=1"})
            for name, each in planned.variants.items()
        }
        same = {name: getattr(proof, name) for name in ("proofs", "judges", "machine")}
        changes = {**same, "variants": variants, "attacked": own.kernel.key}
        return planned.model_copy(update=changes)

    def add(self, run: StoredRun, *, finished: bool = True) -> int:
        with Store.open(data=self.folder) as store:
            number = store.create_run(run.plan)
            for each in run.boots:
                store.save_boot(number, each)
            if finished:
                store.finish(number)
            return number

    def run_folder(self, run: int) -> Path:
        with Store.open(data=self.folder) as store:
            return store.run_folder(run)

    def strength(self, report: ProofReport | None = None) -> Strength | None:
        """Return what is said beside the proof."""
        report = report or proof_report_of(self.proof)
        shown = with_strength(report, self.proof.plan)
        assert isinstance(shown, ProofReport)
        return shown.strength

    def temper(self, *words: str | Path) -> str:
        return CliRunner().invoke(app, list(map(str, words))).stdout


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    monkeypatch.setenv("TEMPER_DATA", str(tmp_path))
    monkeypatch.delenv("TEMPER_STORE", raising=False)
    return Shelf(tmp_path)


def test_a_proof_is_shown_with_its_mutants(shelf: Shelf) -> None:
    assert shelf.strength() is None
    number = shelf.add(noticed(shelf.mutants))
    found = shelf.strength()
    assert found
    assert (found.run, found.variant, found.score) == (number, "stock", 100)
    assert (found.mutants, found.survivors) == (1, 0)
    assert found.command == "temper mutate kstack --sample 1 --arch x86_64"


SAID = "Of stock's series, 100 % of 1 mutant noticed or accepted (run 1, "


def told(text: str) -> str:
    return " ".join(text.split())


def test_prove_report_and_merge_say_it(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.add(noticed(shelf.mutants))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(Lab, "run", lambda *_: shelf.proof)
    source = fake_source(tmp_path / "linux")
    assert SAID in told(shelf.temper("prove", "kstack", "--source", source))
    number = shelf.add(shelf.proof)
    assert SAID in told(shelf.temper("report", str(number)))
    halves = Shelf(tmp_path / "other")
    parts = (shelf.proof.plan.part(each, 2) for each in (1, 2))
    for part in parts:
        slots = set(part.slots)
        boots = [each for each in shelf.proof.boots if each.facts.slot in slots]
        halves.add(shelf.proof.model_copy(update={"plan": part, "boots": boots}))
    assert SAID in told(shelf.temper("merge", halves.folder))


REASONS = {
    "there are none": ("", 0),
    "one": (
        '[[accepted]]\nmutant = "0a"\nwhy = "message"\n'
        'reason = "It only says something else."\n',
        100,
    ),
}


@pytest.mark.parametrize("reasons", REASONS)
@pytest.mark.parametrize("planned", ["", "message: It was said when it booted."])
def test_reasons_are_those_of_today(
    shelf: Shelf,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    planned: str,
    reasons: str,
) -> None:
    """They are written for what survived, and withdrawn when they prove wrong."""
    text, score = REASONS[reasons]
    (tmp_path / "mutants.toml").write_text(text)
    feature = feature_named("kstack").model_copy(update={"folder": tmp_path})
    monkeypatch.setattr(mutation, "feature_named", lambda _: feature)
    number = shelf.add(mutated(shelf.of_proof(plan(planned))))
    found = shelf.strength()
    assert found
    assert found.score == score
    assert f": {score} % of 1 mutant" in told(shelf.temper("report", str(number)))


def test_a_run_without_a_reason_any_more_lacks_boots_that_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = under_naps([], accepted="message: It was said when it booted.")
    choose = choice_of(run.plan)
    assert choose
    monkeypatch.setattr(mutation, "feature_names", lambda: [])
    assert choose(run) == []
    feature = feature_named("kstack").model_copy(update={"folder": tmp_path})
    monkeypatch.undo()
    monkeypatch.setattr(mutation, "feature_named", lambda _: feature)
    assert [slot.variant for slot in choose(run)] == ["0a-naps"]
    found = mutate_report(with_reasons(run))
    assert (found.pending, found.score) == (["0a"], None)


def test_a_feature_that_is_gone_has_the_reasons_of_the_run() -> None:
    run = mutated(plan("message: It was said when it booted."))
    gone = run.model_copy(
        update={"plan": run.plan.model_copy(update={"feature": "gone"})}
    )
    assert with_reasons(gone) == gone


Change = Callable[[RunPlan], dict[str, object]]

OTHERS: dict[str, Change] = {
    "architecture": lambda _: {"arch": "arm64"},
    "feature": lambda _: {"feature": "kpkeys"},
    "CPU model that was asked for": lambda _: {"cpu": "EPYC"},
    "setting": lambda _: {"setting": "pseudo-nmi"},
    "base": lambda _: {"base": "cloud"},
    "machine": lambda _: {"machine": "overlays"},
    "kernel": lambda _: {"attacked": "07e4"},
    "unknown kernel": lambda _: {"attacked": ""},
    "judges": lambda _: {"judges": "07e4"},
    "proofs": lambda planned: {
        "proofs": {
            name: each.model_copy(update={"title": "another"})
            for name, each in planned.proofs.items()
        }
    },
    "CPU model of the variant": lambda planned: {
        "variants": {
            name: each.model_copy(update={"cpu": "qemu64"})
            for name, each in planned.variants.items()
        }
    },
    "part": lambda planned: {"shard": planned.part(1, 1).shard},
}


@pytest.mark.parametrize("what", OTHERS)
def test_mutants_of_something_else_do_not_count(shelf: Shelf, what: str) -> None:
    other = shelf.mutants.model_copy(update=OTHERS[what](shelf.mutants))
    shelf.add(noticed(other))
    assert shelf.strength() is None


def test_a_command_line_that_mutants_lack_is_another(shelf: Shelf) -> None:
    shelf.add(noticed(shelf.mutants))
    stock = shelf.proof.plan.variants["stock"]
    pti = {"stock": stock.model_copy(update={"cmdline": "pti=on"})}
    variants = {**shelf.proof.plan.variants, **pti}
    other = shelf.proof.plan.model_copy(update={"variants": variants})
    changed = Shelf(shelf.folder, shelf.proof.model_copy(update={"plan": other}))
    assert changed.strength() is None


def test_neither_do_unfinished_ones_nor_those_without_a_score(shelf: Shelf) -> None:
    shelf.add(noticed(shelf.mutants), finished=False)
    shelf.add(mutated(shelf.mutants, boot("off", console="")))
    assert shelf.strength() is None


@pytest.mark.parametrize("what", ["a boot", "the plan"])
def test_damaged_ones_hide_no_others(shelf: Shelf, what: str) -> None:
    number = shelf.add(noticed(shelf.mutants))
    damaged = shelf.add(noticed(shelf.mutants))
    if what == "a boot":
        for raw in shelf.run_folder(damaged).iterdir():
            raw.write_bytes(b"")
    else:
        with closing(sqlite3.connect(shelf.folder / "results.db")) as database:
            change = (
                "UPDATE temper_runs SET plan = json_set(plan, '$.hot', 1) WHERE id = ?"
            )
            database.execute(change, (damaged,))
            database.commit()
    found = shelf.strength()
    assert found
    assert found.run == number


def test_the_largest_run_counts_and_of_those_the_newest(shelf: Shelf) -> None:
    two = shelf.of_proof(plan_of_two())
    shelf.add(noticed(two))
    newest = shelf.add(noticed(two))
    shelf.add(noticed(shelf.mutants))
    found = shelf.strength()
    assert found
    assert (found.run, found.mutants, found.survivors) == (newest, 2, 1)


def test_a_proof_that_fails_or_is_a_part_has_none(shelf: Shelf) -> None:
    shelf.add(noticed(shelf.mutants))
    whole = proof_report_of(shelf.proof)
    failed = whole.model_copy(update={"proven": False})
    part = whole.model_copy(update={"proofs_left_out": ["clock"]})
    some = whole.model_copy(update={"variants_left_out": ["lfsr"]})
    assert shelf.strength(failed) is None
    assert shelf.strength(part) is None
    assert shelf.strength(some)


def test_a_store_that_fails_costs_no_report(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("TEMPER_STORE", "postgresql://nobody@127.0.0.1:1/none")
    monkeypatch.setattr(Lab, "run", lambda *_: shelf.proof)
    source = fake_source(tmp_path / "linux")
    assert "is PROVEN" in told(shelf.temper("prove", "kstack", "--source", source))
