"""Every workload of a kernel on a real one: it runs, repeats, and does what it says."""

from fractions import Fraction

import pytest
from lab import boots_of, new_machine, planner, prepared

from temper.analysis.boots import BootResults
from temper.catalog import feature_named
from temper.run.prepare import Prepared
from temper.stats.exact import merge, result_classes
from temper.workloads import all_workloads

pytestmark = [pytest.mark.integration, pytest.mark.timeout(3600)]

ON_REQUEST = ("micromm", "vmalloc")
WORKLOADS = tuple(
    name for name in all_workloads() if name.partition("/")[0] in ON_REQUEST
)
MADE_READY = ("micromm/munmap-p1", "micromm/fork-p1", "micromm/fault")
FEW, TABLE, MANY = 64, 512, 8 * 512
"""Pages of micromm's mappings."""


def with_workloads(*workloads: str) -> Prepared:
    """Plan to run workloads on the kernel of kstack, which other tests need, too."""
    feature = feature_named("kstack").model_copy(update={"workloads": workloads})
    return prepared(planner().price(feature, 1000, ["stock"]))


@pytest.fixture(scope="module")
def boots() -> list[BootResults]:
    return boots_of(with_workloads(*WORKLOADS), new_machine(), "off", 2)


def cost(boot: BootResults, workload: str) -> Fraction:
    """Return the mean instructions of an operation, ticks included."""
    bins = merge([boot.quiet[workload], boot.ticked[workload]])
    return result_classes(bins, boot.workloads[workload].operations)["mean"]


def per_page(boot: BootResults, small: str, large: str, pages: int) -> Fraction:
    return (cost(boot, large) - cost(boot, small)) / pages


def test_every_word_is_measured(boots: list[BootResults]) -> None:
    for boot in boots:
        assert boot.facts.status == "ok", boot.facts.error
        assert boot.failures == []
        assert set(boot.workloads) == set(WORKLOADS)
        # Each has classes of its own, not those of another.
        regions = {record.region for record in boot.workloads.values()}
        assert len(regions) == len(WORKLOADS)


@pytest.mark.parametrize("workload", WORKLOADS)
def test_two_boots_agree(boots: list[BootResults], workload: str) -> None:
    one, other = boots
    assert one.workloads[workload] == other.workloads[workload]
    assert one.quiet[workload] == other.quiet[workload]
    assert one.ticked[workload] == other.ticked[workload]
    assert one.classes[workload] == other.classes[workload]
    assert one.wholes[workload] == other.wholes[workload]


def test_written_pages_are_write_protected_one_by_one(
    boots: list[BootResults],
) -> None:
    names = ("micromm/fork-p1", "micromm/fork-written")
    assert 3 < per_page(boots[0], *names, pages=MANY) < 40


@pytest.mark.parametrize("call", ["fork", "munmap"])
def test_pages_mapped_one_by_one_are_paid_for_one_by_one(
    boots: list[BootResults], call: str
) -> None:
    boot, name = boots[0], f"micromm/{call}"
    within = per_page(boot, f"{name}-few", f"{name}-table", TABLE - FEW)
    beyond = per_page(boot, f"{name}-table", f"{name}-p1", MANY - TABLE)
    assert within > 20
    # A table of its own for every 512, which is cleared or freed.
    assert within * 0.8 < beyond < within * 1.5
    # Of one folio, so that its pages are counted at once; or one entry for them all.
    split, huge = cost(boot, f"{name}-p512"), cost(boot, f"{name}-pmd")
    assert huge < split < cost(boot, f"{name}-p1")


def test_what_is_made_ready_is_not_counted(boots: list[BootResults]) -> None:
    """Clearing the pages takes ten times as long as unmapping them."""
    for workload in MADE_READY:
        record, classes = boots[0].workloads[workload], boots[0].classes[workload]
        counted = classes["kernel_instructions"] + classes["user_instructions"]
        samples = cost(boots[0], workload) * record.samples * record.operations
        assert abs(counted - samples) < samples / 100
    record = boots[0].workloads["micromm/munmap-p1"]
    timed = cost(boots[0], "micromm/munmap-p1") * record.samples
    assert record.elapsed > 5 * timed


def test_a_whole_loop_has_what_the_samples_leave_out(boots: list[BootResults]) -> None:
    for name, whole in boots[0].wholes.items():
        # Some ticks of the wait at the end, at least.
        assert whole > sum(totals(boots[0], name)) + 10_000
    fork, munmap = "micromm/fork-p1", "micromm/munmap-p1"
    assert boots[0].wholes[fork] > 1.5 * sum(totals(boots[0], fork))
    # Its preparation clears every page.
    cleared = boots[0].workloads[munmap].samples * MANY * 4096
    assert boots[0].wholes[munmap] > cleared


def totals(boot: BootResults, workload: str) -> tuple[int, int]:
    counts = boot.classes[workload]
    return counts["kernel_instructions"], counts["user_instructions"]


@pytest.mark.parametrize("workload", ["micromm/fault", "micromm/life-p1"])
def test_clearing_pages_is_iterations_of_a_string_instruction(
    boots: list[BootResults], workload: str
) -> None:
    record = boots[0].workloads[workload]
    pages = record.samples * record.operations * (MANY if "life" in workload else 1)
    cleared = boots[0].classes[workload]["kernel_rep_string"]
    assert 4096 * pages <= cleared < 4096 * pages * 1.02


@pytest.mark.parametrize("shape", ["few", "p1", "pmd"])
def test_a_life_has_all_that_ran_meanwhile(
    boots: list[BootResults], shape: str
) -> None:
    """So it has what the kernel frees in a later tick, whichever sample that hits."""
    life, boot = f"micromm/life-{shape}", boots[0]
    record, classes = boot.workloads[life], boot.classes[life]
    assert boot.ticked[life] == {}
    counted = classes["kernel_instructions"] + classes["user_instructions"]
    timed = cost(boot, life) * record.samples * record.operations
    for whole in (counted, record.elapsed):
        assert abs(whole - timed) < timed / 1000
    assert cost(boot, life) > cost(boot, f"micromm/munmap-{shape}")


def test_vmalloc_pays_for_every_page(boots: list[BootResults]) -> None:
    """As many loops as it says: each page costs the same, however many there are."""
    boot = boots[0]
    small = per_page(boot, "vmalloc/p4", "vmalloc/p16", 12)
    large = per_page(boot, "vmalloc/p64", "vmalloc/p256", 192)
    assert small > 100
    assert small / 2 < large < small * 2
    # Random sizes are 50.5 pages on average.
    assert cost(boot, "vmalloc/p16") < cost(boot, "vmalloc/random")
    assert cost(boot, "vmalloc/random") < cost(boot, "vmalloc/p64")
    assert cost(boot, "vmalloc/map-ram") < cost(boot, "vmalloc/p1")
