"""libvgetrandom's threads and processes under sanitizers and valgrind."""

from pathlib import Path

import pytest
from vgetrandom import SOURCE

from temper import process
from temper.process import Finished

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

BUILD = 300.0
TEST = 120.0
"""Seconds until a call is given up."""

TESTS = {
    "threads_churn": ["500"],
    "threads_no_key": [],
    "processes_duplicates": ["300000"],
    "vdso_fuzz": ["30000"],
}
"""Programs, with arguments that make their work small: sanitizers are slow."""
ENVIRONMENT = [
    "ASAN_OPTIONS=detect_stack_use_after_return=1:halt_on_error=1",
    # Programs that fork while they have threads: theirs are no more than forks.
    "TSAN_OPTIONS=die_after_fork=0:halt_on_error=1",
    "UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1",
]
VALGRIND_THREADS = "60"


def call(timeout: float, *command: str | Path) -> Finished:
    done = process.call(command, SOURCE, timeout)
    assert done.status == 0, "\n".join(done.lines)
    return done


def build(folder: Path, compiler: str, *options: str) -> None:
    setup = ("meson", "setup", *options)
    call(BUILD, "env", f"CC={compiler}", *setup, folder, SOURCE)
    call(BUILD, "ninja", "-C", folder, *[f"tests/{name}" for name in TESTS])


@pytest.mark.parametrize(
    ("compiler", "sanitizers"), [("gcc", "thread"), ("clang", "address,undefined")]
)
def test_sanitizers_find_nothing(
    compiler: str, sanitizers: str, tmp_path: Path
) -> None:
    build(tmp_path, compiler, f"-Db_sanitize={sanitizers}")
    for name, arguments in TESTS.items():
        call(TEST, "env", *ENVIRONMENT, tmp_path / "tests" / name, *arguments)


def test_valgrind_finds_nothing(tmp_path: Path) -> None:
    """valgrind takes the vDSO away: the program puts a system call in its place."""
    build(tmp_path, "gcc")
    program = tmp_path / "tests" / "threads_churn"
    done = call(
        TEST,
        "valgrind",
        "--error-exitcode=9",
        "--leak-check=full",
        program,
        VALGRIND_THREADS,
        "stand-in",
    )
    assert any(f"{VALGRIND_THREADS} threads" in line for line in done.lines)
