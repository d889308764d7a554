"""kstack on arm64: exact counts, the price's shape, pseudo-NMIs, the proof."""

from pathlib import Path

import pytest
from lab import QUANTILES, SYSCALLS, Answer, ask

from temper.arch import arch_named
from temper.catalog import feature_named
from temper.kernel import Cache
from temper.progress import Quiet
from temper.report.boots import BootResults, results_by_variant
from temper.run.plans import Workshop
from temper.run.wire import Boot

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1800)]

ARM64 = ("--arch", "arm64")
PSEUDO_NMI = ("--setting", "pseudo-nmi")
CALLS = 20_000

# Another compiler makes other code of the same source.
KNOWN_RELEASE = "6.12.117"
KNOWN_COMPILER = "aarch64-linux-gnu-gcc (Debian 12.2.0-"
KNOWN_OFF = {"syscall/getpid": 346, "syscall/getppid": 347, "syscall/invalid": 295}
KNOWN_STOCK = {"p50": 61, "p99": 2820, "p99.9": 2820}
KNOWN_PSEUDO_NMI = 15

BATCH = 48
"""Offsets of two bytes in the 96 that get_random_u16() draws at once."""
# mrs and isb of the first read, isb of the last, and four that store the result.
OUTSIDE_THE_CLOCK = 7

workloads = pytest.mark.parametrize("workload", SYSCALLS)


