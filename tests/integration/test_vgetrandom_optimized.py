"""libvgetrandom by other flags than its own: it leaves no secrets, and works."""

from pathlib import Path

import pytest
from test_vgetrandom_library import BUILD, GREEN, TESTS, call, outcomes
from vgetrandom import SOURCE

from temper import process

pytestmark = [
    pytest.mark.integration,
    pytest.mark.check_all,
    pytest.mark.timeout(3600),
]

FLAGS = {
    "O0": ("-Doptimization=0",),
    "Os": ("-Doptimization=s",),
    "O3": ("-Doptimization=3",),
    "native": ("-Doptimization=3", "-Dc_args=-march=native"),
    "lto": ("-Db_lto=true",),
}


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("flags", FLAGS)
def test_all_its_tests_pass(compiler: str, flags: str, tmp_path: Path) -> None:
    setup = ("meson", "setup", "-Dbench=disabled", *FLAGS[flags])
    call("env", f"CC={compiler}", *setup, tmp_path, SOURCE, timeout=BUILD)
    call("meson", "compile", "-C", tmp_path, timeout=BUILD)
    # Its own limits are for what is optimized.
    options = ("--timeout-multiplier=5", "--print-errorlogs")
    done = process.call(["meson", "test", "-C", tmp_path, *options], SOURCE, 3 * TESTS)
    found = outcomes(tmp_path)
    assert found, done.tail(20)
    assert set(found.values()) <= GREEN, done.tail(40)
