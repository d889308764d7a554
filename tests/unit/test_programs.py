"""How the programs of a target are built."""

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest

from temper.arch import arch_named
from temper.errors import BuildError
from temper.kernel import Cache
from temper.progress import Quiet
from temper.run import programs
from temper.run.programs import build_programs, target_programs
from temper.run.workloads import TARGET, all_workloads

PROGRAMS = {name.partition("/")[0] for name in all_workloads()}


def built(
    cache: Cache, arch: str = "x86_64", wanted: Iterable[str] = PROGRAMS
) -> list[Path]:
    planned = target_programs(arch_named(arch), wanted)
    return build_programs(planned, arch_named(arch), cache, Quiet())


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a copy of target/ in its place, to be changed."""
    copy = tmp_path / "target"
    shutil.copytree(TARGET, copy)
    monkeypatch.setattr(programs, "TARGET", copy)
    return copy


def test_programs_are_built_once(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    first = built(cache)
    assert {path.name for path in first} == {"init", *PROGRAMS}
    assert {path.name for path in built(cache, wanted=["ctx"])} == {"init", "ctx"}
    before = [path.stat().st_mtime_ns for path in first]
    second = built(cache)
    assert second == first
    assert [path.stat().st_mtime_ns for path in second] == before


def test_a_changed_source_is_built_anew(tmp_path: Path, target: Path) -> None:
    cache = Cache(tmp_path / "cache")
    before = built(cache)
    with (target / "sample.h").open("a") as file:
        file.write("/* changed */\n")
    assert built(cache) != before


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
    monkeypatch.setattr(programs, "compiler_version", lambda _arch: "12.2.0")
    with pytest.raises(BuildError) as caught:
        built(Cache(tmp_path / "cache"), arch)
    assert caught.value.hint == f"apt-get install {package}"


def test_a_program_that_does_not_build_shows_the_compiler(
    tmp_path: Path, target: Path
) -> None:
    (target / "init.c").write_text("int main(void) { return oops; }\n")
    cache = Cache(tmp_path / "cache")
    with pytest.raises(BuildError, match=r"init does not build:\n(.|\n)*oops"):
        built(cache)
    assert list((cache.root / "programs").glob("*")) == []