@pytest.fixture(scope="module")
def priced(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    folder = tmp_path_factory.mktemp("price")
    return ask(folder, "price", "kstack", *ARM64, "--calls", str(CALLS))


@pytest.fixture(scope="module")
def with_nmis(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    folder = tmp_path_factory.mktemp("nmi")
    return ask(folder, "price", "kstack", *ARM64, *PSEUDO_NMI, "--calls", "1000")


@pytest.fixture(scope="module")
def proved(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    return ask(tmp_path_factory.mktemp("prove"), "prove", "kstack", *ARM64)


def rows(answer: Answer, workload: str) -> dict[str, tuple[float, float]]:
    """Return result class -> value of off, price of stock, without ticks."""
    return {
        row["class"]: (row["baseline_value"], row["delta"])
        for row in answer.report["rows"]
        if (row["workload"], row["variant"], row["without_ticks"])
        == (workload, "stock", True)
    }


def boots(answer: Answer) -> list[BootResults]:
    return [boot for kept in results_by_variant(answer.run).values() for boot in kept]


def test_the_counts_are_exact(priced: Answer) -> None:
    assert priced.status == 0, priced.output
    assert priced.report["exact"] is True, priced.report["exact_why"]
    assert priced.report["unit"] == "instructions"
    assert priced.report["arch"] == "arm64"
    assert priced.report["refused"] == {}


def test_plugin_and_clock_agree(priced: Answer) -> None:
    """An instruction that QEMU begins again, for a tick, counts twice."""
    for boot in boots(priced):
        for workload in SYSCALLS:
            classes, timed = boot.classes[workload], boot.workloads[workload]
            counted = classes["user_instructions"] + classes["kernel_instructions"]
            more = counted - timed.elapsed - OUTSIDE_THE_CLOCK
            assert 0 <= more <= 4 * timed.interrupts


@workloads
def test_a_call_reads_the_clock_twice_and_is_one_call(
    priced: Answer, workload: str
) -> None:
    for boot in boots(priced):
        classes = boot.classes[workload]
        assert classes["user_svc"] == CALLS
        assert classes["kernel_eret"] == pytest.approx(CALLS, abs=10)
        assert classes["user_mrs_cnt"] == 2 * CALLS + 2
        assert classes["user_isb"] == 4 * CALLS + 4


@workloads
def test_all_calls_cost_the_same_when_it_is_off(priced: Answer, workload: str) -> None:
    assert len({rows(priced, workload)[name][0] for name in QUANTILES}) == 1


@workloads
def test_stock_has_a_small_mean_and_a_huge_tail(priced: Answer, workload: str) -> None:
    found = rows(priced, workload)
    price = {name: found[name][1] for name in (*QUANTILES, "mean")}
    assert 30 < price["p50"] < 100
    assert price["p99"] == price["p99.9"] > 2000
    refill = price["p99"] - price["p50"]
    assert price["mean"] == pytest.approx(price["p50"] + refill / BATCH, rel=0.02)


@workloads
def test_one_call_in_48_fills_the_batch(priced: Answer, workload: str) -> None:
    for boot in results_by_variant(priced.run)["stock"]:
        quiet = boot.quiet[workload]
        dear = sum(count for value, count in quiet.items() if value > 2 * min(quiet))
        assert dear == pytest.approx(CALLS / BATCH, abs=3)


@workloads
def test_the_price_of_a_known_kernel(priced: Answer, workload: str) -> None:
    stock = priced.report["variants"]["stock"]
    if stock["kernel_release"] != KNOWN_RELEASE:
        pytest.skip("another kernel")
    if not stock["compiler"].startswith(KNOWN_COMPILER):
        pytest.skip("another compiler")
    found = rows(priced, workload)
    assert found["p50"][0] == KNOWN_OFF[workload]
    assert {name: found[name][1] for name in QUANTILES} == KNOWN_STOCK


@pytest.mark.parametrize("variant", ["off", "stock"])
def test_it_was_in_force_as_it_had_to_be(priced: Answer, variant: str) -> None:
    summary = priced.report["in_force"][variant]
    # Before, between and after four workloads, in two boots.
    assert summary["checks"] == summary["agreed"] == 10
    assert summary["found"] is (variant == "stock")


def test_with_the_setting_all_boots_have_pseudo_nmis(
    priced: Answer, with_nmis: Answer
) -> None:
    assert with_nmis.status == 0, with_nmis.output
    for answer, expected in ((priced, False), (with_nmis, True)):
        for boot in answer.run.boots:
            assert ("Pseudo-NMIs enabled" in boot.console) is expected


def test_reports_tell_the_setting(priced: Answer, with_nmis: Answer) -> None:
    assert priced.report["title"] + ", with pseudo-nmi" == with_nmis.report["title"]
    assert "with pseudo-nmi" in " ".join(with_nmis.output.split())
    assert "--setting pseudo-nmi" in with_nmis.report["command"]
    for variant in with_nmis.report["variants"].values():
        assert "irqchip.gicv3_pseudo_nmi=1" in variant["cmdline"]


@workloads
def test_pseudo_nmis_cost_what_masking_by_priority_does(
    priced: Answer, with_nmis: Answer, workload: str
) -> None:
    without, there = (
        results_by_variant(answer.run)["off"][0] for answer in (priced, with_nmis)
    )
    assert without.classes[workload].get("kernel_msr_pmr", 0) == 0
    assert there.classes[workload]["kernel_msr_pmr"] >= 1000
    more = rows(with_nmis, workload)["p50"][0] - rows(priced, workload)["p50"][0]
    assert 5 < more < 40
    if rows(priced, workload)["p50"][0] == KNOWN_OFF[workload]:
        assert more == KNOWN_PSEUDO_NMI


def test_kstack_is_proven(proved: Answer) -> None:
    assert proved.status == 0, proved.output
    assert proved.report["proven"] is True
    assert proved.report["outcomes"]["off"] == "VULNERABLE"
    assert proved.report["outcomes"]["stock"] == "BLOCKED"


def test_a_proof_has_two_cpus_and_a_clock_with_entropy(proved: Answer) -> None:
    for boot in proved.run.boots:
        assert boot.facts.cpus == 2
        assert Boot.model_validate(boot.records[0]).cpus == 2
        assert "nanoseconds" in boot.facts.clock
        assert "-icount" not in boot.facts.qemu_command


def test_an_image_of_ones_own_can_be_compared(tmp_path: Path) -> None:
    kstack = feature_named("kstack")
    workshop = Workshop(arch_named("arm64"), Cache(), Quiet())
    image = str(workshop.kernel(kstack, kstack.variants["off"]).image)
    off, on = (
        f"--cmdline-{ab}=randomize_kstack_offset={state}" for ab, state in OFF_ON
    )
    answer = ask(tmp_path, "compare", image, image, off, on, *ARM64, "--calls", "1000")
    assert answer.status == 0, answer.output
    assert answer.deltas("syscall/getpid")["p50"] > 30


OFF_ON = (("a", "off"), ("b", "on"))
