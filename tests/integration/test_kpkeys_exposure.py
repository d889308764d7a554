"""For how long the real kernels of kpkeys have the register open, and in what code."""

from collections import defaultdict
from typing import Any

import pytest
from lab import Answer, ask, kernel_of

from temper.catalog import feature_named
from temper.kernel import watched
from temper.progress import Quiet

pytestmark = [pytest.mark.integration, pytest.mark.timeout(3600)]

WORKLOADS = (
    "syscall/getppid",
    "micromm/fork-few",
    "micromm/munmap-p1",
    "micromm/mprotect",
    "vmalloc/p1",
)
VARIANTS = ("off", "temper", "count-open")
# Of the start, which frees it, and of a CPU that never runs anything again.
OPENERS = {"kpkeys_setup_pgtables", "stop_this_cpu"}


@pytest.fixture(scope="module")
def exposed(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    words = ("--variants", ",".join(VARIANTS), "--workloads", ",".join(WORKLOADS))
    return ask(tmp_path_factory.mktemp("exposure"), "exposure", "kpkeys", *words)


def records(exposed: Answer, variant: str) -> list[dict[str, Any]]:
    """Return what was found in each region of a variant's boot."""
    (boot,) = (boot for boot in exposed.run.boots if boot.facts.variant == variant)
    return [record for record in boot.records if record["type"] == "exposure"]


def test_every_write_is_known(exposed: Answer) -> None:
    assert exposed.report["refused"] == {}
    for variant in ("off", "temper"):
        assert all(found["untold"] == 0 for found in records(exposed, variant))


def test_it_is_never_open_where_it_is_off(exposed: Answer) -> None:
    assert [found["opened"] for found in records(exposed, "off")] == [0] * len(
        WORKLOADS
    )


def test_every_open_stretch_is_closed(exposed: Answer) -> None:
    for found in records(exposed, "temper"):
        stretches = sum(count for _, count in found["stretches"])
        assert found["opened"] == found["closed"] == stretches
        assert found["open_at_marker"] == 0
        assert "(user mode)" not in found["functions"]


def test_a_system_call_opens_nothing_and_a_fork_does(exposed: Answer) -> None:
    first, *others = records(exposed, "temper")
    assert first["opened"] == 0
    assert all(found["opened"] > 0 for found in others)


def test_all_writes_that_were_counted_were_seen(exposed: Answer) -> None:
    for boot in exposed.boots():
        for workload, found in boot.exposures.items():
            seen = found.opened + found.closed + found.other + found.untold
            assert seen == boot.classes[workload]["kernel_wrmsr"]


def test_instructions_add_up(exposed: Answer) -> None:
    """Those of functions are those of stretches."""
    for found in records(exposed, "temper"):
        stretches = sum(length * count for length, count in found["stretches"])
        assert sum(found["functions"].values()) == stretches


def test_a_forbidden_function_runs_only_in_the_section_that_counts(
    exposed: Answer,
) -> None:
    assert set(exposed.report["faults"]) == {"count-open"}
    assert exposed.status == 1


def test_no_function_only_opens_it() -> None:
    """An attacker who calls it, or jumps into it, would have the right to write."""
    feature = feature_named("kpkeys")
    kernel = kernel_of(feature, "temper")
    found = watched(kernel, feature.registers[kernel.arch.name], Quiet())
    writes = defaultdict(set)
    for at, word in found.writes.items():
        writes[found.symbols.function(at)].add(word)
    opening = {name for name, words in writes.items() if "opens" in words}
    assert len(opening) > 50
    assert {name for name in opening if "closes" not in writes[name]} == OPENERS


def test_a_section_that_counts_is_found(exposed: Answer) -> None:
    """Only what counts a page asks which one an entry of a fork maps."""
    place = WORKLOADS.index("micromm/fork-few")
    for variant, counts in (("temper", False), ("count-open", True)):
        functions = records(exposed, variant)[place]["functions"]
        assert ("vm_normal_page" in functions) is counts
