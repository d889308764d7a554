"""The KUnit tests of the kpkeys series: what they find, and on which machines.

They run in the sabotage kernel, so that they can be seen to fail as well.
"""

import re
from collections import Counter
from dataclasses import replace

import pytest
from lab import ARCH, new_machine, run_of

from temper.catalog import feature_named
from temper.kernel import Cache
from temper.progress import Quiet
from temper.run.plans import Planned, Workshop

pytestmark = [pytest.mark.integration, pytest.mark.timeout(3600)]

KPKEYS = feature_named("kpkeys")
RESULT = re.compile(r"^(?:\[[^]]*\])?\s{4,}(not ok|ok) \d+ (test_\w+)(.*SKIP)?", re.M)
NEEDS_PGTABLES = {"test_pgtables", "test_pgtables_freed", "test_lazy_mmu"}


@pytest.fixture(scope="module")
def planned() -> Planned:
    """Boots of the sabotage kernel that only look whether the feature is in force."""
    workshop = Workshop(ARCH, Cache(), Quiet())
    return workshop.prove(KPKEYS, ["none"], ["user-pte"])


def results(planned: Planned, cmdline: str, cpu: str = "") -> dict[str, str]:
    """Return test -> how it ended on one machine."""
    setup = replace(
        planned.setups["none"],
        cmdline=f"{cmdline} kunit.enable=1 kunit.filter_glob=kpkeys",
        cpu=cpu,
        job=(),
    )
    slot = next(slot for slot in planned.plan.slots if slot.variant == "none")
    plan = planned.plan.model_copy(update={"slots": (slot,)})
    run = run_of(Planned(plan, {"none": setup}), new_machine())
    (boot,) = run.boots
    assert boot.facts.status == "ok", boot.facts.error
    return {
        name: "skip" if skipped else how
        for how, name, skipped in RESULT.findall(boot.console)
    }


@pytest.mark.parametrize(
    ("cpu", "cmdline"),
    [("", ""), ("max,-la57", ""), ("qemu64,+pks", "pti=on")],
    ids=["5 levels", "4 levels", "4 levels with isolation"],
)
def test_all_pass_where_keys_are_enforced(
    planned: Planned, cpu: str, cmdline: str
) -> None:
    found = results(planned, cmdline, cpu)
    assert len(found) >= 15
    assert set(found.values()) == {"ok"}, found


def test_those_of_page_tables_skip_without_the_option(planned: Planned) -> None:
    found = results(planned, "kpkeys_pgtables=off")
    skipped = {name for name, how in found.items() if how == "skip"}
    assert skipped == NEEDS_PGTABLES
    assert Counter(found.values())["not ok"] == 0


@pytest.mark.parametrize(
    ("cpu", "cmdline"), [("max,-pks", ""), ("", "nopks")], ids=["no PKS", "nopks"]
)
def test_all_skip_without_keys(planned: Planned, cpu: str, cmdline: str) -> None:
    assert set(results(planned, cmdline, cpu).values()) == {"skip"}


@pytest.mark.parametrize(
    ("sabotage", "test"),
    [("switch-open", "test_sleep"), ("entry-open", "test_interrupt")],
)
def test_they_notice_a_sabotage(planned: Planned, sabotage: str, test: str) -> None:
    assert results(planned, f"kpkeys_sabotage={sabotage}")[test] == "not ok"
