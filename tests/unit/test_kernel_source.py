import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from kernels import FAKE_KERNEL, Watcher, change, fake_source, git

from temper.errors import InfraError, InputError
from temper.kernel import source
from temper.kernel.cache import Cache
from temper.kernel.source import find_source, source_tree
from temper.progress import Quiet


def pack(folder: Path, tarball: Path, how: str) -> Path:
    command: list[str | Path] = ["tar", how, "-cf", tarball]
    command += ["-C", folder.parent, folder.name]
    subprocess.run(command, check=True, timeout=60)
    return tarball


def files(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".git" not in path.parts
    }


@pytest.mark.parametrize(
    ("suffix", "how"), [(".xz", "-J"), (".gz", "-z"), (".bz2", "-j")]
)
def test_a_tarball_is_read_and_unpacked(suffix: str, how: str, tmp_path: Path) -> None:
    tarball = pack(FAKE_KERNEL, tmp_path / f"linux.tar{suffix}", how)
    cache = Cache(tmp_path / "cache")
    found = find_source(tarball, "6.12", cache)
    assert found.version == "6.12.99"
    assert files(source_tree(found, cache, Quiet())) == files(FAKE_KERNEL)


def test_a_tarball_is_hashed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tarball = pack(FAKE_KERNEL, tmp_path / "linux.tar.gz", "-z")
    cache = Cache(tmp_path / "cache")
    first = find_source(tarball, "6.12", cache)
    with monkeypatch.context() as patched:
        patched.delattr("hashlib.file_digest")
        assert find_source(tarball, "6.12", cache) == first
    with tarball.open("ab") as file:
        file.write(b"\0")
    assert find_source(tarball, "6.12", cache).digest != first.digest


def test_a_note_that_cannot_be_read_is_written_anew(tmp_path: Path) -> None:
    tarball = pack(FAKE_KERNEL, tmp_path / "linux.tar.gz", "-z")
    cache = Cache(tmp_path / "cache")
    first = find_source(tarball, "6.12", cache)
    for note in (tmp_path / "cache" / "digests").iterdir():
        note.write_text("{")
    assert find_source(tarball, "6.12", cache) == first


def test_the_digest_is_of_the_content_not_of_the_place(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    here, there = (fake_source(tmp_path / name) for name in ("here", "there"))
    digest = find_source(here, "6.12", cache).digest
    assert find_source(there, "6.12", cache).digest == digest
    change(there, "init/main.c", "return 1;", "return 7;")
    assert find_source(there, "6.12", cache).digest != digest


def test_a_clean_git_tree_is_its_commits_tree(tmp_path: Path) -> None:
    tree = fake_source(tmp_path / "tree")
    cache = Cache(tmp_path / "cache")
    git(tree, "init", "--quiet")
    git(tree, "add", "--all")
    git(tree, "commit", "--quiet", "--message", "all")
    head = git(tree, "rev-parse", "HEAD^{tree}")
    assert find_source(tree, "6.12", cache).digest == f"git:{head}"
    (tree / ".git" / "info" / "exclude").write_text("*.o\n")
    (tree / "built.o").write_text("")
    assert find_source(tree, "6.12", cache).digest == f"git:{head}"


def test_a_changed_git_tree_is_taken_as_it_is_and_left_so(tmp_path: Path) -> None:
    tree = fake_source(tmp_path / "tree")
    cache = Cache(tmp_path / "cache")
    git(tree, "init", "--quiet")
    git(tree, "add", "--all")
    git(tree, "commit", "--quiet", "--message", "all")
    change(tree, "init/main.c", "return 1;", "return 7;")
    (tree / "new.c").write_text("int new;\n")
    status, objects = git(tree, "status", "--short"), git(tree, "count-objects")
    found = find_source(tree, "6.12", cache)
    assert files(source_tree(found, cache, Quiet())) == files(tree)
    assert git(tree, "status", "--short") == status
    assert git(tree, "count-objects") == objects


def test_a_folder_that_changes_while_it_is_copied_is_refused(tmp_path: Path) -> None:
    tree = fake_source(tmp_path / "tree")
    cache = Cache(tmp_path / "cache")
    found = find_source(tree, "6.12", cache)
    change(tree, "init/main.c", "return 1;", "return 7;")
    with pytest.raises(InputError, match="changed while it was being read"):
        source_tree(found, cache, Quiet())
    assert cache.items() == []


def test_debians_package_is_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "DEBIAN_SOURCES", tmp_path)
    cache = Cache(tmp_path / "cache")
    with pytest.raises(InfraError, match=r"source of Linux 6\.12 is not inst") as error:
        find_source(None, "6.12", cache)
    assert error.value.hint == "apt-get install linux-source-6.12"
    pack(FAKE_KERNEL, tmp_path / "linux-source-6.12.tar.xz", "-J")
    assert find_source(None, "6.12", cache).version == "6.12.99"


def test_what_is_no_source_is_said(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    with pytest.raises(InputError, match="no source at"):
        find_source(tmp_path / "nothing", "6.12", cache)
    with pytest.raises(InputError, match="no Makefile"):
        find_source(tmp_path, "6.12", cache)
    (tmp_path / "Makefile").write_text("all:\n")
    with pytest.raises(InputError, match="has no VERSION"):
        find_source(tmp_path, "6.12", cache)
    (tmp_path / "linux.zip").write_text("")
    with pytest.raises(InputError, match=r"neither \.tar\.xz"):
        find_source(tmp_path / "linux.zip", "6.12", cache)
    (tmp_path / "linux.tar.xz").write_text("no xz")
    with pytest.raises(InputError, match="cannot be read"):
        find_source(tmp_path / "linux.tar.xz", "6.12", cache)


def test_a_folder_with_a_build_in_it_is_refused(tmp_path: Path) -> None:
    tree = fake_source(tmp_path / "tree")
    (tree / ".config").write_text("")
    with pytest.raises(InputError, match="contains a build") as error:
        find_source(tree, "6.12", Cache(tmp_path / "cache"))
    assert "mrproper" in error.value.hint


def test_a_tarball_cut_short_leaves_no_source(tmp_path: Path) -> None:
    big = fake_source(tmp_path / "big")
    (big / "zz").write_text("".join(f"{number}\n" for number in range(1_000_000)))
    tarball = pack(big, tmp_path / "linux.tar.gz", "-z")
    cache = Cache(tmp_path / "cache")
    found = find_source(tarball, "6.12", cache)
    with tarball.open("r+b") as file:
        file.truncate(tarball.stat().st_size // 2)
    with pytest.raises(InputError, match="cannot be unpacked"):
        source_tree(found, cache, Quiet())
    assert cache.items() == []


def test_unpacking_shows_how_far_it_is(tmp_path: Path) -> None:
    big = fake_source(tmp_path / "big")
    (big / "zz").write_bytes(b"0123456789" * 4_000_000)
    tarball = pack(big, tmp_path / "linux.tar.gz", "-z")
    cache, watcher = Cache(tmp_path / "cache"), Watcher()
    source_tree(find_source(tarball, "6.12", cache), cache, watcher)
    places = [done for done, _, _ in watcher.updates]
    assert places == sorted(places)
    assert 0 < places[-1] <= tarball.stat().st_size


def test_two_places_with_one_content_share_an_entry(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    found = find_source(fake_source(tmp_path / "a"), "6.12", cache)
    tree = source_tree(found, cache, Quiet())
    shutil.rmtree(tmp_path / "a")
    elsewhere = replace(found, path=fake_source(tmp_path / "b"))
    assert source_tree(elsewhere, cache, Quiet()) == tree
