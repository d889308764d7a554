"""No kernel is built that is not needed: tests/kernels.toml names them, and why."""

from pathlib import Path

import pytest
from kernel_list import LIST, Kernels

from temper.arch import arch_named
from temper.kernel import Cache, KernelSpec, build, find_source
from temper.progress import Quiet

pytestmark = pytest.mark.integration


def test_another_kernel_is_refused_before_it_is_built(tmp_path: Path) -> None:
    source = find_source(None, "6.12", Cache())
    spec = KernelSpec(arch_named("x86_64"), source, (), ("CONFIG_KUNIT=y",))
    with pytest.raises(AssertionError, match=f"a kernel that {LIST} does not have"):
        build(spec, Cache(tmp_path), Quiet())
    assert not (tmp_path / "sources").exists()


def test_make_check_has_no_time_for_the_kernels_of_make_check_all() -> None:
    few, everything = Kernels(all_of_it=False), Kernels(all_of_it=True)
    long = next(
        asked
        for asked, each in few.listed.items()
        if each.check_all and not asked.again
    )
    with pytest.raises(AssertionError, match="that only make check-all builds"):
        few.ask(long.key, "a kernel", Cache().root)
    everything.ask(long.key, "a kernel", Cache().root)
    assert everything.asked
