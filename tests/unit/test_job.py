"""What a target is told to do, and what it is packed into."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from temper.arch import arch_named
from temper.errors import BuildError, InfraError, InputError
from temper.kernel import Cache
from temper.progress import Quiet
from temper.run import job
from temper.run.job import (
    all_workloads,
    common_workloads,
    pack,
    target_programs,
    workloads,
)

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


def test_workloads_are_sized_from_one_number() -> None:
    sized = workloads(("syscall/getpid", "ctx/pipe"), 100_000)
    assert [workload.line for workload in sized] == [
        "run syscall getpid 100000 10000",
        "run ctx pipe 2000 200",
    ]
    assert workloads(("ctx/pipe",), 100)[0].samples == 100
    assert workloads(("vmalloc/p1",), 100)[0].line == "run vmalloc p1 3 1"


def test_all_workloads_can_be_asked_for() -> None:
    assert "syscall/getppid" in all_workloads()
    assert len(workloads(all_workloads(), 1000)) == len(all_workloads())


def test_what_takes_long_or_tells_nothing_of_a_kernel_is_asked_for() -> None:
    programs = {workload.program for workload in workloads(common_workloads(), 100)}
    assert programs == {"syscall", "ctx"}


def test_a_workload_says_what_else_it_needs() -> None:
    named = ("syscall/getpid", "vmalloc/p1", "build/cc")
    assert [(each.module, each.compiles) for each in workloads(named, 100)] == [
        ("", ""),
        ("vmalloc_test.c", ""),
        ("", "init.c"),
    ]


def test_the_words_are_those_of_the_programs() -> None:
    """As they stand in the sources: a word without a table entry is never run."""
    for name in all_workloads():
        program, word = name.split("/")
        assert f'"{word}"' in (job.TARGET / f"{program}.c").read_text()


@pytest.mark.parametrize("name", ["syscall/fork", "fork", "syscall/", "", "a/b/c"])
def test_an_unknown_workload_is_refused(name: str) -> None:
    with pytest.raises(InputError) as caught:
        workloads((name,), 1000)
    assert caught.value.message == f"unknown workload '{name}'"
    assert caught.value.hint.startswith("known: syscall/getpid, ")


@pytest.mark.parametrize("calls", [99, 0, -1])
def test_too_few_calls_are_refused(calls: int) -> None:
    with pytest.raises(InputError) as caught:
        workloads(("syscall/getpid",), calls)
    assert caught.value.message == f"{calls} calls are too few"
    assert caught.value.hint == "give at least 100"


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


def test_host_files_keep_their_path(tmp_path: Path) -> None:
    library = tmp_path / "lib" / "deep" / "libc.so"
    library.parent.mkdir(parents=True)
    library.write_text("library")
    link = library.with_name("libc.so.6")
    link.symlink_to(library)
    (tmp_path / "a").mkdir()
    archive = pack(JOB, files(tmp_path / "files"), tmp_path / "a", [link])
    unpacked = tmp_path / "unpacked"
    unpacked.mkdir()
    with archive.open("rb") as stdin:
        subprocess.run(["cpio", "-i", "--quiet"], stdin=stdin, cwd=unpacked, check=True)
    found = unpacked / link.relative_to("/")
    assert (found.read_text(), found.is_symlink()) == ("library", False)
    assert sorted(path.name for path in unpacked.iterdir()) == [
        *("init", "job", "syscall", link.parts[1])
    ]


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


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a copy of target/ in its place, to be spoilt."""
    copy = tmp_path / "target"
    shutil.copytree(job.TARGET, copy)
    monkeypatch.setattr(job, "TARGET", copy)
    return copy


def test_programs_are_built_once(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    first = target_programs(arch_named("x86_64"), cache, Quiet())
    programs = {name.partition("/")[0] for name in all_workloads()}
    assert {path.name for path in first} == {"init", *programs}
    before = [path.stat().st_mtime_ns for path in first]
    second = target_programs(arch_named("x86_64"), cache, Quiet())
    assert second == first
    assert [path.stat().st_mtime_ns for path in second] == before


def test_a_changed_source_is_built_anew(tmp_path: Path, target: Path) -> None:
    cache = Cache(tmp_path / "cache")
    before = target_programs(arch_named("x86_64"), cache, Quiet())
    with (target / "sample.h").open("a") as file:
        file.write("/* changed */\n")
    assert target_programs(arch_named("x86_64"), cache, Quiet()) != before


@pytest.mark.parametrize(
    ("arch", "package"),
    [("x86_64", "libc6-dev"), ("arm64", "libc6-dev-arm64-cross")],
)
def test_without_a_static_libc_its_package_is_named(
    arch: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    described = arch_named(arch)
    compiler = tmp_path / described.compiler
    compiler.write_text("#!/bin/sh\necho ld: cannot find -lc; exit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(job, "compiler_version", lambda _arch: "12.2.0")
    with pytest.raises(BuildError) as caught:
        target_programs(described, Cache(tmp_path / "cache"), Quiet())
    assert caught.value.hint == f"apt-get install {package}"


def test_a_program_that_does_not_build_shows_the_compiler(
    tmp_path: Path, target: Path
) -> None:
    (target / "init.c").write_text("int main(void) { return oops; }\n")
    cache = Cache(tmp_path / "cache")
    with pytest.raises(BuildError, match=r"init does not build:\n(.|\n)*oops"):
        target_programs(arch_named("x86_64"), cache, Quiet())
    assert list((cache.root / "programs").glob("*")) == []
