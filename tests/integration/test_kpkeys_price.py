"""The price of kpkeys on real kernels: its limits and its shape."""

import pytest
from lab import boots_of, new_machine, planner, prepared

from temper.analysis.boots import BootResults
from temper.catalog import feature_named
from temper.stats.exact import merge, result_classes

pytestmark = [
    pytest.mark.integration,
    pytest.mark.check_all,
    pytest.mark.timeout(3600),
]

SYSCALLS = ("syscall/getppid", "syscall/invalid")
# Workload -> the most it may cost, in percent of stock.
LIMITS = {
    "micromm/fork-few": 2,
    "micromm/fork-table": 2,
    "micromm/fork-p1": 2,
    "micromm/fork-written": 2,
    "micromm/fork-p512": 2,
    "micromm/munmap-few": 3,
    "micromm/munmap-table": 3,
    "micromm/munmap-p1": 3,
    "micromm/munmap-p512": 3,
    "micromm/life-few": 1,
    "micromm/life-p1": 1,
    "vmalloc/p1": 5,
    "vmalloc/p256": 1,
    "vmalloc/map-ram": 10,
}
FEW_AND_TABLE = ("micromm/munmap-few", "micromm/munmap-table")
CALLS = 1000
# Entries of a table, and those that munmap takes out in one section.
TABLE, RUN = 512, 64


@pytest.fixture(scope="module")
def boots() -> dict[str, BootResults]:
    return boot_each(["off", "temper", "no-pks"], (*SYSCALLS, *LIMITS))


def boot_each(names: list[str], workloads: tuple[str, ...]) -> dict[str, BootResults]:
    """Boot the feature's baseline and variants once each, to be priced."""
    feature = feature_named("kpkeys")
    wanted = tuple(dict.fromkeys(workloads))
    part = feature.model_copy(update={"workloads": wanted})
    whole = prepared(planner().price(part, CALLS, names))
    found = {}
    for name in (feature.baseline, *names):
        (boot,) = boots_of(whole, new_machine(), name)
        assert boot.facts.status == "ok", boot.facts.error
        assert boot.failures == []
        found[name] = boot
    return found


def cost(boot: BootResults, workload: str) -> float:
    """Return instructions per operation, without samples that a tick fell into.

    The median where one operation is long enough for work of others to fall into it,
    the mean where so many are one sample that a tick falls into each.
    """
    operations = boot.workloads[workload].operations
    bins = boot.quiet[workload] or merge([boot.ticked[workload]])
    of_one = workload.startswith("micromm/")
    return float(result_classes(bins, operations)["p50" if of_one else "mean"])


def switches(boots: dict[str, BootResults], variant: str, workload: str) -> float:
    """Return how many more MSRs the kernel writes per operation than on stock.

    Ticks write some, too, and fall where they fall.
    """
    written = []
    for name in (variant, "stock"):
        record = boots[name].workloads[workload]
        count = boots[name].classes[workload]["kernel_wrmsr"]
        written.append(count / (record.samples * record.operations))
    return written[0] - written[1]


def test_it_was_in_force_where_it_had_to_be(boots: dict[str, BootResults]) -> None:
    for name, boot in boots.items():
        assert boot.checks
        assert {check.on for check in boot.checks} == {name == "temper"}


@pytest.mark.parametrize("variant", ["off", "temper", "no-pks"])
@pytest.mark.parametrize("workload", SYSCALLS)
def test_a_system_call_costs_nothing(
    boots: dict[str, BootResults], workload: str, variant: str
) -> None:
    # Ticks fall where they fall: into one sample more here, one less there.
    quiet = boots[variant].quiet[workload]
    assert len(quiet) == 1
    assert quiet.keys() == boots["stock"].quiet[workload].keys()


@pytest.mark.parametrize("workload", LIMITS)
def test_the_price_is_within_its_limit(
    boots: dict[str, BootResults], workload: str
) -> None:
    without, on = cost(boots["stock"], workload), cost(boots["temper"], workload)
    assert 100 * (on - without) / without <= LIMITS[workload]


def test_switches_grow_with_tables_and_runs(boots: dict[str, BootResults]) -> None:
    few, table = (switches(boots, "temper", name) for name in FEW_AND_TABLE)
    assert 0 < few < 10
    assert 0 < table - few <= 2 * TABLE / RUN


def test_nothing_switches_when_it_is_off(boots: dict[str, BootResults]) -> None:
    assert abs(switches(boots, "no-pks", "micromm/munmap-p1")) < 1


def test_what_it_takes_once_is_counted(boots: dict[str, BootResults]) -> None:
    """The series makes the start longer, even if it is off, and the kernel larger."""
    starts = [boots[name].startup or 0 for name in ("stock", "off", "temper")]
    assert 0 < starts[0] < starts[1] < starts[2] < 1.05 * starts[0]
    stock, off = (boots[name].facts.kernel.memory for name in ("stock", "off"))
    assert all(0 < stock[use] < off[use] < 1.1 * stock[use] for use in stock)
    assert len(stock) == 4
