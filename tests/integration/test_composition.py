"""All series in one kernel: it builds, boots, and every feature holds there."""

import pytest
from lab import new_machine, planner, prepared, run_of

from temper.analysis.proof import proof_report
from temper.arch import arch_named
from temper.catalog import Feature, Variant, feature_named, feature_names

pytestmark = [pytest.mark.integration, pytest.mark.timeout(3600)]

FEATURES = [feature_named(name) for name in feature_names()]
# Architecture -> feature -> a proof that tells on from off in seconds.
PROOFS = {
    "x86_64": {"kstack": "prediction", "kpkeys": "user-pte"},
    "arm64": {"kstack": "prediction", "scs-switch": "nmi", "kpkeys": "user-pte"},
}
TRIED = [(arch, name) for arch, proofs in PROOFS.items() for name in proofs]


def on(arch: str) -> list[Feature]:
    """Return the features that an architecture has, as they are there."""
    return [each.for_arch(arch) for each in FEATURES if arch in each.architectures]


def with_all_series(feature: Feature, arch: str) -> Feature:
    """Return the feature with its control and ``temper`` on the kernel of all."""
    config = dict.fromkeys(
        option
        for each in on(arch)
        for option in (*each.config, *each.variants["temper"].config)
    )
    change = {
        "patches": tuple(
            str(each.folder / name)
            for each in on(arch)
            for name in each.variants["temper"].patches
        ),
        "config": tuple(config),
    }
    hardened = feature.variants["temper"].model_copy(update=change)
    variants = {feature.control: control(feature, change), "temper": hardened}
    return feature.model_copy(update={"config": (), "variants": variants})


def control(feature: Feature, change: dict[str, tuple[str, ...]]) -> Variant:
    """Return the control on the kernel of all, if a parameter is what makes it one."""
    own = feature.variants[feature.control]
    return own.model_copy(update=change) if own.cmdline else own


def test_every_feature_is_tried() -> None:
    for arch, proofs in PROOFS.items():
        assert set(proofs) == {feature.name for feature in on(arch)}


@pytest.mark.check_all
@pytest.mark.parametrize(("arch", "name"), TRIED)
def test_it_holds_beside_the_others(arch: str, name: str) -> None:
    feature = with_all_series(feature_named(name).for_arch(arch), arch)
    lab = arch_named(arch)
    plan = planner(lab).prove(feature, ["temper"], [PROOFS[arch][name]])
    report = proof_report(run_of(prepared(plan), new_machine(arch=lab)))
    assert report.proven, report
