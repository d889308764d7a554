import shutil
from pathlib import Path

import pytest
from kernels import FAKE_KERNEL, Watcher, change, fake_source, make_patch

from temper.errors import SeriesError
from temper.kernel.series import apply_series
from temper.progress import Quiet

SECOND = ("init/main.c", "return 2;", "return 22;")
FOURTH = ("init/main.c", "FAKE_FOUR", "44")
CLOCK = ("drivers/clock.c", "return 0;", "return 9;")


def test_patches_apply_in_order(tmp_path: Path) -> None:
    tree = fake_source(tmp_path / "tree")
    one = make_patch(FAKE_KERNEL, tmp_path, "one", SECOND)
    change(fake_source(tmp_path / "with-one"), *SECOND)
    again = ("init/main.c", "return 22;", "return 222;")
    two = make_patch(tmp_path / "with-one", tmp_path, "two", again, CLOCK)
    assert apply_series(tree, [one, two], Quiet()) == ()
    assert "return 222;" in (tree / "init/main.c").read_text()
    assert "return 9;" in (tree / "drivers/clock.c").read_text()


def test_a_misfit_names_patch_file_and_hunk(tmp_path: Path) -> None:
    tree = fake_source(tmp_path / "tree")
    far = ("init/main.c", "#include <linux/fake.h>", "#include <linux/fake.h> // x")
    patch = make_patch(FAKE_KERNEL, tmp_path, "0001-x", CLOCK, far, FOURTH)
    change(tree, "init/main.c", "FAKE_FOUR", "four")
    with pytest.raises(SeriesError, match=r"0001-x.patch does not apply") as error:
        apply_series(tree, [patch], Quiet())
    assert "init/main.c: hunk 2 (line 18) does not match" in error.value.message
    assert "return 9;" not in (tree / "drivers/clock.c").read_text()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    tree = fake_source(tmp_path / "tree")
    patch = make_patch(FAKE_KERNEL, tmp_path, "0001-x", CLOCK)
    (tree / "drivers/clock.c").unlink()
    with pytest.raises(SeriesError, match=r"drivers/clock\.c: no such file"):
        apply_series(tree, [patch], Quiet())


def test_context_that_differs_is_no_fit(tmp_path: Path) -> None:
    """What ``patch`` would accept with fuzz."""
    tree = fake_source(tmp_path / "tree")
    patch = make_patch(FAKE_KERNEL, tmp_path, "0001-x", SECOND)
    change(tree, "init/main.c", "int third(void)", "int  third(void)")
    with pytest.raises(SeriesError, match="hunk 1"):
        apply_series(tree, [patch], Quiet())


def test_what_the_source_has_is_skipped_and_said(tmp_path: Path) -> None:
    tree = fake_source(tmp_path / "tree")
    patch = make_patch(FAKE_KERNEL, tmp_path, "0001-x", SECOND, CLOCK)
    change(tree, *SECOND)
    change(tree, *CLOCK)
    before = (tree / "init/main.c").read_text()
    watcher = Watcher()
    assert apply_series(tree, [patch], watcher) == (patch,)
    assert watcher.said == ["0001-x.patch: the source already has it"]
    assert (tree / "init/main.c").read_text() == before


def test_lines_that_repeat_are_not_added_twice(tmp_path: Path) -> None:
    pristine = fake_source(tmp_path / "pristine")
    (pristine / "list").write_text("a\nb\nc\nd\ne\nf\n" * 2)
    inserted = ("list", "c\nd\ne\nf\na\n", "c\nNEW\nd\ne\nf\na\n")
    patch = make_patch(pristine, tmp_path, "0001-x", inserted)
    apply_series(pristine, [patch], Quiet())
    after = (pristine / "list").read_text()
    assert after.count("NEW") == 1
    assert apply_series(pristine, [patch], Quiet()) == (patch,)
    assert (pristine / "list").read_text() == after


def test_a_tree_of_hard_links_leaves_the_original_alone(tmp_path: Path) -> None:
    pristine = fake_source(tmp_path / "pristine")
    before = (pristine / "init/main.c").read_text()
    tree = tmp_path / "tree"
    shutil.copytree(pristine, tree, copy_function=lambda a, b: Path(b).hardlink_to(a))
    moved = make_patch(FAKE_KERNEL, tmp_path, "0001-x", SECOND, CLOCK)
    apply_series(tree, [moved], Quiet())
    assert "return 22;" in (tree / "init/main.c").read_text()
    assert (pristine / "init/main.c").read_text() == before
    assert (pristine / "drivers/clock.c").samefile(tree / "drivers/clock.c") is False
