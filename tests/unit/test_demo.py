"""``make demo``: what a stranger runs first must stay short, and tell what is left."""

import re

from temper.catalog import Variant, feature_named
from temper.paths import REPOSITORY

KSTACK = feature_named("kstack")
RECIPE = re.search(
    r"^demo:.*\n((?:\t.*\n)+)", (REPOSITORY / "Makefile").read_text(), re.MULTILINE
)


def recipe() -> str:
    assert RECIPE
    return RECIPE[1]


def kernels(variants: list[Variant]) -> int:
    """Count the kernels that have to be built for ``variants``."""
    return len({(each.patches, each.config) for each in variants})


def test_it_needs_one_kernel_and_says_how_many_more_there_are() -> None:
    named = re.findall(r"temper (\w+) kstack --variants (\S+)", recipe())
    assert [command for command, _ in named] == ["prove", "price"]
    (names,) = {names for _, names in named}
    chosen = [KSTACK.variants[name] for name in names.split(",")]
    assert kernels(chosen) == 1
    more = kernels(list(KSTACK.variants.values())) - 1
    assert f"build {more} more kernels" in recipe()


def test_it_proves_something() -> None:
    found = re.search(r"--variants (\S+) --proofs (\S+)", recipe())
    assert found
    variants, proofs = (names.split(",") for names in found.groups())
    assert KSTACK.only(variants, proofs).hardened == ("stock",)
