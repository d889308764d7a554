"""For how long the real kernels of kpkeys have the register open, and in what code."""

from collections import defaultdict
from dataclasses import dataclass
from fnmatch import filter as filter_names
from typing import Any

import pytest
from lab import Answer, ask, kernel_of

from temper.arch import arch_named
from temper.catalog import feature_named
from temper.kernel import watched
from temper.kernel.symbols import Symbols
from temper.progress import Quiet

pytestmark = [
    pytest.mark.integration,
    pytest.mark.check_all,
    pytest.mark.timeout(3600),
]

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
# Of kernels with notifiers, or with memory of several speeds, as distributions have.
ELSEWHERE = {"mmu_notifier_*", "__mmu_notifier_*", "node_is_toptier"}


@dataclass(frozen=True)
class Exposed:
    """What was found on an architecture."""

    arch: str
    answer: Answer

    def records(self, variant: str) -> list[dict[str, Any]]:
        """Return what was found in each region of a variant's boot."""
        boots = self.answer.run.boots
        (boot,) = (boot for boot in boots if boot.facts.variant == variant)
        return [record for record in boot.records if record["type"] == "exposure"]


@pytest.fixture(scope="module", params=["x86_64", "arm64"])
def exposed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Exposed:
    folder = tmp_path_factory.mktemp("exposure")
    words = ("--variants", ",".join(VARIANTS), "--workloads", ",".join(WORKLOADS))
    answer = ask(folder, "exposure", "kpkeys", "--arch", request.param, *words)
    return Exposed(request.param, answer)


def test_every_write_is_known(exposed: Exposed) -> None:
    assert exposed.answer.report["refused"] == {}
    for variant in ("off", "temper"):
        assert all(found["untold"] == 0 for found in exposed.records(variant))


def test_it_is_never_open_where_it_is_off(exposed: Exposed) -> None:
    opened = [found["opened"] for found in exposed.records("off")]
    assert opened == [0] * len(WORKLOADS)


def test_every_open_stretch_is_closed(exposed: Exposed) -> None:
    for found in exposed.records("temper"):
        stretches = sum(count for _, count in found["stretches"])
        assert found["opened"] == found["closed"] == stretches
        assert found["open_at_marker"] == 0
        assert "(user mode)" not in found["functions"]


def test_a_system_call_opens_nothing_and_a_fork_does(exposed: Exposed) -> None:
    first, *others = exposed.records("temper")
    assert first["opened"] == 0
    assert all(found["opened"] > 0 for found in others)


def test_all_writes_that_were_counted_were_seen(exposed: Exposed) -> None:
    counted_as = feature_named("kpkeys").registers[exposed.arch].counted_as
    for boot in exposed.answer.boots():
        for workload, found in boot.exposures.items():
            seen = found.opened + found.closed + found.other + found.untold
            assert seen == boot.classes[workload][counted_as]


def test_instructions_add_up(exposed: Exposed) -> None:
    """Those of functions are those of stretches."""
    for found in exposed.records("temper"):
        stretches = sum(length * count for length, count in found["stretches"])
        assert sum(found["functions"].values()) == stretches


def test_a_forbidden_function_runs_only_in_the_section_that_counts(
    exposed: Exposed,
) -> None:
    assert set(exposed.answer.report["faults"]) == {"count-open"}
    assert exposed.answer.status == 1


@pytest.mark.parametrize("arch", ["x86_64", "arm64"])
def test_what_must_not_run_is_there(arch: str) -> None:
    """Or a name that a kernel does not have would forbid nothing."""
    feature = feature_named("kpkeys")
    kernel = kernel_of(feature, "temper", arch_named(arch))
    names = {name for _, _, name in Symbols.of(kernel.folder / "System.map").rows}
    unknown = {
        pattern
        for pattern in feature.registers[arch].never
        if not filter_names(names, pattern)
    }
    assert unknown == ELSEWHERE


def test_no_function_only_opens_it() -> None:
    """An attacker who calls it, or jumps into it, would have the right to write.

    On x86-64, where the code tells what is written.
    """
    feature = feature_named("kpkeys")
    kernel = kernel_of(feature, "temper")
    found = watched(kernel, feature.registers[kernel.arch.name], Quiet())
    writes = defaultdict(set)
    for at, word in found.writes.items():
        writes[found.symbols.function(at)].add(word)
    opening = {name for name, words in writes.items() if "opens" in words}
    assert len(opening) > 50
    assert {name for name in opening if "closes" not in writes[name]} == OPENERS


def test_a_section_that_counts_is_found(exposed: Exposed) -> None:
    """Only what counts a page asks which one an entry of a fork maps."""
    place = WORKLOADS.index("micromm/fork-few")
    for variant, counts in (("temper", False), ("count-open", True)):
        functions = exposed.records(variant)[place]["functions"]
        assert ("vm_normal_page" in functions) is counts
