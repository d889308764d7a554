"""What mutants say beside PROVEN, how sure it is, and when it is said."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from samples import STARTED, proof_report
from test_mutate_report import CONSTANT, MORE, boot, both, plan, plan_of_two
from test_proof_report import report as proof_by_boots
from test_proof_report import stored

from temper.analysis.models import ProofReport, Strength
from temper.analysis.mutants import mutate_report
from temper.cli.stored import with_strength
from temper.record.boot import StoredBoot, StoredRun
from temper.record.outcome import Outcome
from temper.record.plan import RunPlan
from temper.report.strength import score
from temper.report.verdict import verdict
from temper.stats.proportion import interval
from temper.store import Store

FOUND = Strength(
    score=96.9,
    interval=None,
    mutants=32,
    survivors=1,
    run=7,
    started=STARTED,
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
    assert score(sampled).startswith("96 % (83 to 100 %) of 32 mutants")


def test_it_stands_beside_proven() -> None:
    found = proof_report().model_copy(update={"strength": FOUND})
    assert verdict(found) == (
        "kstack is PROVEN: off is VULNERABLE, stock is BLOCKED. 96 % of 32 mutants "
        f"noticed or accepted, 1 listed: run 7 of {STARTED:%Y-%m-%d}."
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
    assert mutate_report(two.model_copy(update={"boots": begun})).interval
    unsound = mutated(sampled, boot("off", console=""))
    assert mutate_report(unsound).interval is None


def of_series(planned: RunPlan, series: str) -> RunPlan:
    variants = {
        name: each.model_copy(
            update={"kernel": each.kernel.model_copy(update={"series": series})}
        )
        for name, each in planned.variants.items()
    }
    return planned.model_copy(update={"variants": variants})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(data=tmp_path) as opened:
        yield opened


def save(store: Store, run: StoredRun, *, finished: bool = True) -> int:
    number = store.create_run(run.plan)
    for each in run.boots:
        store.save_boot(number, each)
    if finished:
        store.finish(number)
    return number


def strength(
    store: Store, series: str = "5e51", report: ProofReport | None = None
) -> Strength | None:
    """Return what is said beside the proof of a series."""
    shown = with_strength(
        report or proof_by_boots(), of_series(stored().plan, series), store
    )
    assert isinstance(shown, ProofReport)
    return shown.strength


def test_a_proof_is_shown_with_the_mutants_of_its_series(store: Store) -> None:
    assert strength(store) is None
    number = save(store, noticed(of_series(plan(), "5e51")))
    save(store, noticed(of_series(plan(), "07e4")))
    found = strength(store)
    assert found
    assert (found.run, found.score, found.mutants) == (number, 100, 1)
    assert strength(store, series="") is None


@pytest.mark.parametrize(
    "change",
    [{"arch": "arm64"}, {"feature": "kpkeys"}, {"cpu": "EPYC"}, {"base": "cloud"}],
)
def test_mutants_of_something_else_do_not_count(
    store: Store, change: dict[str, object]
) -> None:
    other = of_series(plan(), "5e51").model_copy(update=change)
    save(store, noticed(other))
    assert strength(store) is None


def test_neither_do_unfinished_ones_nor_those_without_a_score(store: Store) -> None:
    planned = of_series(plan(), "5e51")
    save(store, noticed(planned), finished=False)
    save(store, mutated(planned, boot("off", console="")))
    assert strength(store) is None


def test_damaged_ones_hide_no_others(store: Store, tmp_path: Path) -> None:
    planned = of_series(plan(), "5e51")
    number = save(store, noticed(planned))
    damaged = save(store, noticed(planned))
    for raw in store.run_folder(damaged).iterdir():
        raw.write_bytes(b"")
    found = strength(store)
    assert found
    assert found.run == number


def test_the_largest_run_counts_and_of_those_the_newest(store: Store) -> None:
    one, two = (of_series(each, "5e51") for each in (plan(), plan_of_two()))
    save(store, noticed(two))
    newest = save(store, noticed(two))
    save(store, noticed(one))
    found = strength(store)
    assert found
    assert (found.run, found.mutants) == (newest, 2)


def test_a_proof_that_fails_or_is_a_part_has_none(store: Store) -> None:
    save(store, noticed(of_series(plan(), "5e51")))
    failed = proof_report({"off": Outcome.VULNERABLE, "stock": Outcome.VULNERABLE})
    part = proof_by_boots().model_copy(update={"proofs_left_out": ["clock"]})
    assert strength(store, report=failed) is None
    assert strength(store, report=part) is None
