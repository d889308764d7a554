"""The KUnit tests of the kpkeys series: what they find, and on which machines.

They run in the sabotage kernel, so that they can be seen to fail as well; here it can
also do what some of them need.
"""

import re
from collections import Counter

import pytest
from kunit import kunit_boot, kunit_results
from lab import planner, prepared

from temper.catalog import feature_named
from temper.run.prepare import Prepared

pytestmark = [
    pytest.mark.integration,
    pytest.mark.check_all,
    pytest.mark.timeout(3600),
]

FEATURE = feature_named("kpkeys").for_arch("x86_64")
ABLE = (
    *("CONFIG_MEMORY_HOTPLUG=y", "CONFIG_MEMORY_HOTREMOVE=y", "CONFIG_ZONE_DEVICE=y"),
    *("CONFIG_NUMA=y", "CONFIG_NUMA_BALANCING=y"),
)
NONE = FEATURE.sabotages["none"].model_copy(
    update={"config": (*FEATURE.sabotages["none"].config, *ABLE)}
)
KPKEYS = FEATURE.model_copy(update={"sabotages": {"none": NONE}})
NEEDS_PGTABLES = {"test_added", "test_pgtables", "test_pgtables_freed", "test_splits"}
LOST = re.compile(r"kpkeys: rights lost at (\w+)")
# Where nothing is done to memory that is freed, there is nothing to see.
NEEDS_TRACES = {"test_freed"}


@pytest.fixture(scope="module")
def whole() -> Prepared:
    """Prepare boots of the sabotage kernel."""
    return prepared(planner().prove(KPKEYS, ["none"], ["user-pte"]))


def results(whole: Prepared, cmdline: str, cpu: str = "") -> dict[str, str]:
    return kunit_results(whole, "kpkeys", cmdline, cpu)


@pytest.mark.parametrize(
    ("cpu", "cmdline"),
    [
        ("", "init_on_free=1"),
        ("max,-la57", "init_on_free=1"),
        ("qemu64,+pks", "pti=on init_on_free=1"),
    ],
    ids=["5 levels", "4 levels", "4 levels with isolation"],
)
def test_all_pass_where_keys_are_enforced(
    whole: Prepared, cpu: str, cmdline: str
) -> None:
    found = results(whole, cmdline, cpu)
    assert len(found) >= 30
    assert set(found.values()) == {"ok"}, found


def test_only_one_skips_by_default(whole: Prepared) -> None:
    found = results(whole, "")
    assert {name for name, how in found.items() if how != "ok"} == NEEDS_TRACES


def test_those_of_page_tables_skip_without_the_option(whole: Prepared) -> None:
    found = results(whole, "kpkeys_pgtables=off")
    skipped = {name for name, how in found.items() if how == "skip"}
    assert skipped == NEEDS_PGTABLES | NEEDS_TRACES
    assert Counter(found.values())["not ok"] == 0


@pytest.mark.parametrize(
    ("cpu", "cmdline"), [("max,-pks", ""), ("", "nopks")], ids=["no PKS", "nopks"]
)
def test_all_skip_without_keys(whole: Prepared, cpu: str, cmdline: str) -> None:
    assert set(results(whole, cmdline, cpu).values()) == {"skip"}


@pytest.mark.parametrize(
    ("sabotage", "test"),
    [
        ("switch-open", "test_sleep"),
        ("entry-open", "test_interrupt"),
        ("nested-open", "test_nested"),
        ("unkeyed-vmemmap", "test_added"),
        ("no-blocks", "test_pairs"),
        ("no-blocks", "test_fragmented"),
    ],
)
def test_they_notice_a_sabotage(whole: Prepared, sabotage: str, test: str) -> None:
    assert results(whole, f"kpkeys_sabotage={sabotage}")[test] == "not ok"


@pytest.mark.parametrize(
    ("sabotage", "lost"),
    [
        ("slow-patching", set()),
        ("patching-counted", {"irqentry_enter", "irqentry_exit"}),
    ],
)
def test_rights_stay_where_features_are_half_patched(
    whole: Prepared, sabotage: str, lost: set[str]
) -> None:
    """A tick in the wrong microsecond of a boot found a section left open."""
    console = kunit_boot(whole, "none", f"kpkeys_sabotage={sabotage}").console
    assert console.count("kpkeys: page tables are protected") == 1
    assert set(LOST.findall(console)) == lost
    assert ("WARNING:" in console) is bool(lost)
