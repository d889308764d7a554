"""scripts/setup installs what a run uses, down to the files that compilers open.

A machine on which something was once installed by hand does not show that it is not on
the list. Here the list is compared with the packages that what was used is of. What
apt would only recommend does not come with one, and so is not counted.
"""

from pathlib import Path

import pytest
from packages import closure, not_by_setup, owners, traced, used
from test_vgetrandom_bindings import CRATE
from vgetrandom import CROSS_FILES, SOURCE

from temper.process import call

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

PATIENCE = 300.0
EXAMPLE = SOURCE / "tests" / "example.c"
FOR_ARM64 = ("chacha20_vectors",)
# Compilers and sanitizers that meson knows of them.
SANITIZERS = {
    "gcc": ("address", "undefined", "thread"),
    "clang": ("address", "undefined", "thread", "memory"),
}


def packages_of(folder: Path, *commands: tuple[str | Path, ...]) -> set[str]:
    """Run commands; return what packages they used that setup does not install."""
    log = folder / "strace.log"
    for command in commands:
        done = call([*traced(log, "execve", "openat"), *command], SOURCE, PATIENCE)
        assert done.status == 0, "\n".join(done.lines)
    files = used(log)
    assert len(owners(files)) > 3, "hardly anything was seen"
    return not_by_setup(files)


@pytest.mark.parametrize(
    ("compiler", "sanitizer"),
    [(compiler, each) for compiler in SANITIZERS for each in SANITIZERS[compiler]],
)
def test_the_library_with_each_sanitizer(
    compiler: str, sanitizer: str, tmp_path: Path
) -> None:
    build = tmp_path / "build"
    setup = ("meson", "setup", "-Db_lundef=false", f"-Db_sanitize={sanitizer}")
    assert not packages_of(
        tmp_path,
        ("env", f"CC={compiler}", *setup, build, SOURCE),
        ("ninja", "-C", build, "tests/threads_no_key"),
    )


def test_the_library_for_arm64(tmp_path: Path) -> None:
    build, cross = tmp_path / "build", CROSS_FILES["arm64"]
    assert cross
    assert not packages_of(
        tmp_path,
        ("meson", "setup", "--cross-file", cross, build, SOURCE),
        ("meson", "test", "-C", build, *FOR_ARM64),
    )


@pytest.mark.parametrize("compiler", ["musl-gcc", "g++", "clang"])
def test_a_program_by_other_compilers(compiler: str, tmp_path: Path) -> None:
    language = ("-x", "c++") if compiler == "g++" else ()
    include = f"-I{SOURCE / 'include'}"
    output = tmp_path / "example.o"
    assert not packages_of(
        tmp_path, (compiler, *language, include, "-c", EXAMPLE, "-o", output)
    )


def test_the_crate(tmp_path: Path) -> None:
    cargo = ("env", f"CARGO_TARGET_DIR={tmp_path}", "cargo")
    crate = f"--manifest-path={CRATE / 'Cargo.toml'}"
    assert not packages_of(tmp_path, (*cargo, "clippy", "--locked", crate))


def test_a_package_that_is_only_recommended_does_not_count() -> None:
    """clang recommends its sanitizers."""
    assert "clang" in closure({"clang"})
    assert not {name for name in closure({"clang"}) if name.startswith("libclang-rt")}
