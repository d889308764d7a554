"""libvgetrandom in other languages: the Rust crate and the Python example."""

import json
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from test_vgetrandom_library import BUILD, PUBLIC, SEEDS, call, system_calls
from vgetrandom import SOURCE

from temper.paths import cache_home

CRATE = SOURCE / "rust"
TARGET = cache_home() / "cargo" / "vgetrandom"
"""What cargo built; kept, as it is slow at that."""
PYTHON_EXAMPLE = SOURCE / "examples" / "python.py"

OWN_TO_MESON = {
    "-fdiagnostics-color=always",
    "-D_FILE_OFFSET_BITS=64",
}
"""Arguments that say nothing of the machine code it makes of this library."""

CLIPPY = "--locked --all-features --all-targets -- -D warnings"


def cargo(
    command: str, *options: str, target: Path = TARGET, env: tuple[str, ...] = ()
) -> list[str]:
    assert shutil.which("cargo"), "cargo is missing: scripts/setup check"
    return call(
        "env",
        f"CARGO_TARGET_DIR={target}",
        *env,
        "cargo",
        command,
        f"--manifest-path={CRATE / 'Cargo.toml'}",
        *options,
        timeout=BUILD,
    )


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the shared library with meson."""
    folder = tmp_path_factory.mktemp("meson") / "build"
    call("meson", "setup", folder, SOURCE, timeout=BUILD)
    call("meson", "compile", "-C", folder, "vgetrandom:shared_library", timeout=BUILD)
    return folder


def test_the_crate_passes_its_tests() -> None:
    lines = cargo("test", "--locked", "--all-features")
    results = [line for line in lines if line.startswith("test result: ")]
    assert len(results) >= 5, "\n".join(lines)
    assert all(" 0 ignored; 0 measured; 0 filtered" in result for result in results)
    for path in (CRATE / "tests").glob("*.rs"):
        assert any(f"Running tests/{path.name} " in line for line in lines), path


def test_the_crate_needs_neither_std_nor_features() -> None:
    cargo("run", "--locked", "--package=vgetrandom-no-std", "--profile=no-std")


def test_users_of_the_getrandom_crate_draw_by_the_library(tmp_path: Path) -> None:
    folder = TARGET / "getrandom-backend"
    example = "getrandom_backend"
    flags = 'RUSTFLAGS=--cfg getrandom_backend="custom"'
    options = ("--locked", f"--example={example}")
    cargo("build", *options, target=folder, env=(flags,))
    program = folder / "debug" / "examples" / example
    assert system_calls(tmp_path, [program]) <= SEEDS
    told = call(program)
    drawn = re.match(r"(\d+) keys", told[0])
    served = re.match(r"(\d+) draws were served by vgetrandom", told[1])
    assert drawn and served
    # With one more for the key of rand's generator.
    assert int(served[1]) == int(drawn[1]) + 1


def test_the_crate_binds_the_whole_header() -> None:
    bound = re.findall(r"fn (\w+)\(", (CRATE / "src" / "ffi.rs").read_text())
    assert sorted(bound) == sorted(PUBLIC)


def test_the_crate_compiles_c_as_meson_does(build: Path) -> None:
    meson, crate = flags_by_meson(build), flags_by_cargo()
    assert len(crate) > 9
    for source, flags in crate.items():
        assert meson[source] - OWN_TO_MESON <= flags, source
        units = {flag for flag in flags if flag.startswith(("-msse", "-mavx"))}
        assert units <= meson[source], source


def flags_by_meson(build: Path) -> dict[str, set[str]]:
    """Return the flags of each file of the static library, by its name."""
    return {
        Path(entry["file"]).name: code_flags(entry["command"])
        for entry in json.loads((build / "compile_commands.json").read_text())
        if re.match(r"lib(chacha20_\w+|core|libc)\.a\.p/", entry["output"])
    }


def flags_by_cargo() -> dict[str, set[str]]:
    folder = TARGET / "commands"
    # The compiler is only seen when it runs.
    cargo("clean", "--package=vgetrandom", target=folder)
    options = ("--locked", "-vv")
    lines = cargo("build", *options, target=folder, env=("CC_ENABLE_DEBUG_OUTPUT=1",))
    commands = [re.search(r" running: (.*c/src/(\w+\.c)\"?)$", line) for line in lines]
    return {found[2]: code_flags(found[1]) for found in commands if found}


def code_flags(command: str) -> set[str]:
    return {word for word in shlex.split(command) if re.match("-([fmDO]|std)", word)}


def test_a_package_of_the_crate_has_all_sources() -> None:
    packed = set(cargo("package", "--locked", "--list", "--allow-dirty"))
    sources = [*SOURCE.glob("src/*.[ch]"), *SOURCE.glob("include/*.h")]
    assert sources
    assert {f"c/{path.relative_to(SOURCE)}" for path in sources} <= packed
    assert {"LICENSE-MIT", "LICENSE-APACHE"} <= packed


@pytest.mark.parametrize(
    ("tool", "command", "options"),
    [("rustfmt", "fmt", "--all --check"), ("cargo-clippy", "clippy", CLIPPY)],
    ids=["rustfmt", "clippy"],
)
def test_the_crate_is_clean(tool: str, command: str, options: str) -> None:
    assert shutil.which(tool), f"{tool} is missing: scripts/setup check"
    cargo(command, *options.split())


def test_the_documentation_of_the_crate_is_in_order() -> None:
    options = ("--locked", "--no-deps", "--all-features")
    cargo("doc", *options, env=("RUSTDOCFLAGS=-D warnings",))


def test_the_python_example_runs(build: Path) -> None:
    # Of Python itself, and nothing that is installed beside it.
    python = (sys.executable, "-I", "-S", PYTHON_EXAMPLE)
    by_argument = call(*python, build / "libvgetrandom.so.0")
    by_loader = call("env", f"LD_LIBRARY_PATH={build}", *python)
    for told in (by_argument, by_loader):
        assert re.fullmatch("bytes: [0-9a-f]{32}", told[0])
        assert re.fullmatch(r"number: \d{1,20}", told[1])
        assert re.fullmatch("served by: .+; (avx512|avx2|sse2|neon)", told[2])
        rows = [line.split() for line in told if re.match(r" +\d+ ", line)]
        assert [row[0] for row in rows] == ["16", "256", "4096", "65536"]
        assert all(float(cell) > 0 for row in rows for cell in row)
    assert by_argument[0] != by_loader[0]
    assert by_argument[1] != by_loader[1]
