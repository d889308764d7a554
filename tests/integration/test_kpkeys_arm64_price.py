"""The price of kpkeys on arm64, on a QEMU of our own, is what its README says.

``TEMPER_REGENERATE=1 .venv/bin/pytest tests/integration/test_kpkeys_arm64_price.py``
writes the table anew.
"""

import pytest
from lab import Answer, ask
from readme_tables import Table
from test_kpkeys_price import FEW_AND_TABLE, RUN, SYSCALLS, TABLE
from test_kpkeys_price import LIMITS as LIMITS_ON_X86

from temper.catalog import feature_named

pytestmark = [
    pytest.mark.integration,
    pytest.mark.check_all,
    pytest.mark.timeout(2 * 3600),
]

KPKEYS = feature_named("kpkeys")
README = KPKEYS.folder / "README.md"
VARIANTS = ("stock", "off", "temper", "no-batching")
# Workload -> the most that it may cost, in percent of stock. The goal for the last one
# is 10: what is above is that vmalloc looks at its pages before it opens the register.
LIMITS = {**LIMITS_ON_X86, "vmalloc/map-ram": 12}

# "pkeys-based page table hardening", RFC v4, 11 April 2025: percent of time without
# batching and with it, with another register in place of POR_EL1, on Graviton3.
PUBLISHED = {
    "micromm/fork-p1": (225.56, -0.07),
    "micromm/fork-p512": (254.32, 0.73),
    "micromm/munmap-p1": (24.49, 4.29),
    "micromm/munmap-p512": (161.47, 6.06),
    "vmalloc/p1": (14.80, 11.85),
    "vmalloc/p4": (38.42, 10.47),
    "vmalloc/p16": (64.74, 6.41),
    "vmalloc/p64": (79.98, 3.24),
    "vmalloc/p256": (85.46, 2.77),
    "vmalloc/p16-huge": (47.89, 3.10),
    "vmalloc/p64-huge": (62.43, 3.36),
    "vmalloc/p256-huge": (64.30, 2.68),
    "vmalloc/random": (74.94, 3.13),
    "vmalloc/map-ram": (30.53, 26.20),
}


@pytest.fixture(scope="module")
def priced(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    return ask(
        tmp_path_factory.mktemp("price"),
        *("price", "kpkeys", "--arch", "arm64", "--variants", ",".join(VARIANTS[1:])),
        *("--calls", "1000", "--layouts", "2"),
    )


def result_class(workload: str) -> str:
    """Return what is told of a workload: of single operations the median."""
    many_in_a_sample = workload.startswith(("micromm/life", "vmalloc/"))
    return "mean" if many_in_a_sample else "p50"


def prices(answer: Answer) -> Table:
    """Return what each workload pays, without samples that a timer tick fell into."""
    found = {
        (row["workload"], row["class"], row["variant"]): row
        for row in answer.report["rows"]
        if row["without_ticks"]
    }
    rows: dict[tuple[str, str], tuple[str, ...]] = {}
    for workload in KPKEYS.workloads:
        name = result_class(workload)
        each = [found[workload, name, variant] for variant in VARIANTS[1:]]
        off, temper, no_batching = (f"{row['delta_percent']:+.2f} %" for row in each)
        stock, spread = each[1]["baseline_value"], each[1]["spread"]
        rows[workload, name] = (
            *(f"{stock:,.0f}", off, temper, f"{100 * spread / stock:.2f} %"),
            *(no_batching, f"{switches(answer, workload, 'temper'):,.1f}"),
            f"{switches(answer, workload, 'no-batching'):,.1f}",
        )
    columns = (
        *("stock", "off", "temper", "±", "no-batching"),
        *("switches", "without batching"),
    )
    return Table(README, "prices", "arm64", columns, rows)


def shares(answer: Answer) -> Table:
    """Return in percent of stock what was published in time, and what a run counts."""
    rows: dict[tuple[str, str], tuple[str, ...]] = {}
    for workload, published in PUBLISHED.items():
        name = result_class(workload)
        counted = [
            100 * more / stock
            for variant in ("no-batching", "temper")
            for stock, more in [answer.prices(workload, variant)[name]]
        ]
        each = (published[0], counted[0], published[1], counted[1])
        rows[workload, name] = tuple(f"{figure:+.1f} %" for figure in each)
    columns = (
        *("no batching, published", "no-batching"),
        *("batching, published", "temper"),
    )
    return Table(README, "shares", "arm64", columns, rows)


def check(answer: Answer, table: Table) -> None:
    """Compare the README with ``table``; where asked to, write it first."""
    rows = table.beside_written()
    answer.need_known_kernel()
    for row, told, measured in rows:
        assert told == pytest.approx(measured, rel=0.002, abs=0.2), row


def switches(answer: Answer, workload: str, variant: str) -> float:
    """Return how often an operation writes the register, more often than on stock."""
    return answer.class_delta(workload, "kernel_msr_por", variant)


def test_it_is_priced(priced: Answer) -> None:
    assert priced.status == 0, priced.output
    assert priced.report["exact"] is True, priced.report["exact_why"]


def test_the_prices_are_what_is_measured(priced: Answer) -> None:
    check(priced, prices(priced))


def test_the_shares_are_what_is_measured(priced: Answer) -> None:
    check(priced, shares(priced))


@pytest.mark.parametrize("workload", LIMITS)
def test_the_price_is_within_its_limit(priced: Answer, workload: str) -> None:
    stock, more = priced.prices(workload, "temper")[result_class(workload)]
    assert 100 * more / stock <= LIMITS[workload]


@pytest.mark.parametrize("variant", VARIANTS[1:])
@pytest.mark.parametrize("workload", SYSCALLS)
def test_a_system_call_waits_for_nothing(
    priced: Answer, workload: str, variant: str
) -> None:
    """Two instructions on entry and two on return are the most, and no ISB is."""
    assert priced.deltas(workload, variant)["p50"] <= 4
    assert abs(priced.class_delta(workload, "kernel_isb", variant)) < 0.5
    assert abs(switches(priced, workload, variant)) < 0.5


@pytest.mark.parametrize("workload", KPKEYS.workloads)
def test_nothing_switches_when_it_is_off(priced: Answer, workload: str) -> None:
    assert switches(priced, workload, "off") == 0


@pytest.mark.parametrize("variant", ["temper", "no-batching"])
@pytest.mark.parametrize("workload", KPKEYS.workloads)
def test_each_switch_is_waited_for_once(
    priced: Answer, workload: str, variant: str
) -> None:
    waits = priced.class_delta(workload, "kernel_isb", variant)
    near = pytest.approx(switches(priced, workload, variant), rel=0.02, abs=2)
    assert waits == near


def test_switches_grow_with_tables_and_runs(priced: Answer) -> None:
    few, table = (switches(priced, name, "temper") for name in FEW_AND_TABLE)
    assert 0 < table - few <= 2 * TABLE / RUN
    few, table = (switches(priced, name, "no-batching") for name in FEW_AND_TABLE)
    assert table - few > 2 * 400
