"""Digests of code: what counts as a change."""

from pathlib import Path

from temper.digest import code_digest


def test_every_file_counts_and_its_place(tmp_path: Path) -> None:
    seen = set()
    for change in (
        lambda: (tmp_path / "one.py").write_text("1"),
        lambda: (tmp_path / "one.py").write_text("2"),
        lambda: (tmp_path / "one.py").rename(tmp_path / "two.py"),
        (tmp_path / "deep").mkdir,
        lambda: (tmp_path / "two.py").rename(tmp_path / "deep" / "two.py"),
        (tmp_path / "deep" / "two.py").unlink,
    ):
        change()
        seen.add(code_digest(tmp_path))
    # Making a folder changes nothing.
    assert len(seen) == 5


def test_what_is_no_code_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("1")
    before = code_digest(tmp_path)
    (tmp_path / "README.md").write_text("words")
    (tmp_path / ".#one.py").symlink_to("someone@host.1234")
    (tmp_path / "folder.py").mkdir()
    assert code_digest(tmp_path) == before
