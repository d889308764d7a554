"""Which stored runs ``temper report`` shows together."""

from pathlib import Path

import pytest
from samples import price_run

from temper.cli.lab import _readable
from temper.cli.results import _other_half
from temper.record.plan import Kind, ProofPlan, RunPlan
from temper.store import Store


@pytest.fixture
def priced() -> RunPlan:
    return price_run().plan


@pytest.fixture
def proof(priced: RunPlan) -> RunPlan:
    """Plan the proof that goes with the price."""
    plan = price_run().plan
    proof = ProofPlan(title="predict", line="attack", judge="prediction", params={})
    change = {"kind": Kind.PROVE, "control": plan.baseline, "proofs": {"it": proof}}
    return plan.model_copy(update=change)


def store_run(store: Store, plan: RunPlan) -> int:
    number = store.create_run(plan)
    store.finish(number)
    return number


def test_the_newest_proof_goes_with_a_price(
    tmp_path: Path, priced: RunPlan, proof: RunPlan
) -> None:
    with Store.open(data=tmp_path) as store:
        assert _other_half(store, priced) is None
        store_run(store, proof)
        newer = store_run(store, proof)
        store_run(store, price_run().plan)
        store.create_run(proof)
        assert _other_half(store, priced) == newer


@pytest.mark.parametrize(
    "change",
    [
        {"arch": "arm64"},
        {"feature": "kpkeys"},
        {"setting": "pseudo-nmi"},
        {"cpu": "EPYC"},
    ],
)
def test_a_proof_of_something_else_does_not(
    tmp_path: Path, priced: RunPlan, proof: RunPlan, change: dict[str, object]
) -> None:
    with Store.open(data=tmp_path) as store:
        older = store_run(store, proof)
        store_run(store, proof.model_copy(update=change))
        assert _other_half(store, priced) == older


def test_a_damaged_run_is_left_out_of_an_estimate(tmp_path: Path) -> None:
    run = price_run()
    with Store.open(data=tmp_path) as store:
        for _ in range(2):
            number = store.create_run(run.plan)
            for boot in run.boots:
                store.save_boot(number, boot)
        (damaged,) = tmp_path.glob("runs/2-*/off-0.jsonl.gz")
        damaged.unlink()
        assert [found.id for found in _readable(store)] == [1]
