from collections.abc import Callable
from pathlib import Path

import pytest
from kernels import FAKE_KERNEL, Watcher, change, fake_source, git, make_patch
from typer.testing import CliRunner

from temper.catalog import Feature
from temper.cli import app
from temper.cli import tree as cli
from temper.errors import InputError, SeriesError
from temper.kernel.cache import Cache
from temper.kernel.source import find_source
from temper.kernel.tree import Exported, export_series, make_tree, series_folder
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
    assert export_series(feature, tree) == Exported([], [], [])


def contents(feature: Feature) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in series_folder(feature).iterdir()}


def test_there_and_back_changes_nothing(
    feature: Feature, tmp_path: Path, cache: Cache
) -> None:
    paths = add(feature, tmp_path)
    before = contents(feature)
    tree = tmp_path / "tree"
    assert len(tree_of(feature, tree, cache, FAKE_KERNEL)) == 2
    assert git(tree, "log", "--format=%an %s") == (
        "T clock\nT first\nTemper Linux 6.12.99"
    )
    (tmp_path / ".gitconfig").write_text(
        "[diff]\n mnemonicPrefix = true\n[format]\n signoff = true\n"
    )
    assert export_series(feature, tree) == Exported(paths, [], [])
    assert contents(feature) == before


LONG = "A subject so long that git folds it in the header of the patch it writes"


@pytest.mark.parametrize(
    "options",
    [
        ["--numbered", "--signature=1.2.3"],
        ["--signature=2.39.5 (another git)", "--full-index"],
        ["--stat=40,10", "--subject-prefix=PATCH v2", "--zero-commit"],
    ],
)
def test_patches_that_another_git_wrote_are_left_alone(
    feature: Feature, tmp_path: Path, cache: Cache, options: list[str]
) -> None:
    tree = tmp_path / "tree"
    tree_of(feature, tree, cache, FAKE_KERNEL)
    for subject, edit in ((LONG, FIRST), ("clock\n\nWhy.\n", CLOCK)):
        change(tree, *edit)
        git(tree, "commit", "--quiet", "--all", "--message", subject)
    series = str(series_folder(feature))
    git(tree, "format-patch", "--quiet", *options, "--output-directory", series, "base")
    before = contents(feature)
    assert len(before) == 2
    done = export_series(feature, tree)
    assert (done.changed, done.removed) == ([], [])
    assert contents(feature) == before


def reworded(tree: Path) -> None:
    git(tree, "commit", "--quiet", "--amend", "--message", "clock\n\nBecause.")


def of_another_author(tree: Path) -> None:
    git(tree, "commit", "--quiet", "--amend", "--no-edit", "--author", "U <u@b.org>")


def indented(tree: Path) -> None:
    """Only spaces differ, which git's own patch-id does not see."""
    change(tree, "drivers/clock.c", "return 9;", "return  9;")
    git(tree, "commit", "--quiet", "--all", "--amend", "--no-edit")


def with_a_mode(tree: Path) -> None:
    (tree / "drivers/clock.c").chmod(0o755)
    git(tree, "commit", "--quiet", "--all", "--amend", "--no-edit")


@pytest.mark.parametrize("edit", [reworded, of_another_author, indented, with_a_mode])
def test_export_writes_only_what_changed(
    feature: Feature,
    tmp_path: Path,
    cache: Cache,
    edit: Callable[[Path], None],
) -> None:
    add(feature, tmp_path)
    before = contents(feature)
    tree_of(feature, tmp_path / "tree", cache, FAKE_KERNEL)
    edit(tmp_path / "tree")
    done = export_series(feature, tmp_path / "tree")
    assert (done.changed, done.removed) == (["0002-clock.patch"], [])
    after = contents(feature)
    assert after["0001-first.patch"] == before["0001-first.patch"]
    assert after["0002-clock.patch"] != before["0002-clock.patch"]
    tree_of(feature, tmp_path / "again", cache, FAKE_KERNEL)
    trees = [
        git(tmp_path / name, "rev-parse", "HEAD^{tree}") for name in ("tree", "again")
    ]
    assert trees[0] == trees[1]
    assert git(tmp_path / "again", "log", "-1", "--format=%an%B") == git(
        tmp_path / "tree", "log", "-1", "--format=%an%B"
    )


def test_a_patch_that_moved_keeps_its_content(
    feature: Feature, tmp_path: Path, cache: Cache
) -> None:
    add(feature, tmp_path)
    before = contents(feature)
    tree = tmp_path / "tree"
    tree_of(feature, tree, cache, FAKE_KERNEL)
    git(tree, "reset", "--quiet", "--hard", "base")
    git(tree, "cherry-pick", "master@{1}")
    done = export_series(feature, tree)
    assert (done.changed, done.removed) == (
        ["0001-clock.patch"],
        ["0001-first.patch", "0002-clock.patch"],
    )
    assert contents(feature) == {"0001-clock.patch": before["0002-clock.patch"]}


def test_export_removes_what_is_no_longer_in_the_series(
    feature: Feature, tmp_path: Path, cache: Cache
) -> None:
    add(feature, tmp_path)
    tree_of(feature, tmp_path / "tree", cache, FAKE_KERNEL)
    git(tmp_path / "tree", "reset", "--quiet", "--hard", "HEAD~1")
    done = export_series(feature, tmp_path / "tree")
    assert [patch.name for patch in done.patches] == ["0001-first.patch"]
    assert (done.changed, done.removed) == ([], ["0002-clock.patch"])
    assert len(list(series_folder(feature).iterdir())) == 1


def test_the_program_says_what_it_wrote(
    feature: Feature, tmp_path: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli, "feature_named", lambda name: feature)
    add(feature, tmp_path)
    tree = tmp_path / "tree"
    tree_of(feature, tree, cache, FAKE_KERNEL)

    def said() -> str:
        done = CliRunner().invoke(app, ["kernel", "export", "f", str(tree)])
        assert done.exit_code == 0
        return done.output

    assert said() == "f: nothing changed\n"
    reworded(tree)
    assert said() == "wrote 0002-clock.patch\n"
    assert said() == "f: nothing changed\n"
    git(tree, "reset", "--quiet", "--hard", "HEAD~1")
    assert said() == "removed 0002-clock.patch\n"


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
