"""The price of kstack on real kernels, to the instruction."""

from collections import Counter
from pathlib import Path

import pytest
from lab import (
    ONE_LAYOUT,
    PRICED,
    QUANTILES,
    SYSCALLS,
    VARIANTS,
    Answer,
    ask,
    kernel_of,
    params,
)
from readme_tables import Table, as_number, regenerating

from temper.analysis.boots import BootResults, results_by_variant
from temper.arch import arch_named
from temper.catalog import feature_named

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1800)]

GOALS = {"x86_64": 10, "arm64": 14}
"""Instructions more than off that our series may cost a system call."""

# Workload -> of off the median, of the other variants the difference, in the order
# of VARIANTS. What else stock arm64 has is in test_arm64.py.
KNOWN = {
    "x86_64": {
        "syscall/getpid": (206, 15, 41, 1, 9, -1),
        "syscall/getppid": (210, 15, 41, 1, 9, -1),
        "syscall/invalid": (144, 15, 41, 1, 9, -1),
        "ctx/pipe": (3650, 15, 41, 1, 9, -1),
    },
    "arm64": {
        "syscall/getpid": (346, 61, 32, 0, 14, -1),
        "syscall/getppid": (347, 61, 32, 0, 14, -1),
        "syscall/invalid": (295, 61, 31, -1, 13, -2),
        "ctx/pipe": (3717, 61, 32, 0, 14, -1),
    },
}

FORK = "micromm/fork-few"
README = feature_named("kstack").folder / "README.md"

workloads = pytest.mark.parametrize("workload", SYSCALLS)


each = pytest.mark.parametrize(
    "variant", params(("stock", "lfsr", "floor", "temper"), PRICED)
)


@pytest.fixture
def price(variant: str, request: pytest.FixtureRequest) -> Answer:
    """A run in which the variant is priced."""
    which = "priced" if variant in PRICED else "all_priced"
    answer: Answer = request.getfixturevalue(which)
    return answer


def first_boots(answer: Answer, variant: str) -> tuple[BootResults, BootResults]:
    found = results_by_variant(answer.run)
    return found["off"][0], found[variant][0]


def test_the_counts_are_exact(priced_anywhere: Answer) -> None:
    assert priced_anywhere.status == 0, priced_anywhere.output
    report = priced_anywhere.report
    assert report["exact"] is True, report["exact_why"]
    assert report["unit"] == "instructions"
    assert report["refused"] == {}
    assert tuple(report["variants"]) in (PRICED, VARIANTS)


def test_the_promised_keys_are_there(priced: Answer) -> None:
    assert {"feature", "baseline", "machine", "exact", "rows", "in_force"} <= set(
        priced.report
    )
    assert {
        *("workload", "class", "unit", "variant", "value", "baseline_value"),
        *("delta", "delta_percent", "mark"),
    } <= set(priced.report["rows"][0])


@each
def test_all_calls_pay_the_same_in_the_tail_too(price: Answer, variant: str) -> None:
    prices = {
        price.deltas(workload, variant, without_ticks)[quantile]
        for workload in SYSCALLS
        for without_ticks in (True, False)
        for quantile in QUANTILES
    }
    assert len(prices) == 1, prices
    assert prices.pop() > 0


# What the series is to reach, with any compiler and on any 6.12.


@workloads
def test_our_series_is_within_its_goal(priced_anywhere: Answer, workload: str) -> None:
    price = priced_anywhere.deltas(workload, "temper")["p50"]
    assert 0 < price <= GOALS[priced_anywhere.report["arch"]]


@workloads
def test_our_series_has_a_flat_tail(priced_anywhere: Answer, workload: str) -> None:
    prices = priced_anywhere.deltas(workload, "temper")
    assert len({prices[name] for name in QUANTILES}) == 1, prices


@workloads
def test_our_series_is_the_cheaper_one(priced_anywhere: Answer, workload: str) -> None:
    ours = priced_anywhere.deltas(workload, "temper")
    for other in {"stock", "lfsr"} & priced_anywhere.report["variants"].keys():
        theirs = priced_anywhere.deltas(workload, other)
        assert all(ours[name] < theirs[name] for name in (*QUANTILES, "mean")), other


@pytest.mark.check_all
@workloads
def test_our_series_is_dearer_than_the_floor(
    all_priced_anywhere: Answer, workload: str
) -> None:
    ours = all_priced_anywhere.deltas(workload, "temper")
    floor = all_priced_anywhere.deltas(workload, "floor")
    assert ours["p50"] > floor["p50"]


@workloads
def test_our_series_costs_nothing_where_it_is_off(
    priced_anywhere: Answer, workload: str
) -> None:
    prices = priced_anywhere.deltas(workload, "temper-off")
    assert all(prices[name] <= 0 for name in QUANTILES), prices


def test_a_round_through_the_pipe_is_no_dearer_with_it_off(
    priced_anywhere: Answer,
) -> None:
    assert priced_anywhere.deltas("ctx/pipe", "temper-off")["p50"] <= 0


@workloads
@each
def test_stock_alone_reads_the_clock_in_a_call(
    price: Answer, workload: str, variant: str
) -> None:
    def more(name: str) -> float:
        return price.class_delta(workload, name, variant)

    reads = 1 if variant == "stock" else 0
    assert more("kernel_rdtsc") == pytest.approx(reads, abs=0.01)
    assert more("user_rdtsc") == 0
    assert more("user_instructions") == pytest.approx(0, abs=0.01)


# What one kernel and compiler give.


