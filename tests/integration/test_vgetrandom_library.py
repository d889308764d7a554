"""libvgetrandom as its users meet it: built, tested, installed, preloaded."""

import json
import platform
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from lab import params
from vgetrandom import CROSS_FILES, SOURCE

from temper import process

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1800)]

QUICK = 60.0
BUILD = 600.0
TESTS = 900.0
"""Seconds until a call is given up."""
GREEN = {"OK", "EXPECTEDFAIL"}
"""What ``meson test`` calls a test that passed, and a control that had to fail."""

HEADER = (SOURCE / "include" / "vgetrandom.h").read_text()
PUBLIC = re.findall(r"^[\w ]+[ *](vgetrandom\w*)\(", HEADER, re.MULTILINE)
PRELOADED = [
    "arc4random",
    "arc4random_buf",
    "arc4random_uniform",
    "getentropy",
    "getrandom",
]
EXAMPLE = SOURCE / "tests" / "example.c"
PROGRAM = SOURCE / "tests" / "preload_functions.c"
SANDBOX = SOURCE / "tests" / "preload_sandbox.c"
DRAWS = 5000
"""By all functions of that program together."""
SEEDS = 8
"""System calls of a process that are not draws: the key of its state, which the kernel
renews once a minute, what libc draws for itself, and a probe that the program does."""


def call(*command: str | Path, timeout: float = QUICK) -> list[str]:
    done = process.call(command, SOURCE, timeout)
    assert done.status == 0, "\n".join(done.lines)
    return done.lines


@dataclass(frozen=True)
class Installed:
    """The library as ``meson install`` laid it out."""

    prefix: Path

    def find(self, name: str) -> Path:
        (path,) = self.prefix.rglob(name)
        return path

    def flags(self, *options: str) -> list[str]:
        """Ask pkg-config as a user's build would."""
        path = f"PKG_CONFIG_PATH={self.find('libvgetrandom.pc').parent}"
        flags = call("env", path, "pkg-config", *options, "libvgetrandom")
        return " ".join(flags).split()


