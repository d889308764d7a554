"""Reasons for mutants that may survive: each is for a mutant that there is."""

import pytest
from lab import planner

from temper.arch import arch_named
from temper.catalog import feature_named
from temper.kernel import Cache
from temper.mutation import mutation_of
from temper.paths import FEATURES
from temper.progress import Quiet
from temper.run.mutate import Mutable
from temper.run.prepare import Workshop

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1200)]

GIVEN = sorted(path.parent.name for path in FEATURES.glob("*/mutants.toml"))


@pytest.mark.parametrize("name", GIVEN)
def test_no_reason_is_stale(name: str) -> None:
    feature = feature_named(name)
    arch = arch_named(feature.architectures[0])
    workshop = Workshop(arch, Cache(), Quiet())
    kernel = planner(arch).kernel(feature, feature.variants[feature.hardened[0]])
    mutable = Mutable.of(workshop.spec(kernel), workshop.cache, workshop.progress)
    assert mutation_of(feature, mutable.mutants).reasons.keys() <= set(mutable.mutants)
