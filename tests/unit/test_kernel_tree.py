from pathlib import Path

import pytest
from kernels import FAKE_KERNEL, Watcher, change, fake_source, git, make_patch

from temper.catalog import Feature
from temper.errors import InputError, SeriesError
from temper.kernel.cache import Cache
from temper.kernel.source import find_source
from temper.kernel.tree import export_series, make_tree, series_folder
from temper.progress import Quiet

FIRST = ("init/main.c", "return 1;", "return 11;")
CLOCK = ("drivers/clock.c", "return 0;", "return 9;")


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


@pytest.fixture
def feature(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Feature:
    # A fresh machine: git knows nobody's name.
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("EMAIL", raising=False)
    folder = tmp_path / "feature"
    (folder / "patches" / "6.12").mkdir(parents=True)
    return Feature.model_construct(name="f", series="6.12", folder=folder)


def tree_of(feature: Feature, folder: Path, cache: Cache, source: Path) -> list[Path]:
    found = find_source(source, "6.12", cache)
    return make_tree(feature, folder, found, cache, Quiet())


def add(feature: Feature, tmp_path: Path) -> list[Path]:
    paths = []
    for name, edit in (("0001-first", FIRST), ("0002-clock", CLOCK)):
        patch = make_patch(FAKE_KERNEL, tmp_path, name[5:], edit)
        paths.append(patch.rename(series_folder(feature) / f"{name}.patch"))
    return paths


def test_a_feature_without_patches_is_the_source(
    feature: Feature, tmp_path: Path, cache: Cache
) -> None:
    tree = tmp_path / "tree"
    assert tree_of(feature, tree, cache, FAKE_KERNEL) == []
    assert (
        git(tree, "log", "--format=%s %D") == "Linux 6.12.99 HEAD -> master, tag: base"
    )
    assert export_series(feature, tree) == []


def test_there_and_back_is_the_same(
    feature: Feature, tmp_path: Path, cache: Cache
) -> None:
    add(feature, tmp_path)
    assert len(tree_of(feature, tmp_path / "one", cache, FAKE_KERNEL)) == 2
    assert git(tmp_path / "one", "log", "--format=%an %s") == (
        "T clock\nT first\nTemper Linux 6.12.99"
    )
    first = {p.name: p.read_bytes() for p in export_series(feature, tmp_path / "one")}
    assert list(first) == ["0001-first.patch", "0002-clock.patch"]
    tree_of(feature, tmp_path / "two", cache, FAKE_KERNEL)
    (tmp_path / ".gitconfig").write_text(
        "[diff]\n mnemonicPrefix = true\n[format]\n signoff = true\n"
    )
    again = {p.name: p.read_bytes() for p in export_series(feature, tmp_path / "two")}
    assert again == first
    assert {p.name for p in series_folder(feature).iterdir()} == set(first)


def test_export_removes_what_is_no_longer_in_the_series(
    feature: Feature, tmp_path: Path, cache: Cache
) -> None:
    add(feature, tmp_path)
    tree_of(feature, tmp_path / "tree", cache, FAKE_KERNEL)
    git(tmp_path / "tree", "reset", "--quiet", "--hard", "HEAD~1")
    assert [p.name for p in export_series(feature, tmp_path / "tree")] == [
        "0001-first.patch"
    ]
    assert len(list(series_folder(feature).iterdir())) == 1


def test_writing_in_the_tree_leaves_the_cache_alone(
    feature: Feature, tmp_path: Path, cache: Cache
) -> None:
    tree_of(feature, tmp_path / "tree", cache, FAKE_KERNEL)
    (tmp_path / "tree" / "init" / "main.c").write_text("broken")
    assert cache.verify() == []


def test_a_folder_in_use_is_not_touched(
    feature: Feature, tmp_path: Path, cache: Cache
) -> None:
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "mine").write_text("mine")
    with pytest.raises(InputError, match="is not empty"):
        tree_of(feature, tmp_path / "used", cache, FAKE_KERNEL)
    assert (tmp_path / "used" / "mine").read_text() == "mine"


def test_a_patch_that_does_not_apply_leaves_the_tree_to_mend_it_in(
    feature: Feature, tmp_path: Path, cache: Cache
) -> None:
    add(feature, tmp_path)
    source = fake_source(tmp_path / "source")
    change(source, "drivers/clock.c", "return 0;", "return 5;")
    with pytest.raises(SeriesError, match=r"0002-clock.patch .* hunk 1") as error:
        tree_of(feature, tmp_path / "tree", cache, source)
    assert "git -C" in error.value.hint
    assert git(tmp_path / "tree", "log", "--format=%s") == "first\nLinux 6.12.99"


def test_export_does_not_lose_what_the_source_had_already(
    feature: Feature, tmp_path: Path, cache: Cache
) -> None:
    add(feature, tmp_path)
    source = fake_source(tmp_path / "source")
    change(source, *FIRST)
    found, watcher = find_source(source, "6.12", cache), Watcher()
    made = make_tree(feature, tmp_path / "tree", found, cache, watcher)
    assert [patch.name for patch in made] == ["0002-clock.patch"]
    assert watcher.said == ["0001-first.patch: the source already has it"]
    with pytest.raises(InputError, match=r"already had 0001-first.patch"):
        export_series(feature, tmp_path / "tree")
    assert len(list(series_folder(feature).iterdir())) == 2


def test_export_refuses_work_that_is_not_committed(
    feature: Feature, tmp_path: Path, cache: Cache
) -> None:
    tree_of(feature, tmp_path / "tree", cache, FAKE_KERNEL)
    change(tmp_path / "tree", *FIRST)
    with pytest.raises(InputError, match="uncommitted"):
        export_series(feature, tmp_path / "tree")


def test_export_wants_a_tree_of_ours(feature: Feature, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a git tree"):
        export_series(feature, tmp_path)
    other = fake_source(tmp_path / "other")
    git(other, "init", "--quiet")
    git(other, "add", "--all")
    git(other, "commit", "--quiet", "--message", "x")
    with pytest.raises(InputError, match="HEAD is not based on a tag 'base'"):
        export_series(feature, other)
