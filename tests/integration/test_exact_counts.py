"""What makes counts exact: nothing but the guest itself moves them."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from lab import (
    CALLS,
    ONE_LAYOUT,
    SYSCALLS,
    Answer,
    WithoutFlag,
    WithoutIcount,
    WithoutPlugin,
    WithoutSeed,
    ask,
    boots_of,
    new_machine,
)

from temper.analysis.boots import BootResults, results_by_variant
from temper.machine import DEFAULT_KIND, KINDS
from temper.run.prepare import Prepared

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1800)]

TICK = 20_000
"""Instructions: more than any tick takes."""
# Between the markers but outside of the two clock reads: lfence and rdtsc before,
# lfence and five to subtract and store the result after.
OUTSIDE_THE_CLOCK = 8


def counts(boot: BootResults, workload: str) -> dict[str, object]:
    """Return all that a boot said of a workload."""
    return {
        "samples": boot.workloads[workload],
        "quiet": boot.quiet[workload],
        "ticked": boot.ticked[workload],
        "classes": boot.classes[workload],
    }


def assert_same(one: BootResults, other: BootResults) -> None:
    for workload in one.workloads | other.workloads:
        assert counts(one, workload) == counts(other, workload), workload


@pytest.fixture(scope="module")
def reference(priced: Answer) -> BootResults:
    """Give the first boot of stock; two or more were under way at once."""
    return results_by_variant(priced.run)["stock"][0]


@contextmanager
def busy(processes: int) -> Iterator[None]:
    loops = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in range(processes)
    ]
    try:
        yield
        assert all(loop.poll() is None for loop in loops)
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def test_boots_side_by_side_agree(priced: Answer) -> None:
    for first, second in results_by_variant(priced.run).values():
        assert_same(first, second)


def test_a_boot_alone_gives_the_same(reference: BootResults, stock: Prepared) -> None:
    (alone,) = boots_of(stock, new_machine(), "stock")
    assert_same(alone, reference)


def test_a_busy_host_gives_the_same(reference: BootResults, stock: Prepared) -> None:
    with busy(3):
        (hindered,) = boots_of(stock, new_machine(), "stock")
    assert_same(hindered, reference)


def test_the_plugin_changes_nothing(reference: BootResults, stock: Prepared) -> None:
    (bare,) = boots_of(stock, new_machine(WithoutPlugin), "stock")
    for workload in reference.workloads:
        assert bare.classes[workload] == {}
        bare.classes[workload] = reference.classes[workload]
    assert_same(bare, reference)


def surplus(boot: BootResults, workload: str) -> int:
    """Return how many instructions more than the clock the plugin counted."""
    classes = boot.classes[workload]
    counted = classes["user_instructions"] + classes["kernel_instructions"]
    return counted - boot.workloads[workload].elapsed


def test_plugin_and_clock_agree_to_the_instruction(tickless: Answer) -> None:
    found = {
        surplus(boots[0], workload)
        for boots in results_by_variant(tickless.run).values()
        for workload in SYSCALLS
    }
    assert found == {OUTSIDE_THE_CLOCK}


def test_plugin_and_clock_agree_over_ticks(priced: Answer) -> None:
    """An instruction that QEMU begins again counts twice: here and there one.

    A tick may fall between a marker and the clock read beside it: once in a while.
    """
    outside = []
    for boots in results_by_variant(priced.run).values():
        for workload in boots[0].workloads:
            more = surplus(boots[0], workload) - OUTSIDE_THE_CLOCK
            assert 0 <= more < TICK
            if more >= boots[0].workloads[workload].elapsed / 1_000_000:
                outside.append((boots[0].name, workload))
    assert len(outside) <= 1, outside


CAMPAIGN = ("selftest", "exact", "kstack", "--pairs", "1")


def test_a_short_campaign_finds_no_difference(tmp_path: Path) -> None:
    answer = ask(tmp_path, *CAMPAIGN)
    assert answer.status == 0, answer.output
    report = answer.report
    assert (report["exact"], report["pairs"], report["outliers"]) == (True, 1, [])
    assert len(report["workloads"]) == 4
    for boot in answer.run.boots:
        assert "rr=record" in boot.facts.machine.details["command"]


def test_a_campaign_notices_a_lost_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(KINDS, DEFAULT_KIND, WithoutSeed)
    answer = ask(tmp_path, *CAMPAIGN)
    assert answer.status == 1
    assert answer.report["exact"] is False
    assert answer.report["unequal"]
    assert "NOT EXACT" in answer.output


@pytest.mark.parametrize("machine", [WithoutIcount, WithoutSeed])
def test_a_flag_left_out_is_noticed(
    machine: type[WithoutFlag], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lab believes that its boots are exact; their counts say otherwise."""
    monkeypatch.setitem(KINDS, DEFAULT_KIND, machine)
    words = ("price", "kstack", "--variants", "stock", "--calls", str(CALLS))
    answer = ask(tmp_path, *words, *ONE_LAYOUT)
    assert answer.status != 0
    assert answer.report["exact"] is False
    assert re.search(r"differs? between boot 1 of", answer.report["exact_why"])
    assert {row["mark"] for row in answer.report["rows"]} == {"(?)"}
    assert "NOT EXACT" in " ".join(answer.output.split())


def test_no_layout_of_memory_moves_a_system_call(tmp_path: Path) -> None:
    words = ("--variants", "stock", "--calls", "200", "--layouts", "3")
    answer = ask(tmp_path, "price", "kstack", *words)
    assert answer.report["exact"] is True, answer.report["exact_why"]
    assert answer.report["layouts"] == 3
    spreads = {
        row["spread"]
        for row in answer.report["rows"]
        if row["workload"] in SYSCALLS and row["class"] == "p50"
    }
    assert spreads == {0}
    assert len({boot.facts.initramfs_hash for boot in answer.boots()}) == 3
