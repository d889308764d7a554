"""What a target is to do is packed so that a kernel can boot into it."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from temper.errors import InfraError
from temper.run.initramfs import pack, pack_for_kexec

JOB = ["channel /dev/ttyS1", "run syscall getpid 100 10"]


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def files(folder: Path, time: int = 0) -> list[Path]:
    folder.mkdir()
    paths = [folder / name for name in ("init", "syscall")]
    for path in paths:
        path.write_text(f"program {path.name}")
        os.utime(path, (time, time))
    return paths


def packed(folder: Path, given: list[Path], lines: list[str] = JOB) -> Path:
    folder.mkdir()
    return pack(lines, given, folder)


def test_everything_is_in_the_initramfs(tmp_path: Path) -> None:
    archive = packed(tmp_path / "a", files(tmp_path / "files"))
    with archive.open("rb") as stdin:
        listing = subprocess.run(
            ["cpio", "-itv", "--quiet"],
            stdin=stdin,
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"TZ": "UTC", "LC_ALL": "C"},
        ).stdout.splitlines()
    parts = [line.split() for line in listing]
    assert [(part[0], part[-1]) for part in parts] == [
        ("-rwxr-xr-x", "init"),
        ("-rw-r--r--", "job"),
        ("-rwxr-xr-x", "syscall"),
    ]
    assert {" ".join(part[-4:-1]) for part in parts} == {"Jan 1 1970"}
    assert b"\n".join(line.encode() for line in JOB) + b"\n" in archive.read_bytes()


def test_a_spacer_takes_pages_and_nothing_else_changes(tmp_path: Path) -> None:
    given = files(tmp_path / "files")
    without = unpacked(packed(tmp_path / "a", given))
    (tmp_path / "b").mkdir()
    spaced = unpacked(pack(JOB, given, tmp_path / "b", spacer=3))
    assert (spaced / "spacer").stat().st_size == 3 * 4096
    (spaced / "spacer").unlink()
    assert {path.name: path.read_bytes() for path in spaced.iterdir()} == {
        path.name: path.read_bytes() for path in without.iterdir()
    }


def test_a_kernel_can_kexec_into_itself(tmp_path: Path) -> None:
    image = tmp_path / "bzImage"
    image.write_text("a kernel")
    work = tmp_path / "a"
    work.mkdir()
    outer = unpacked(pack_for_kexec(image, files(tmp_path / "files"), work))
    assert sorted(path.name for path in outer.iterdir()) == [
        "init",
        "initramfs",
        "kernel",
        "syscall",
    ]
    assert (outer / "kernel").read_text() == "a kernel"
    assert not (outer / "kernel").is_symlink()
    inner = unpacked(outer / "initramfs")
    assert sorted(path.name for path in inner.iterdir()) == ["init", "syscall"]


def unpacked(archive: Path) -> Path:
    folder = archive.with_suffix(".unpacked")
    folder.mkdir()
    with archive.open("rb") as stdin:
        command = ["cpio", "-id", "--quiet"]
        subprocess.run(command, stdin=stdin, cwd=folder, check=True)
    return folder


def test_files_of_a_tree_and_texts_are_where_they_belong(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "usr" / "bin").mkdir(parents=True)
    (tree / "usr" / "bin" / "server").write_text("server")
    (tmp_path / "a").mkdir()
    texts = {"commands/db/get": "client /usr/bin/client\n"}
    given = files(tmp_path / "files")
    root = unpacked(pack(JOB, given, tmp_path / "a", trees=[tree], texts=texts))
    assert (root / "usr" / "bin" / "server").read_text() == "server"
    assert os.access(root / "usr" / "bin" / "server", os.X_OK)
    assert (root / "commands" / "db" / "get").read_text() == texts["commands/db/get"]
    assert (root / "job").read_text() == "\n".join(JOB) + "\n"
    assert (root / "init").read_text() == "program init"


@pytest.mark.usefixtures("umask")
def test_the_same_contents_give_the_same_bytes(tmp_path: Path) -> None:
    first = packed(tmp_path / "a", files(tmp_path / "files"))
    os.umask(0o077)
    other = files(tmp_path / "others", time=1_000_000_000)
    second = packed(tmp_path / "b", other[::-1])
    assert first.read_bytes() == second.read_bytes()


def test_another_job_gives_other_bytes(tmp_path: Path) -> None:
    given = files(tmp_path / "files")
    first = packed(tmp_path / "a", given)
    second = packed(tmp_path / "b", given, [*JOB, "run ctx pipe 100 10"])
    assert first.read_bytes() != second.read_bytes()


def test_without_cpio_its_package_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InfraError, match="'cpio' is missing") as caught:
        packed(tmp_path / "a", files(tmp_path / "files"))
    assert caught.value.hint == "apt-get install cpio"


def test_a_failing_cpio_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cpio").write_text("#!/bin/sh\necho cpio: write error >&2; exit 2\n")
    (tmp_path / "cpio").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(InfraError) as caught:
        packed(tmp_path / "a", files(tmp_path / "files"))
    assert caught.value.message == "cpio failed with status 2: cpio: write error"
