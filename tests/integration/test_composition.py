"""All series in one kernel: it builds, boots, and every feature holds there."""

import pytest
from lab import new_machine, planner, prepared, run_of

from temper.analysis.proof import proof_report
from temper.catalog import Feature, feature_named, feature_names
from temper.kernel.tree import series_folder

pytestmark = [pytest.mark.integration, pytest.mark.timeout(3600)]

FEATURES = [feature_named(name) for name in feature_names()]
PATCHES = tuple(str(series_folder(feature)) for feature in FEATURES)
CONFIG = tuple(
    dict.fromkeys(
        option
        for feature in FEATURES
        for option in (*feature.config, *feature.variants["temper"].config)
    )
)
# Feature -> a proof that tells on from off in seconds.
PROOFS = {"kstack": "prediction", "kpkeys": "user-pte"}


def with_all_series(feature: Feature) -> Feature:
    """Return the feature with its control and ``temper`` on the kernel of all."""
    change = {"patches": PATCHES, "config": CONFIG}
    names = (feature.control, "temper")
    variants = {
        name: feature.variants[name].model_copy(update=change) for name in names
    }
    return feature.model_copy(update={"config": (), "variants": variants})


def test_every_feature_is_tried() -> None:
    assert set(PROOFS) == {feature.name for feature in FEATURES}


@pytest.mark.check_all
@pytest.mark.parametrize("name", PROOFS)
def test_it_holds_beside_the_others(name: str) -> None:
    feature = with_all_series(feature_named(name))
    plan = planner().prove(feature, ["temper"], [PROOFS[name]])
    report = proof_report(run_of(prepared(plan), new_machine()))
    assert report.proven, report
