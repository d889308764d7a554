"""How the programs of a target are built."""

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest

from temper import workloads as table
from temper.arch import arch_named
from temper.catalog import feature_named
from temper.errors import BuildError
from temper.kernel import Cache
from temper.progress import Quiet
from temper.run import programs
from temper.run.programs import build_programs, proof_programs, workload_programs
from temper.workloads import TARGET, all_workloads, workloads

PROGRAMS = {workload.program for workload in workloads(all_workloads(), 100)}


def built(
    cache: Cache, arch: str = "x86_64", wanted: Iterable[str] = PROGRAMS
) -> list[Path]:
    described = arch_named(arch)
    return [
        path
        for planned in workload_programs(described, [*wanted])
        for path in build_programs(planned, described, cache, Quiet())
    ]


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a copy of target/ in its place, to be changed."""
    copy = tmp_path / "target"
    shutil.copytree(TARGET, copy)
    for module in (programs, table):
        monkeypatch.setattr(module, "TARGET", copy)
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


def test_a_changed_header_that_proofs_share_is_built_anew(target: Path) -> None:
    arch, feature = arch_named("x86_64"), feature_named("kstack")
    before = proof_programs(arch, feature).key
    with (target / "task.h").open("a") as file:
        file.write("/* changed */\n")
    assert proof_programs(arch, feature).key != before


def test_a_workload_of_a_feature_is_built_anew_with_what_it_shares(
    target: Path,
) -> None:
    arch = arch_named("x86_64")
    (_, before) = workload_programs(arch, ["generator"])
    with (target / "sample.c").open("a") as file:
        file.write("/* changed */\n")
    (_, after) = workload_programs(arch, ["generator"])
    assert before.wanted == after.wanted == ("generator",)
    assert before.key != after.key


def test_programs_are_the_same_from_any_checkout(tmp_path: Path) -> None:
    arch, made = arch_named("x86_64"), []
    for checkout in (tmp_path / "one", tmp_path / "another"):
        shared, proof = checkout / "target", checkout / "features" / "x" / "proof"
        for folder in (shared, proof):
            folder.mkdir(parents=True)
        (shared / "where.h").write_text("static const char where[] = __FILE__;\n")
        (proof / "attack.c").write_text(
            '#include <stdio.h>\n#include "where.h"\nint main(void) { puts(where); }\n'
        )
        sources = {"attack": ("attack.c",)}
        planned = programs.programs(arch, proof, sources, "proofs", include=[shared])
        (path,) = build_programs(planned, arch, Cache(checkout / "cache"), Quiet())
        made.append((planned.key, path.read_bytes()))
    assert made[0] == made[1]


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
