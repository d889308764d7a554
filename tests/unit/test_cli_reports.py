"""Which stored runs ``temper report`` shows together."""

import json
from pathlib import Path

import pytest
from samples import price_run
from test_proof_report import stored
from typer.testing import CliRunner

from temper.cli import app
from temper.cli.lab import _readable
from temper.cli.stored import runs_like
from temper.errors import InputError
from temper.record.boot import StoredRun
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
        assert list(runs_like(store, priced, Kind.PROVE)) == []
        older, newer = store_run(store, proof), store_run(store, proof)
        store_run(store, price_run().plan)
        store.create_run(proof)
        assert list(runs_like(store, priced, Kind.PROVE)) == [newer, older]


@pytest.mark.parametrize(
    "change",
    [
        {"arch": "arm64"},
        {"feature": "kpkeys"},
        {"setting": "pseudo-nmi"},
        {"cpu": "EPYC"},
        {"base": "cloud"},
    ],
)
def test_a_proof_of_something_else_does_not(
    tmp_path: Path, priced: RunPlan, proof: RunPlan, change: dict[str, object]
) -> None:
    with Store.open(data=tmp_path) as store:
        older = store_run(store, proof)
        store_run(store, proof.model_copy(update=change))
        assert list(runs_like(store, priced, Kind.PROVE)) == [older]


def save(store: Store, run: StoredRun) -> None:
    number = store.create_run(run.plan)
    for boot in run.boots:
        store.save_boot(number, boot)
    store.finish(number)


def test_a_proof_is_shown_before_its_price(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEMPER_DATA", str(tmp_path))
    monkeypatch.delenv("TEMPER_STORE", raising=False)
    with Store.open() as store:
        save(store, stored())
        save(store, price_run())

    def temper(*words: str) -> str:
        words = ("report", *words)
        return CliRunner().invoke(app, words, catch_exceptions=False).stdout

    headings = [
        line for line in temper("--md", "-").splitlines() if line.startswith("# ")
    ]
    assert headings == ["# Proof of kstack", "# Price of kstack"]
    assert len(temper("2", "--md", "-", "--full")) > len(temper("2", "--md", "-"))
    # The forms that hold one report hold the price.
    assert json.loads(temper("--json", "-"))["kind"] == "price"
    assert temper("--csv", "-").startswith("workload,class,")
    assert temper("--svg", "-").startswith("<?xml")
    with pytest.raises(InputError, match="there is no price to draw"):
        temper("1", "--svg", "-")


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
