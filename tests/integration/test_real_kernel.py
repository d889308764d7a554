"""Real kernels, from the source that Debian ships."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packages import not_by_setup, traced, used

from temper.arch import arch_named
from temper.catalog import feature_named
from temper.kernel import (
    Cache,
    Kernel,
    KernelSpec,
    build,
    build_module,
    builder,
    find_source,
)
from temper.process import Finished, call
from temper.progress import Quiet

pytestmark = [pytest.mark.integration, pytest.mark.timeout(3600)]

MODULE = """\
// SPDX-License-Identifier: GPL-2.0
#include <linux/bug.h>
#include <linux/module.h>

static int __init probe_init(void)
{
	return WARN_ON(!THIS_MODULE);
}
module_init(probe_init);
MODULE_DESCRIPTION("Does nothing");
MODULE_LICENSE("GPL");
"""


def kstack(cache: Cache) -> Kernel:
    feature = feature_named("kstack")
    source = find_source(None, feature.series, cache)
    spec = KernelSpec(arch_named("x86_64"), source, (), feature.config)
    return build(spec, cache, Quiet())


@pytest.fixture
def other_cache() -> Iterator[Cache]:
    """Make a cache in another folder, that shares source and objects."""
    usual = Cache()
    usual.root.mkdir(parents=True, exist_ok=True)
    # Beside the usual one: hard links do not reach into other file systems.
    with tempfile.TemporaryDirectory(dir=usual.root.parent, prefix="other-") as name:
        for shared in ("sources", "ccache"):
            (Path(name) / shared).symlink_to(usual.root / shared)
        yield Cache(Path(name))


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have builds write down what programs they start."""
    file = tmp_path / "strace.log"

    def logged(
        command: list[str | Path],
        cwd: Path,
        timeout: float,
        **how: Any,  # noqa: ANN401
    ) -> Finished:
        return call([*traced(file, "execve"), *command], cwd, timeout, **how)

    monkeypatch.setattr(builder, "call", logged)
    return file


@pytest.mark.check_all
def test_two_folders_give_the_same_bytes(other_cache: Cache, log: Path) -> None:
    usual, other = kstack(Cache()), kstack(other_cache)
    assert other.built
    assert {"bc", "flex", "perl"} <= {path.name for path in used(log)}
    assert not not_by_setup(used(log))
    assert other.key == usual.key
    for path in (usual.image, usual.config, usual.devel, usual.folder / "System.map"):
        assert (other.folder / path.name).read_bytes() == path.read_bytes(), path.name


def test_a_module_is_the_same_wherever_its_source_is(tmp_path: Path) -> None:
    cache = Cache()
    kernel = kstack(cache)
    built = []
    for number in ("one", "two"):
        source = tmp_path / number / "probe.c"
        source.parent.mkdir()
        source.write_text(MODULE)
        separate = Cache(tmp_path / number / "cache")
        built.append(build_module(kernel, source, separate, Quiet()).read_bytes())
    assert built[0] == built[1]
    assert b"vermagic=" + kernel.release.encode() in built[0]
