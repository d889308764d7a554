"""Kernel code by the kernel's own rules: checkpatch.pl --strict."""

import functools
import subprocess
from pathlib import Path

import pytest

from temper.catalog import Feature, feature_named, feature_names
from temper.kernel import Cache, find_source
from temper.kernel.source import source_tree
from temper.paths import REPOSITORY
from temper.progress import Quiet

pytestmark = pytest.mark.integration

FEATURES = [feature_named(name) for name in feature_names()]
PATCHES = [
    (feature.series, path)
    for feature in FEATURES
    for path in sorted(feature.folder.rglob("*.patch"))
]


def module_files(feature: Feature) -> list[Path]:
    """Return the C files of modules, whatever folder they are in, and their headers."""
    sources = (
        file
        for file in feature.folder.rglob("*.c")
        if "MODULE_LICENSE" in file.read_text(encoding="utf-8")
    )
    return sorted(
        f for source in sources for f in source.parent.glob(f"{source.stem}.[ch]")
    )


MODULES = [
    (feature.series, file) for feature in FEATURES for file in module_files(feature)
]


@functools.cache
def kernel_tree(series: str) -> Path:
    cache = Cache()
    return source_tree(find_source(None, series, cache), cache, Quiet())


# Arm's registers have names like HFGxTR_EL2, and its headers of page tables, which
# all others include, cannot include more than an architecture's half of some.
ARM64_IGNORES = ("--ignore", "CAMELCASE,ARCH_INCLUDE_LINUX")


def checkpatch(series: str, *arguments: str | Path) -> str:
    """Return what checkpatch.pl of the kernel ``series`` objects to."""
    tree = kernel_tree(series)
    options = ("--strict", "--no-summary", "--terse", "--show-types")
    done = subprocess.run(
        [tree / "scripts" / "checkpatch.pl", *options, *arguments],
        cwd=tree,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stdout + done.stderr


def name(value: str | Path) -> str:
    return value if isinstance(value, str) else str(value.relative_to(REPOSITORY))


@pytest.mark.parametrize(("series", "patch"), PATCHES, ids=name)
def test_patches_are_clean(series: str, patch: Path) -> None:
    ignored = ARM64_IGNORES if patch.parent.name.endswith("-arm64") else ()
    assert checkpatch(series, *ignored, patch) == ""


@pytest.mark.parametrize(("series", "file"), MODULES, ids=name)
def test_modules_are_clean(series: str, file: Path) -> None:
    assert checkpatch(series, "--file", file) == ""


def test_a_fault_is_found(tmp_path: Path) -> None:
    bad = tmp_path / "bad.c"
    bad.write_text("int main (void)\n{\n    return 0 ;\n}\n")
    assert "SPACING" in checkpatch(FEATURES[0].series, "--file", bad)
