"""The files that the host's C compiler is made of."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from temper.arch import arch_named
from temper.errors import InfraError, InputError
from temper.run.toolchain import compiler_files

X86_64 = arch_named("x86_64")
SOURCE = """\
#include <stdio.h>

int main(void)
{
	puts("built");
	return 0;
}
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "hello.c"
    path.write_text(SOURCE)
    return path


def test_it_compiles_with_these_files_alone(source: Path, tmp_path: Path) -> None:
    """In a root of its own, as in a guest."""
    root = tmp_path / "root"
    for file in compiler_files(X86_64, source):
        place = root / file.relative_to("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, place)
    (root / "tmp").mkdir()
    shutil.copy(source, root)
    flags = ("-std=gnu11", "-O2", "-static", "-fno-use-linker-plugin")
    command = ("gcc", *flags, "-o", "/hello", "/hello.c")
    done = subprocess.run(
        ["unshare", "--map-root-user", "chroot", root, *command],
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = subprocess.run(
        [root / "hello"], capture_output=True, text=True, timeout=60, check=True
    )
    assert said.stdout == "built\n"


def test_the_paths_are_plain(source: Path) -> None:
    files = compiler_files(X86_64, source)
    assert list(files) == sorted(set(files))
    for file in files:
        assert file.is_absolute()
        assert ".." not in file.parts
    assert source not in files


def test_a_compiler_for_another_cpu_cannot_go_there(source: Path) -> None:
    with pytest.raises(InputError) as caught:
        compiler_files(arch_named("arm64"), source)
    assert caught.value.message == "this host's C compiler for arm64 cannot run on it"


def test_a_missing_program_is_named(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("gcc", "setpriv"):
        (folder / name).symlink_to(str(shutil.which(name)))
    monkeypatch.setenv("PATH", str(folder))
    with pytest.raises(InfraError) as caught:
        compiler_files(X86_64, source)
    assert caught.value.message == "the program 'as' is missing"
    assert caught.value.hint == "apt-get install binutils"
