"""The series bisects: with each patch that comes on top, the kernel builds and boots.

And offsets are in force: no patch leaves the kernel without them for a while.
"""

import shutil
from pathlib import Path

import pytest
from lab import boots_of, planner, prepared

from temper.arch import Arch, arch_named
from temper.catalog import feature_named
from temper.kernel import Cache
from temper.kernel.tree import series_folder
from temper.machine.tcg import Tcg
from temper.progress import Quiet
from temper.run.prepare import Prepared

pytestmark = [
    pytest.mark.integration,
    pytest.mark.check_all,
    pytest.mark.timeout(3600),
]

FEATURE = feature_named("kstack")
SERIES = sorted(series_folder(FEATURE).glob("*.patch"))


def with_first(count: int, arch: Arch, folder: Path) -> Prepared:
    """Build ``temper`` with some patches of the series only; plan to look at it."""
    for patch in SERIES[:count]:
        shutil.copy(patch, folder)
    variant = FEATURE.variants["temper"].model_copy(update={"patches": (str(folder),)})
    feature = FEATURE.model_copy(
        update={"variants": FEATURE.variants | {"temper": variant}}
    )
    assert len(feature.patches(variant)) == count
    # The shortest one; what it finds is of no matter here.
    return prepared(planner(arch).prove(feature, ["temper"], ["early"]))


@pytest.mark.parametrize("count", range(1, len(SERIES) + 1))
@pytest.mark.parametrize("name", FEATURE.architectures)
def test_the_first_patches_build_boot_and_hold(
    name: str, count: int, tmp_path: Path
) -> None:
    arch = arch_named(name)
    whole = with_first(count, arch, tmp_path)
    (boot,) = boots_of(whole, Tcg(arch, Cache(), Quiet()), "temper")
    assert boot.facts.status == "ok", boot.facts.error
    assert boot.failures == []
    assert [check.on for check in boot.checks] == [True, True]
