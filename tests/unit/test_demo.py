"""``make demo``: what a stranger runs first must stay short, and tell what is left."""

import re

from documented import demo
from temper.catalog import Variant, feature_named
from temper.record.outcome import Outcome

KSTACK = feature_named("kstack")


def kernels(variants: list[Variant]) -> int:
    """Count the kernels that have to be built for ``variants``."""
    return len({(each.patches, each.config) for each in variants})


def test_it_needs_two_kernels_and_says_how_many_more_there_are() -> None:
    named = re.findall(r"temper (\w+) kstack --variants (\S+)", demo())
    assert [command for command, _ in named] == ["prove", "price"]
    (names,) = {names for _, names in named}
    chosen = [KSTACK.variants[name] for name in (KSTACK.baseline, *names.split(","))]
    assert kernels(chosen) == 2
    more = kernels(list(KSTACK.variants.values())) - 2
    assert f"build {more} more kernels" in demo()


def test_it_proves_our_series_beside_the_kernels_own() -> None:
    found = re.search(r"--variants (\S+) --proofs (\S+)", demo())
    assert found
    variants, proofs = (names.split(",") for names in found.groups())
    part = KSTACK.only({KSTACK.control, *variants}, proofs)
    assert part.hardened == ("temper",)
    assert part.variants["stock"].expected(*proofs) == Outcome.BLOCKED
