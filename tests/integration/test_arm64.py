"""kstack on arm64: exact counts, the shape of stock's price, pseudo-NMIs."""

from pathlib import Path

import pytest
from lab import (
    ARM64,
    ARM64_CALLS,
    ONE_LAYOUT,
    QUANTILES,
    SYSCALLS,
    Answer,
    ask,
    kernel_of,
)

from temper.analysis.boots import results_by_variant
from temper.arch import arch_named
from temper.catalog import feature_named

pytestmark = [
    pytest.mark.integration,
    pytest.mark.check_all,
    pytest.mark.timeout(14_400),
]

PSEUDO_NMI = ("--setting", "pseudo-nmi")

KNOWN_STOCK = {"p50": 61, "p99": 2820, "p99.9": 2820}
KNOWN_PSEUDO_NMI = 15

BATCH = 48
"""Offsets of two bytes in the 96 that get_random_u16() draws at once."""
# An isb before the first clock read; after the last one another, two that store the
# result, and a marker.
OUTSIDE_THE_CLOCK = 5

workloads = pytest.mark.parametrize("workload", SYSCALLS)


@pytest.fixture(scope="module")
def with_nmis(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    folder = tmp_path_factory.mktemp("nmi")
    words = (*ARM64, *PSEUDO_NMI, "--variants", "stock", "--calls", "1000")
    return ask(folder, "price", "kstack", *words, *ONE_LAYOUT)


def test_plugin_and_clock_agree(all_priced_arm64: Answer) -> None:
    """An instruction that QEMU begins again, for a tick, counts twice."""
    for boot in all_priced_arm64.boots():
        for workload in SYSCALLS:
            classes, timed = boot.classes[workload], boot.workloads[workload]
            counted = classes["user_instructions"] + classes["kernel_instructions"]
            more = counted - timed.elapsed - OUTSIDE_THE_CLOCK
            assert 0 <= more <= 4 * timed.interrupts


@workloads
def test_a_call_reads_the_clock_twice_and_is_one_call(
    all_priced_arm64: Answer, workload: str
) -> None:
    for boot in all_priced_arm64.boots():
        classes = boot.classes[workload]
        assert classes["user_svc"] == ARM64_CALLS
        assert classes["kernel_eret"] == pytest.approx(ARM64_CALLS, abs=10)
        assert classes["user_mrs_cnt"] == 2 * ARM64_CALLS + 2
        assert classes["user_isb"] == 4 * ARM64_CALLS + 4


@workloads
def test_all_calls_cost_the_same_when_it_is_off(
    all_priced_arm64: Answer, workload: str
) -> None:
    prices = all_priced_arm64.prices(workload, "stock")
    assert len({prices[name][0] for name in QUANTILES}) == 1


@workloads
def test_stock_has_a_small_mean_and_a_huge_tail(
    all_priced_arm64: Answer, workload: str
) -> None:
    price = all_priced_arm64.deltas(workload, "stock")
    assert 30 < price["p50"] < 100
    assert price["p99"] == price["p99.9"] > 2000
    refill = price["p99"] - price["p50"]
    assert price["mean"] == pytest.approx(price["p50"] + refill / BATCH, rel=0.02)


@workloads
def test_one_call_in_48_fills_the_batch(
    all_priced_arm64: Answer, workload: str
) -> None:
    for boot in results_by_variant(all_priced_arm64.run)["stock"]:
        quiet = boot.quiet[workload]
        dear = sum(count for value, count in quiet.items() if value > 2 * min(quiet))
        assert dear == pytest.approx(ARM64_CALLS / BATCH, abs=3)


@workloads
def test_stocks_tail_on_a_known_kernel(all_priced_arm64: Answer, workload: str) -> None:
    all_priced_arm64.need_known_kernel()
    price = all_priced_arm64.deltas(workload, "stock")
    assert {name: price[name] for name in QUANTILES} == KNOWN_STOCK


def test_with_the_setting_all_boots_have_pseudo_nmis(
    all_priced_arm64: Answer, with_nmis: Answer
) -> None:
    assert with_nmis.status == 0, with_nmis.output
    for answer, expected in ((all_priced_arm64, False), (with_nmis, True)):
        for boot in answer.run.boots:
            assert ("Pseudo-NMIs enabled" in boot.console) is expected


def test_reports_tell_the_setting(all_priced_arm64: Answer, with_nmis: Answer) -> None:
    title = all_priced_arm64.report["title"] + ", with pseudo-nmi"
    assert with_nmis.report["title"] == title
    assert "with pseudo-nmi" in " ".join(with_nmis.output.split())
    assert "--setting pseudo-nmi" in with_nmis.report["command"]
    for variant in with_nmis.report["variants"].values():
        assert "irqchip.gicv3_pseudo_nmi=1" in variant["cmdline"]


def pseudo_nmi_price(
    all_priced_arm64: Answer, with_nmis: Answer, workload: str
) -> float:
    """Return what the setting adds to the median call with the feature off."""
    without, there = (
        answer.prices(workload, "stock")["p50"][0]
        for answer in (all_priced_arm64, with_nmis)
    )
    return there - without


@workloads
def test_pseudo_nmis_cost_what_masking_by_priority_does(
    all_priced_arm64: Answer, with_nmis: Answer, workload: str
) -> None:
    without, there = (
        results_by_variant(answer.run)["off"][0]
        for answer in (all_priced_arm64, with_nmis)
    )
    assert without.classes[workload].get("kernel_msr_pmr", 0) == 0
    assert there.classes[workload]["kernel_msr_pmr"] >= 1000
    assert 5 < pseudo_nmi_price(all_priced_arm64, with_nmis, workload) < 40


@workloads
def test_the_price_of_pseudo_nmis_on_a_known_kernel(
    all_priced_arm64: Answer, with_nmis: Answer, workload: str
) -> None:
    all_priced_arm64.need_known_kernel()
    more = pseudo_nmi_price(all_priced_arm64, with_nmis, workload)
    assert more == KNOWN_PSEUDO_NMI


def test_a_proof_has_a_clock_with_entropy(all_proved_arm64: Answer) -> None:
    for boot in all_proved_arm64.run.boots:
        is_twin = all_proved_arm64.run.plan.twin_seed(boot.facts.slot) is not None
        assert ("nanoseconds" in boot.facts.machine.clock) is not is_twin


def test_an_image_of_ones_own_can_be_compared(tmp_path: Path) -> None:
    kstack = feature_named("kstack")
    image = str(kernel_of(kstack, "off", arch_named("arm64")).image)
    cmdlines = (
        *("--cmdline-a", "randomize_kstack_offset=off"),
        *("--cmdline-b", "randomize_kstack_offset=on"),
    )
    command = ("compare", image, image, *cmdlines, *ARM64, "--calls", "1000")
    answer = ask(tmp_path, *command, *ONE_LAYOUT)
    assert answer.status == 0, answer.output
    assert answer.deltas("syscall/getpid", "B")["p50"] > 30
