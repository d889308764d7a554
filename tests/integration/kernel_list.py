"""The kernels that may be built, by tests/kernels.toml, and which were asked for."""

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from temper.arch import arch_named
from temper.catalog import Feature, feature_named
from temper.kernel import Cache, KernelSpec, find_source
from temper.paths import REPOSITORY
from temper.record.plan import USUAL_BASE, KernelPlan
from temper.run.audit import twin_kernels
from temper.run.events import plan_events
from temper.run.planner import Planner
from temper.run.stress import plan_stress

LIST = REPOSITORY / "tests" / "kernels.toml"
TWINS_SERIES = "6.12"


def as_hardened(feature: Feature, variant: str) -> Feature:
    """Return the feature with the kernel of a variant as the one it is led through."""
    hardened, given = feature.hardened[0], feature.all_variants[variant]
    own = feature.variants[hardened].model_copy(
        update={"patches": given.patches, "config": given.config}
    )
    return feature.model_copy(update={"variants": {**feature.variants, hardened: own}})


@dataclass(frozen=True)
class Listed:
    """An entry of the list."""

    arch: str
    why: str
    features: tuple[str, ...] = ()
    """Whose series are in it, in that order."""
    variant: str = ""
    twin: str = ""
    """``off`` or ``on``: built for an audit; it has no feature, and no variant."""
    trial: str = ""
    """``events``, or the debug kernel of a stress: it has more options."""
    mutated: bool = False
    """With the options that mutants of the series have, which are the sabotages'."""
    first: int | None = None
    """So many patches of the series; None: all."""
    config: tuple[str, ...] = ()
    """Options in addition to the variant's."""
    base: str = USUAL_BASE
    again: bool = False
    """Built in another cache than the usual one."""
    check_all: bool = False
    """Only `make check-all` builds it."""

    def __str__(self) -> str:
        """Return what tells it from others."""
        part = f", first {self.first} patches" if self.first else ""
        again = ", again" if self.again else ""
        again += ", for mutants" if self.mutated else ""
        trial = f", {self.trial}" if self.trial else ""
        twin = f"twin {self.twin}" if self.twin else ""
        names = "+".join(self.features)
        config = "".join(f", {option}" for option in self.config)
        base = "" if self.base == USUAL_BASE else f", on {self.base}"
        what = f"{names} {self.variant}{base}{part}{config}{trial}{again}"
        return f"{self.arch} {twin or what}"

    @property
    def asked(self) -> "Asked":
        if self.twin:
            planner = Planner(arch_named(self.arch), Cache())
            source = planner.source_of(TWINS_SERIES)
            return Asked(twin_kernels(planner, source)[f"twin {self.twin}"].key, False)
        if self.trial:
            return Asked(self._planned().key, self.again)
        features = [feature_named(name).for_arch(self.arch) for name in self.features]
        variants = [(each, each.all_variants[self.variant]) for each in features]
        patches = [path for each, variant in variants for path in each.patches(variant)]
        cache = Cache()
        spec = KernelSpec(
            arch=arch_named(self.arch),
            source=find_source(None, features[0].series, cache),
            patches=tuple(patches[: self.first]),
            options=tuple(
                option
                for each, variant in variants
                for option in (
                    *each.options(variant, self.base),
                    *(each.sabotage.config if self.mutated else ()),
                )
            )
            + tuple(self.config),
            base=self.base,
        )
        return Asked(spec.key(), self.again)

    def _planned(self) -> KernelPlan:
        """Return the kernel as events and stress plan it, which is for one variant."""
        (feature,) = map(feature_named, self.features)
        feature = as_hardened(feature.for_arch(self.arch), self.variant)
        planner = Planner(arch_named(self.arch), Cache())
        if self.trial == "events":
            # One that needs nothing of the host.
            plan = plan_events(planner, feature, ("reboot",))
        else:
            plan = plan_stress(planner, feature, 1, (self.trial,))
        return next(iter(plan.variants.values())).kernel


@dataclass(frozen=True)
class Asked:
    """What tells one kernel from another here."""

    key: str
    again: bool


@dataclass
class Kernels:
    """Lets kernels that are listed be built, and notes which of them were asked for."""

    all_of_it: bool = True
    """Whether make check-all runs; make check has no time for all kernels."""
    listed: dict[Asked, Listed] = field(default_factory=dict)
    asked: dict[Asked, Listed] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Read the list."""
        for each in listed_kernels():
            asked = each.asked
            assert asked not in self.listed, f"{LIST} has it twice: {each}"
            self.listed[asked] = each

    def ask(self, key: str, title: str, root: Path) -> None:
        """Note it; raise AssertionError if it is not on the list, or not for now."""
        asked = Asked(key, root != Cache().root)
        assert asked in self.listed, (
            f"{title} is a kernel that {LIST} does not have; does none of those do?"
        )
        found = self.listed[asked]
        assert self.all_of_it or not found.check_all, (
            f"{found} is a kernel that only make check-all builds, by {LIST}"
        )
        self.asked[asked] = found


def listed_kernels() -> list[Listed]:
    """Return all entries of the list."""
    entries: list[dict[str, Any]] = tomllib.loads(LIST.read_text())["kernel"]
    return [Listed(**entry) for entry in entries]
