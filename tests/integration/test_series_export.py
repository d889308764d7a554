"""The features' series as commits and back: real patches on the files they change."""

import re
import shutil
from pathlib import Path

import pytest

from temper.catalog import feature_named, feature_names
from temper.kernel import Cache, find_source, source_tree
from temper.kernel.tree import export_series, make_tree, series_folder
from temper.progress import Quiet

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1800)]

# Without them git names other functions in the patches, or takes it for no source.
ALWAYS = ("Makefile", ".gitattributes")


def touched(patches: list[Path]) -> set[str]:
    """Return the files that ``patches`` change, those that they add as well."""
    return {
        name
        for patch in patches
        for name in re.findall(r"^--- a/(\S+)$", patch.read_text(), re.MULTILINE)
    }


@pytest.mark.parametrize("name", feature_names())
def test_a_tree_without_a_change_exports_nothing(name: str, tmp_path: Path) -> None:
    feature, cache = feature_named(name), Cache()
    whole = source_tree(find_source(None, feature.series, cache), cache, Quiet())
    before = sorted(series_folder(feature).glob("*.patch"))
    assert before
    part = tmp_path / "part"
    for file in (*ALWAYS, *touched(before)):
        if (whole / file).is_file():
            (part / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(whole / file, part / file)

    copy = feature.model_copy(update={"folder": tmp_path / name})
    shutil.copytree(series_folder(feature), series_folder(copy))
    source = find_source(part, feature.series, cache)
    made = make_tree(copy, tmp_path / "tree", source, cache, Quiet())
    assert len(made) == len(before)

    done = export_series(copy, tmp_path / "tree")
    assert (done.changed, done.removed) == ([], [])
    for patch in before:
        assert (series_folder(copy) / patch.name).read_bytes() == patch.read_bytes()
    assert len(done.patches) == len(before)
