"""No kernel is built that is not needed: tests/kernels.toml names them, and why."""

from pathlib import Path

import pytest
from kernel_list import LIST

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
