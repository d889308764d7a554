"""``make demo``: what a stranger runs first must stay short, and tell what is left."""

import re

from documented import demo
from temper.catalog import Variant, feature_named
from temper.record.outcome import Outcome

KSTACK = feature_named("kstack")


def kernels(variants: list[Variant]) -> int:
    """Count the kernels that have to be built for ``variants``."""
    return len({(each.patches, each.config) for each in variants})


def chosen() -> list[str]:
    """Name the variants that both commands boot: baseline or control, and others."""
    named = re.findall(
        r"temper (\w+) kstack --(?:baseline|control) (\S+) --variants (\S+)", demo()
    )
    assert [command for command, _, _ in named] == ["prove", "price"]
    assert named[0][1:] == named[1][1:]
    _, other, names = named[0]
    return [other, *names.split(",")]


def test_it_needs_one_kernel_and_says_how_many_more_there_are() -> None:
    assert kernels([KSTACK.variants[name] for name in chosen()]) == 1
    more = kernels(list(KSTACK.variants.values())) - 1
    assert f"build {more} more kernels" in demo()


def test_it_proves_and_prices_our_series() -> None:
    found = re.search(r"--proofs (\S+)", demo())
    assert found
    proofs = found[1].split(",")
    without, ours = chosen()
    assert ours == KSTACK.hardened[0]
    assert KSTACK.expected(ours, *proofs) == Outcome.BLOCKED
    assert KSTACK.expected(without, *proofs) == Outcome.VULNERABLE


def test_it_says_how_to_see_ours_beside_the_kernels_own() -> None:
    found = re.search(r'"  \./temper price kstack --variants (\S+)"', demo())
    assert found
    variants = [KSTACK.variants[name] for name in found[1].split(",")]
    assert kernels([KSTACK.variants[KSTACK.baseline], *variants]) == 2
    assert not variants[0].patches
    assert "builds a second kernel" in demo()
