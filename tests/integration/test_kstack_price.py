"""The price of kstack on real kernels, to the instruction."""

import shutil
from pathlib import Path

import pytest
from lab import QUANTILES, SYSCALLS, Answer, ask

from temper.catalog import FEATURES, load_feature
from temper.report.boots import BootResults, results_by_variant

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1800)]

# Another compiler lays the branches out differently.
KNOWN_RELEASE, KNOWN_COMPILER = "6.12.117", "gcc (Debian 12.2.0-"
KNOWN_OFF = {"syscall/getpid": 206, "syscall/getppid": 210, "syscall/invalid": 144}
KNOWN_DELTA = 15

workloads = pytest.mark.parametrize("workload", SYSCALLS)


def boots(answer: Answer) -> list[BootResults]:
    return [boot for kept in results_by_variant(answer.run).values() for boot in kept]


def first_boots(answer: Answer) -> tuple[BootResults, BootResults]:
    found = results_by_variant(answer.run)
    return found["off"][0], found["stock"][0]


def test_the_counts_are_exact(priced: Answer) -> None:
    assert priced.status == 0, priced.output
    assert priced.report["exact"] is True, priced.report["exact_why"]
    assert priced.report["unit"] == "instructions"
    assert priced.report["refused"] == {}


def test_the_promised_keys_are_there(priced: Answer) -> None:
    assert {"feature", "baseline", "machine", "exact", "rows", "in_force"} <= set(
        priced.report
    )
    assert {
        *("workload", "class", "unit", "variant", "value", "baseline_value"),
        *("delta", "delta_percent", "mark"),
    } <= set(priced.report["rows"][0])


def test_all_calls_pay_the_same_in_the_tail_too(priced: Answer) -> None:
    prices = {
        priced.deltas(workload, without_ticks)[quantile]
        for workload in SYSCALLS
        for without_ticks in (True, False)
        for quantile in QUANTILES
    }
    assert len(prices) == 1, prices
    assert prices.pop() > 0


def test_the_price_of_a_known_kernel(priced: Answer) -> None:
    stock = priced.report["variants"]["stock"]
    if stock["kernel_release"] != KNOWN_RELEASE:
        pytest.skip("another kernel")
    if not stock["compiler"].startswith(KNOWN_COMPILER):
        pytest.skip("another compiler")
    values = {
        row["workload"]: (row["baseline_value"], row["delta"])
        for row in priced.report["rows"]
        if row["class"] == "p50" and row["workload"] in SYSCALLS
    }
    assert values == {name: (off, KNOWN_DELTA) for name, off in KNOWN_OFF.items()}


@workloads
def test_a_call_reads_the_clock_once_more(priced: Answer, workload: str) -> None:
    assert priced.class_delta(workload, "kernel_rdtsc") == pytest.approx(1, abs=0.01)
    assert priced.class_delta(workload, "user_rdtsc") == 0
    assert priced.class_delta(workload, "user_instructions") == pytest.approx(
        0, abs=0.01
    )


@workloads
def test_clock_and_plugin_tell_the_same_price(tickless: Answer, workload: str) -> None:
    """To the instruction, where no tick adds its own."""
    off, stock = (boot.workloads[workload] for boot in first_boots(tickless))
    assert (off.interrupts, stock.interrupts) == (0, 0)
    price = tickless.deltas(workload)["p50"]
    before, after = (boot.classes[workload] for boot in first_boots(tickless))
    assert stock.elapsed - off.elapsed == price * stock.samples
    assert {
        name: after[name] - before[name]
        for name in before
        if after[name] != before[name]
    } == {
        "kernel_instructions": price * stock.samples,
        "kernel_rdtsc": stock.samples,
    }


@workloads
def test_ticks_move_both_by_no_more_than_they_take(
    priced: Answer, workload: str
) -> None:
    ticks = sum(
        row["hit"] for row in priced.report["ticks"] if row["workload"] == workload
    )
    samples = priced.report["calls"][workload]
    longest = 30_000
    price = priced.deltas(workload)["p50"]
    counted = priced.class_delta(workload, "kernel_instructions")
    assert counted == pytest.approx(price, abs=ticks * longest / samples)


@workloads
def test_every_tick_is_detected(priced: Answer, workload: str) -> None:
    for boot in boots(priced):
        hit = sum(boot.ticked[workload].values())
        assert boot.workloads[workload].interrupts >= 3
        # The timer is the only device that is up to something.
        assert hit == pytest.approx(boot.workloads[workload].interrupts, abs=1)


@workloads
def test_all_calls_without_a_tick_are_the_same(priced: Answer, workload: str) -> None:
    for boot in boots(priced):
        quiet = boot.quiet[workload]
        assert sum(quiet.values()) - max(quiet.values()) <= 2, quiet


@workloads
def test_a_tick_makes_no_call_cheaper(priced: Answer, workload: str) -> None:
    for boot in boots(priced):
        assert min(boot.ticked[workload]) >= min(boot.quiet[workload])
        assert max(boot.ticked[workload]) > max(boot.quiet[workload])


@pytest.mark.parametrize("variant", ["off", "stock"])
def test_it_was_in_force_as_it_had_to_be(priced: Answer, variant: str) -> None:
    summary = priced.report["in_force"][variant]
    # Before, between and after four workloads, in two boots.
    assert summary["checks"] == summary["agreed"] == 10
    assert summary["found"] is (variant == "stock")


def test_a_price_of_what_was_not_in_force_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The feature is a no-op: ``stock`` boots with the option off."""
    folder = tmp_path / "kstack"
    shutil.copytree(FEATURES / "kstack", folder)
    description = folder / "feature.toml"
    text = description.read_text()
    on = 'cmdline = "randomize_kstack_offset=on"'
    assert text.count(on) == 1
    description.write_text(text.replace(on, on.replace("=on", "=off")))
    monkeypatch.setattr("temper.cli.feature_named", lambda _name: load_feature(folder))

    results = tmp_path / "results"
    results.mkdir()
    answer = ask(results, "price", "kstack", "--calls", "100")
    assert answer.status != 0
    assert list(answer.report["refused"]) == ["stock"]
    assert (
        "in-force checks found it off, it must be on"
        in (answer.report["refused"]["stock"])
    )
    assert answer.report["rows"] == []
    assert answer.report["classes"] == []
    assert "in-force checks found it off" in " ".join(answer.output.split())
