"""Runs a series' KUnit tests in a boot of its sabotage kernel, which has them."""

import re
from dataclasses import replace

from lab import run_of

from temper.kernel import Cache
from temper.progress import Quiet
from temper.record.boot import StoredBoot
from temper.run.machines import machine_for
from temper.run.prepare import Prepared

_RESULT = re.compile(
    r"^(?:\[[^]]*\])?\s{4,}(not ok|ok) \d+ (test_\w+)(.*SKIP)?", re.MULTILINE
)


def kunit_results(
    whole: Prepared, suite: str, cmdline: str, cpu: str = ""
) -> dict[str, str]:
    """Return test -> how it ended, on the kernel of the variant ``none``."""
    return results_of(kunit_boot(whole, suite, cmdline, cpu))


def results_of(boot: StoredBoot) -> dict[str, str]:
    """Return test -> how it ended in a boot."""
    return {
        name: "skip" if skipped else how
        for how, name, skipped in _RESULT.findall(boot.console)
    }


def kunit_boot(whole: Prepared, suite: str, cmdline: str, cpu: str = "") -> StoredBoot:
    """Return a boot of the kernel of the variant ``none`` that runs the tests."""
    plan = whole.plan
    options = f"{cmdline} kunit.enable=1 kunit.filter_glob={suite}"
    changes = {"cmdline": options, "cpu": cpu}
    none = plan.variants["none"].model_copy(update=changes)
    (slot,) = (slot for slot in plan.slots if slot.variant == "none")
    plan = plan.model_copy(
        update={
            "variants": {**plan.variants, "none": none},
            "work": plan.work.model_copy(update={"job": ()}),
            "slots": (slot,),
        }
    )
    run = run_of(replace(whole, plan=plan), machine_for(plan, Cache(), Quiet()))
    (boot,) = run.boots
    assert boot.facts.status == "ok", boot.facts.error
    return boot
