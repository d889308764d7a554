"""The plugins build for every QEMU, whether it is installed here or not."""

from pathlib import Path

import pytest

from temper.arch import arch_named
from temper.kernel import Cache
from temper.machine.plugin import LEVELS, PLUGINS, build_plugin
from temper.progress import Quiet


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", PLUGINS)
def test_a_plugin_builds(name: str, level: int, tmp_path: Path) -> None:
    arch, cache = arch_named("x86_64"), Cache(tmp_path)
    plugin = build_plugin(name, arch, level, cache, Quiet())
    assert plugin.name == f"{name}.so"
    assert b"qemu_plugin_install" in plugin.read_bytes()
