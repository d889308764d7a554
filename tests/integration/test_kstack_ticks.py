"""Keys are replaced in time, however long the tick is, and if it stops.

What a busy host makes late is allowed for; `leak` allows 6 ms more than promised.

The lab's kernels have a tick of 10 ms; one kernel more for each other length stops it
or not, by a boot option.
"""

import math

import pytest
from kunit import kunit_results
from lab import new_machine, planner, prepared, run_of

from temper.analysis.proof import proof_report
from temper.catalog import Feature, feature_named

pytestmark = [
    pytest.mark.integration,
    pytest.mark.check_all,
    pytest.mark.timeout(3600),
]

FEATURE = feature_named("kstack")
# Variant -> the option by which the tick goes on, stops in idle, or on a busy CPU too.
STOPS = {"periodic": "nohz=off", "idle": "nohz=on", "full": "nohz_full=1"}


def feature_at(hz: int) -> Feature:
    """Return the feature on a kernel with so many ticks a second, which can stop."""
    config = (
        *("CONFIG_HZ_100=n", f"CONFIG_HZ_{hz}=y"),
        *("CONFIG_HZ_PERIODIC=n", "CONFIG_NO_HZ_FULL=y"),
    )
    off, on = (
        FEATURE.variants[name].model_copy(update={"config": config})
        for name in ("temper-off", "temper")
    )
    tried = {
        name: on.model_copy(update={"cmdline": f"{on.cmdline} {option}"})
        for name, option in STOPS.items()
    }
    changes = {
        "variants": {"temper-off": off, **tried},
        "sabotages": {},
        "baseline": "temper-off",
        "control": "temper-off",
        "hardened": tuple(tried),
    }
    return FEATURE.model_copy(update=changes)


@pytest.mark.parametrize("hz", [250, 1000])
def test_nobody_lives_long_on_a_key_where_ticks_are_shorter(hz: int) -> None:
    plan = planner().prove(feature_at(hz), (), ["leak", "seeds"])
    report = proof_report(run_of(prepared(plan), new_machine()))
    said = {v: [f.reasons for f in e.values()] for v, e in report.evidence.items()}
    assert report.proven, said
    late_ms = FEATURE.proofs["leak"].params["late_ms"]
    for name in STOPS:
        figures = report.evidence[name]["leak"].figures
        assert figures["bound_ms"] == math.ceil(10 + 1000 / hz + late_ms)


@pytest.mark.parametrize("hz", [250, 1000])
def test_a_key_serves_no_longer_than_promised_after_a_sleep(hz: int) -> None:
    """In jiffies that the guest sees come: many at once count as one."""
    config = ("CONFIG_HZ_100=n", f"CONFIG_HZ_{hz}=y")
    none = FEATURE.sabotages["none"]
    none = none.model_copy(update={"config": (*none.config, *config)})
    feature = FEATURE.model_copy(
        update={"sabotages": {**FEATURE.sabotages, "none": none}}
    )
    whole = prepared(planner().prove(feature, ["none"], ["early"]))
    found = kunit_results(whole, "randomize_kstack", "randomize_kstack_offset=on")
    assert found["test_keys"] == "ok"
