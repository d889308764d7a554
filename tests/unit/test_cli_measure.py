"""What commands that measure ask the lab for, and the status that they end with."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest
from kernels import fake_source
from samples import changed, price_run
from test_diff import of_variant, price, slower
from test_proof_report import CONSTANT, GOOD, RANDOM, boot, records
from test_proof_report import stored as proof
from test_selftest import odd
from test_selftest import run_of as selftest
from typer.testing import CliRunner, Result

from temper.cli import app
from temper.cli.lab import Lab
from temper.record.boot import StoredBoot, StoredRun
from temper.record.plan import RunPlan

PRICE, PROVE = ("price", "kstack"), ("prove", "kstack")
EXACT = ("selftest", "exact", "kstack")


@dataclass
class Bench:
    """Runs commands whose boots are made already."""

    source: Path
    made: StoredRun = field(default_factory=price_run)
    plan: RunPlan | None = None
    """What was asked for."""

    def run(self, plan: RunPlan, _resume: int | None) -> StoredRun:
        self.plan = plan
        return self.made

    def temper(self, *words: str) -> Result:
        """Run a command that takes a source."""
        every = [*words, "--source", str(self.source)]
        return CliRunner().invoke(app, every, catch_exceptions=False)

    def asked(self, *words: str) -> RunPlan:
        """Return the plan that a command makes."""
        self.temper(*words)
        assert self.plan is not None
        return self.plan


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    bench = Bench(fake_source(tmp_path / "linux"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    # Mutants in the store are told of beside a proof.
    monkeypatch.setenv("TEMPER_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("TEMPER_STORE", raising=False)
    monkeypatch.setattr(Lab, "run", lambda _, *asked: bench.run(*asked))
    return bench


def fails(boot: StoredBoot) -> StoredBoot:
    return changed(boot, status="boot_error", error="it hung")


def torn(boot: StoredBoot) -> StoredBoot:
    return slower(boot, "ctx/pipe", 2) if boot.facts.repeat else boot


MISSED = dict([boot("constant", records(RANDOM, on=False))])
FALLEN = dict([boot("stock", records(CONSTANT, on=True))])


@pytest.mark.parametrize(
    ("words", "made", "status"),
    [
        (PRICE, price(), 0),
        (PRICE, price(torn), 1),
        # The others are exact.
        (PRICE, price(of_variant("lfsr", fails), variants=("off", "stock", "lfsr")), 1),
        (PROVE, proof(), 0),
        (PROVE, proof({**GOOD, **FALLEN}), 1),
        # Proven, but a sabotage was not found out.
        (PROVE, proof({**GOOD, **MISSED}), 1),
        (EXACT, selftest({}), 0),
        (EXACT, selftest({5: odd(5, "workload")}), 1),
    ],
)
def test_only_a_good_result_ends_with_0(
    bench: Bench, words: tuple[str, ...], made: StoredRun, status: int
) -> None:
    bench.made = made
    assert bench.temper(*words).exit_code == status


def test_a_full_report_is_longer(bench: Bench) -> None:
    short, full = bench.temper(*PRICE), bench.temper(*PRICE, "--full")
    assert len(full.stdout) > len(short.stdout)


def test_a_price_is_relative_to_the_baseline_that_was_named(bench: Bench) -> None:
    plan = bench.asked(*PRICE, "--baseline", "temper-off", "--variants", "temper")
    assert plan.baseline == "temper-off"
    assert plan.variants.keys() == {"temper-off", "temper"}


def test_attacks_must_land_on_the_control_that_was_named(bench: Bench) -> None:
    bench.made = proof()
    plan = bench.asked(*PROVE, "--control", "temper-off", "--variants", "temper")
    assert plan.control == "temper-off"
    assert plan.variants.keys() == {"temper-off", "temper"}


@pytest.mark.parametrize(("words", "in_turn"), [((), True), (("--control",), False)])
def test_a_selftest_has_a_control(
    bench: Bench, words: tuple[str, ...], in_turn: bool
) -> None:
    bench.made = selftest({})
    assert bench.asked(*EXACT, *words).work.in_turn is in_turn


@pytest.mark.parametrize(("words", "others"), [((), 3), (("--layouts", "1"), 0)])
def test_a_price_is_measured_in_several_layouts(
    bench: Bench, words: tuple[str, ...], others: int
) -> None:
    assert len(bench.asked(*PRICE, *words).layouts) == others