def test_the_prices_of_a_known_kernel(priced_anywhere: Answer) -> None:
    priced_anywhere.need_known_kernel()
    for workload, (off, *prices) in KNOWN[priced_anywhere.report["arch"]].items():
        known = dict(zip(VARIANTS[1:], prices, strict=True))
        for variant in priced_anywhere.report["variants"].keys() - {"off"}:
            found = priced_anywhere.prices(workload, variant)["p50"]
            assert found == (off, known[variant]), (workload, variant)


# That the counts are what they are taken for.


@pytest.mark.parametrize(("variant", "reads"), [("stock", 1), ("temper", 0)])
@workloads
def test_clock_and_plugin_tell_the_same_price(
    tickless: Answer, workload: str, variant: str, reads: int
) -> None:
    """To the instruction, where no tick adds its own."""
    boots = first_boots(tickless, variant)
    off, there = (boot.workloads[workload] for boot in boots)
    assert (off.interrupts, there.interrupts) == (0, 0)
    price = tickless.deltas(workload, variant)["p50"]
    assert there.elapsed - off.elapsed == price * there.samples
    before, after = (Counter(boot.classes[workload]) for boot in boots)
    after.subtract(before)
    assert {name: more for name, more in after.items() if more} == {
        name: more * there.samples
        for name, more in {"kernel_instructions": price, "kernel_rdtsc": reads}.items()
        if more
    }


@workloads
def test_ticks_move_both_by_no_more_than_they_take(
    priced: Answer, workload: str
) -> None:
    ticks = sum(
        row["hit"]
        for row in priced.report["ticks"]
        if row["workload"] == workload and row["variant"] in ("off", "stock")
    )
    samples = priced.report["calls"][workload]
    longest = 30_000
    price = priced.deltas(workload, "stock")["p50"]
    counted = priced.class_delta(workload, "kernel_instructions", "stock")
    assert counted == pytest.approx(price, abs=ticks * longest / samples)


@workloads
def test_every_tick_is_detected(priced: Answer, workload: str) -> None:
    for boot in priced.boots():
        hit = sum(boot.ticked[workload].values())
        assert boot.workloads[workload].interrupts >= 3
        # The timer is the only device that is up to something.
        assert hit == pytest.approx(boot.workloads[workload].interrupts, abs=1)


@workloads
def test_all_calls_without_a_tick_are_the_same(priced: Answer, workload: str) -> None:
    for boot in priced.boots():
        quiet = boot.quiet[workload]
        assert sum(quiet.values()) - max(quiet.values()) <= 2, quiet


@workloads
def test_a_tick_makes_no_call_cheaper(priced: Answer, workload: str) -> None:
    for boot in priced.boots():
        assert min(boot.ticked[workload]) >= min(boot.quiet[workload])


def test_ticks_make_calls_more_expensive(priced: Answer) -> None:
    """Of few ticks in one workload, all may fall between two samples."""
    for boot in priced.boots():
        assert any(max(boot.ticked[w]) > max(boot.quiet[w]) for w in SYSCALLS)


def test_it_was_in_force_as_it_had_to_be(priced_anywhere: Answer) -> None:
    in_force = priced_anywhere.report["in_force"]
    assert in_force.keys() == priced_anywhere.report["variants"].keys()
    for variant, summary in in_force.items():
        # Before, between and after four workloads, in two boots.
        assert summary["checks"] == summary["agreed"] == 10
        assert summary["found"] is (variant in ("stock", "lfsr", "temper"))


def test_a_price_of_what_was_not_in_force_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The feature is a no-op: ``stock`` boots with the option off."""
    kstack = feature_named("kstack")
    no_op = {"cmdline": kstack.variants["off"].cmdline}
    stock = kstack.variants["stock"].model_copy(update=no_op)
    spoilt = kstack.model_copy(update={"variants": kstack.variants | {"stock": stock}})
    monkeypatch.setattr("temper.cli.measure.feature_named", lambda _name: spoilt)
    command = ("price", "kstack", "--variants", "stock", "--calls", "100")
    answer = ask(tmp_path, *command, *ONE_LAYOUT)
    assert answer.status != 0
    why = "in-force checks found it off, but it must be on"
    assert list(answer.report["refused"]) == ["stock"]
    assert why in answer.report["refused"]["stock"]
    assert answer.report["rows"] == []
    assert answer.report["classes"] == []
    assert "in-force checks found it off" in " ".join(answer.output.split())


@pytest.mark.check_all
@pytest.mark.parametrize("arch", ["x86_64", "arm64"])
def test_a_fork_pays_for_its_childs_state(arch: str, tmp_path: Path) -> None:
    kernel = kernel_of(feature_named("kstack"), "temper", arch_named(arch))
    answer = ask(
        tmp_path,
        *("compare", str(kernel.image), str(kernel.image), "--arch", arch),
        *("--cmdline-a", "randomize_kstack_offset=off"),
        *("--cmdline-b", "randomize_kstack_offset=on"),
        *("--workload", FORK, "--calls", "40000000"),
    )
    assert answer.status == 0, answer.output
    (row,) = (
        row
        for row in answer.report["rows"]
        if row["class"] == "p50" and row["without_ticks"]
    )
    spread = row["spread"]
    assert 0 < spread < 0.02 * row["baseline_value"]
    cells = (
        f"{row['baseline_value']:,.0f}",
        f"{row['delta']:+,.0f}",
        f"±{spread:,.0f}",
    )
    columns = ("off", "on", "layout alone")
    table = Table(README, "forks", arch, columns, {(FORK, "p50"): cells})
    if regenerating():
        table.regenerate()
    # What the README says, but for what the layout of memory alone makes.
    off, on, _ = (as_number(cell) for cell in table.written()[FORK, "p50"])
    assert row["baseline_value"] == pytest.approx(off, abs=spread)
    assert row["delta"] == pytest.approx(on, abs=spread)