@pytest.fixture(scope="module", params=params(("gcc", "clang"), ("gcc",)))
def built(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Build all, with warnings as errors, by each compiler."""
    build = tmp_path_factory.mktemp(request.param) / "build"
    setup = ("meson", "setup", "-Dwerror=true")
    call("env", f"CC={request.param}", *setup, build, SOURCE, timeout=BUILD)
    call("meson", "compile", "-C", build, timeout=BUILD)
    return build


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Install by the README's command, as a new user would."""
    folder = tmp_path_factory.mktemp("installed")
    prefix = folder / "prefix"
    call(
        "make",
        "install",
        f"BUILD={folder / 'build'}",
        f"PREFIX={prefix}",
        timeout=BUILD,
    )
    return Installed(prefix)


def outcomes(build: Path) -> dict[str, str]:
    """Return the outcome of each test that ``meson test`` ran."""
    log = (build / "meson-logs" / "testlog.json").read_text()
    return {
        result["name"]: result["result"] for result in map(json.loads, log.splitlines())
    }


def test_all_its_tests_pass_and_none_is_skipped(built: Path) -> None:
    done = process.call(
        ["meson", "test", "-C", built, "--print-errorlogs"], SOURCE, TESTS
    )
    found = outcomes(built)
    assert found, "\n".join(done.lines)
    assert set(found.values()) <= GREEN, "\n".join(done.lines)
    assert done.status == 0


def test_on_arm64_the_cores_are_right(tmp_path: Path) -> None:
    cross = CROSS_FILES["arm64"]
    assert cross
    call("meson", "setup", "--cross-file", cross, tmp_path, SOURCE, timeout=BUILD)
    done = process.call(
        ["meson", "test", "-C", tmp_path, "--suite", "chacha20"], SOURCE, TESTS
    )
    found = outcomes(tmp_path)
    assert found, "\n".join(done.lines)
    assert set(found.values()) <= GREEN, "\n".join(done.lines)


def test_it_exports_what_its_header_says_and_needs_nobody(
    installed: Installed,
) -> None:
    library = installed.find("libvgetrandom.so")
    assert exported(library) == sorted(PUBLIC)
    assert exported(installed.find("libvgetrandom-preload.so")) == PRELOADED
    for path in (library, installed.find("libvgetrandom-preload.so")):
        headers = call("readelf", "--dynamic", path)
        assert not [line for line in headers if "NEEDED" in line or "TEXTREL" in line]
        undefined = call("nm", "--dynamic", "--undefined-only", path)
        assert not [line for line in undefined if " U " in line]


def exported(library: Path) -> list[str]:
    lines = call("nm", "--dynamic", "--defined-only", library)
    names = [line.split()[2].split("@")[0] for line in lines if " T " in line]
    return sorted(names)


@pytest.mark.parametrize("compiler", ["gcc", "clang", "g++"])
def test_a_program_builds_against_the_shared_library(
    installed: Installed, compiler: str, tmp_path: Path
) -> None:
    program = tmp_path / "example"
    language = ["-x", "c++"] if compiler == "g++" else []
    flags = installed.flags("--cflags", "--libs")
    call(compiler, "-Wall", "-Werror", *language, EXAMPLE, "-o", program, *flags)
    library_path = f"LD_LIBRARY_PATH={installed.find('libvgetrandom.so').parent}"
    assert "a key of 32 bytes" in call("env", library_path, program)[0]


@pytest.mark.parametrize("compiler", ["gcc", "musl-gcc"])
def test_a_program_builds_against_the_static_library(
    installed: Installed, compiler: str, tmp_path: Path
) -> None:
    program = tmp_path / "example"
    flags = installed.flags("--cflags", "--libs", "--static")
    call(compiler, "-static", EXAMPLE, "-o", program, *flags)
    assert "a key of 32 bytes" in call(program)[0]


def test_the_manual_page_is_installed_and_in_order(installed: Installed) -> None:
    page = installed.find("vgetrandom.3")
    # References to other pages are looked up among those this machine has.
    complaints = call("mandoc", "-T", "lint", "-W", "warning", page)
    assert not complaints
    text = "\n".join(call("mandoc", "-T", "ascii", page))
    assert all(name in re.sub(".\b", "", text) for name in PUBLIC)


@pytest.mark.parametrize("compiler", ["gcc", "musl-gcc"])
def test_preloaded_it_serves_programs_that_know_nothing_of_it(
    installed: Installed, compiler: str, tmp_path: Path
) -> None:
    program = tmp_path / "program"
    call(compiler, "-D_GNU_SOURCE", PROGRAM, "-o", program)
    assert drawn_by_system_calls(installed, tmp_path, program) <= SEEDS


def test_preloaded_it_does_not_map_memory_in_a_sandbox(
    installed: Installed, tmp_path: Path
) -> None:
    program = tmp_path / "program"
    call("gcc", "-D_GNU_SOURCE", SANDBOX, "-o", program)
    assert drawn_by_system_calls(installed, tmp_path, program) <= SEEDS


def test_preloaded_it_serves_python(installed: Installed, tmp_path: Path) -> None:
    draws = f"import os\nfor _ in range({DRAWS}): os.urandom(16)"
    python = Path(sys.executable)
    assert drawn_by_system_calls(installed, tmp_path, python, "-c", draws) <= SEEDS
    # What that is compared with, where libc does not use the vDSO itself.
    if libc_is_older_than(2, 41):
        assert system_calls(tmp_path, [python, "-c", draws]) >= DRAWS


def libc_is_older_than(*version: int) -> bool:
    return tuple(map(int, platform.libc_ver()[1].split("."))) < version


def drawn_by_system_calls(
    installed: Installed, folder: Path, *command: str | Path
) -> int:
    preload = f"LD_PRELOAD={installed.find('libvgetrandom-preload.so')}"
    return system_calls(folder, ["env", preload, *command])


def system_calls(folder: Path, command: Sequence[str | Path]) -> int:
    """Count the calls of getrandom(2) that a command does."""
    log = folder / "strace.log"
    call("strace", "-f", "-e", "trace=getrandom", "-o", log, *command)
    return log.read_text().count("getrandom(")
