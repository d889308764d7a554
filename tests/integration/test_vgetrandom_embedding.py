"""libvgetrandom in other people's programs, builds, compilers and libcs.

What the README says of builds is taken from it and run.
"""

import platform
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from test_vgetrandom_bindings import CRATE, TARGET, cargo
from test_vgetrandom_library import (
    BUILD,
    EXAMPLE,
    PUBLIC,
    Installed,
    call,
)
from vgetrandom import SOURCE

from temper import process
from temper.paths import cache_home
from vgetrandom_bench.glibc import Loader, find_glibc

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1800)]

on_x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="for x86-64 only")

README = (SOURCE / "README.md").read_text()
SNIPPETS = dict(re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL))
ARCHIVES = ("libvgetrandom.a", "libvgetrandom-freestanding.a")
OURS = re.compile("vgr_|vgetrandom")
THEIRS = """
long config[9], thread[9], chunks[9], pool_take[9], draw_bulk[9];

__attribute__((constructor)) static void write_them(void)
{
	for (int i = 0; i < 9; i++)
		config[i] = thread[i] = chunks[i] = pool_take[i] = draw_bulk[i] = -1;
}
"""
DRAWS = """
#include <vgetrandom.h>

uint64_t sums[4];

int main(void)
{
	for (int i = 0; i < 1000; i++)
		sums[0] += vgetrandom_batch_u64(), sums[1] += vgetrandom_batch_u32();
	for (int i = 0; i < 1000; i++)
		sums[2] ^= vgetrandom_batch_u64(), sums[3] ^= vgetrandom_batch_u32();
	return !(sums[0] && sums[1] && sums[2] && sums[3]);
}
"""
FUNCTION = re.compile(r"^(\w+) <([^>]+)>:\n((?:.+\n?)*)", re.MULTILINE)
JUMP = re.compile(r"^ +(\w+):\t((?:\w\w )+) *\tj\w+ +[0-9a-f]+ <", re.MULTILINE)
"""A line of objdump: its address, and the bytes."""
REFUSED = "both 64-bit and little-endian"
STEPS = {
    "step_drop": ("bulk", "batch_u64"),
    "step_fork": ("small", "bulk", "batch_u64"),
    "step_longjmp": ("small", "batch_u64", "release"),
    "step_signal": ("small", "batch_u64", "release", "thread_end"),
}
"""What tests step through here, of all that they could."""
ON_MUSL = (
    *STEPS,
    "chacha20_residue",
    "memory_age",
    "memory_core",
    "no_libc",
    "open_library",
    "plugin_unload",
    "residue_calls",
    "sandbox_limits",
    "sandbox_strict",
    "threads_no_key",
)
"""Tests that do not depend on glibc, and are short."""
ON_NEW_GLIBC = (
    "memory_age",
    "open_library",
    "plugin_unload",
    "residue_calls",
    "sandbox_limits",
    "sandbox_strict",
)
"""The same, if they do not start themselves again, which the old one would do."""


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install to one prefix, so that a later one differs."""
    folder = tmp_path_factory.mktemp("embedded")
    build = folder / "build"
    call("meson", "setup", "-Dtests=disabled", "-Dbench=disabled", build, SOURCE)
    install(build, folder / "first")
    return build


def install(build: Path, prefix: Path) -> Installed:
    call("make", "install", f"BUILD={build}", f"PREFIX={prefix}", timeout=BUILD)
    return Installed(prefix)


@pytest.fixture(scope="module")
def installed(build: Path) -> Installed:
    """Install to another prefix than before."""
    return install(build, build.parent / "second")


@pytest.fixture
def library_path(installed: Installed) -> str:
    return f"LD_LIBRARY_PATH={installed.find('libvgetrandom.so').parent}"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Make a stranger's project of the README's C program."""
    shutil.copy(EXAMPLE, tmp_path / "main.c")
    return tmp_path


def global_names(archive: Path) -> set[str]:
    lines = call("nm", "--defined-only", "--extern-only", "--format=posix", archive)
    return {line.split()[0] for line in lines if " " in line}


class Function(NamedTuple):
    """Where a function begins, and its lines as objdump shows them."""

    start: int
    lines: str


def functions_of(library: Path) -> dict[str, Function]:
    """Return the functions of a library by name."""
    said = call("objdump", "--disassemble", "--section=.text", "--wide", library)
    return {
        name: Function(int(start, 16), lines)
        for start, name, lines in FUNCTION.findall("\n".join(said))
    }


@pytest.mark.parametrize("archive", ARCHIVES)
def test_all_global_names_of_an_archive_are_ours(
    installed: Installed, archive: str
) -> None:
    names = global_names(installed.find(archive))
    assert set(PUBLIC) < names
    assert not [name for name in names if not OURS.match(name)]


def test_all_global_names_that_the_crate_makes_of_c_are_ours() -> None:
    cargo("build", "--locked")
    archives = TARGET.glob("debug/build/vgetrandom-*/out/libvgetrandom.a")
    names = global_names(max(archives, key=lambda path: path.stat().st_mtime))
    assert set(PUBLIC) < names
    assert not [name for name in names if not OURS.match(name)]


def test_a_program_may_have_the_names_that_it_likes(
    installed: Installed, tmp_path: Path
) -> None:
    """With -fcommon, variables of one name would be one."""
    (tmp_path / "main.c").write_text(THEIRS + EXAMPLE.read_text())
    flags = installed.flags("--cflags", "--libs", "--static")
    program = tmp_path / "program"
    call("gcc", "-fcommon", "-static", tmp_path / "main.c", "-o", program, *flags)
    said = call(program)[0]
    # What a library does whose facts were overwritten.
    assert "a key of 32 bytes" in said and "no memory" not in said


@pytest.fixture(scope="module")
def installed_for_lto(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Install what the README advises for link-time optimization."""
    folder = tmp_path_factory.mktemp("lto")
    (setup,) = re.findall(r"`(meson setup -Db_lto=true .*?)`", README)
    call("env", "-C", SOURCE, *setup.split()[:-1], folder / "build", timeout=BUILD)
    return install(folder / "build", folder / "prefix")


@on_x86
def test_with_lto_the_archive_is_inlined(
    installed_for_lto: Installed, tmp_path: Path
) -> None:
    flags = installed_for_lto.flags("--cflags", "--libs", "--static")
    functions = {}
    for lto in ("-flto", "-fno-lto"):
        program = tmp_path / f"program{lto}"
        call("gcc", "-O2", "-static", lto, EXAMPLE, "-o", program, *flags)
        assert "a key of 32 bytes" in call(program)[0]
        functions[lto] = global_names(program) & set(PUBLIC)
    # Without it, all of an object's functions are there.
    assert functions["-flto"] < functions["-fno-lto"]


@on_x86
def test_with_lto_numbers_are_drawn_without_a_call(
    installed_for_lto: Installed, tmp_path: Path
) -> None:
    """Compilers inline what is called once; a number is drawn in many places."""
    (tmp_path / "main.c").write_text(DRAWS)
    program = tmp_path / "program"
    lto = ("gcc", "-O2", "-flto", "-o")
    flags = installed_for_lto.flags("--cflags")
    call(*lto, tmp_path / "main.o", "-c", tmp_path / "main.c", *flags)
    libraries = installed_for_lto.flags("--libs", "--static")
    (jumps,) = re.findall(r"`(-Wa,\S+)`", README)
    said = call(*lto, program, "-static", jumps, tmp_path / "main.o", *libraries)
    assert not said, said
    call(program)
    # Also not to a part of one, whose name is longer.
    names = [line.split()[0] for line in call("nm", "--format=posix", program)]
    assert not [name for name in names if name.startswith("vgetrandom_batch_u")]


@pytest.mark.parametrize("flags", ["-O2", "-O2 -flto=auto -ffat-lto-objects"])
def test_without_lto_nothing_needs_the_same_compiler(
    flags: str, tmp_path: Path
) -> None:
    """gcc's linker uses what is there for LTO also for programs without it."""
    setup = ("meson", "setup", "-Dtests=disabled", "-Dbench=disabled")
    call("env", f"CFLAGS={flags}", *setup, tmp_path, SOURCE, timeout=BUILD)
    call("ninja", "-C", tmp_path, *ARCHIVES, timeout=BUILD)
    for archive in ARCHIVES:
        sections = call("objdump", "--section-headers", tmp_path / archive)
        assert not [line for line in sections if ".gnu.lto" in line]


@pytest.mark.parametrize(
    ("options", "runner"),
    [
        pytest.param((), (), id="host"),
        pytest.param(
            (f"--cross-file={SOURCE / 'cross' / 'aarch64.ini'}",),
            ("qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu"),
            id="aarch64",
        ),
    ],
)
def test_with_lto_coroutines_change_threads(
    options: tuple[str, ...], runner: tuple[str, ...], tmp_path: Path
) -> None:
    """A compiler must not keep a thread's address while a function runs."""
    setup = ("meson", "setup", "-Dbench=disabled", "-Db_lto=true", *options)
    call(*setup, tmp_path, SOURCE, timeout=BUILD)
    call("ninja", "-C", tmp_path, "tests/threads_coroutines", timeout=BUILD)
    call(*runner, tmp_path / "tests" / "threads_coroutines")


@on_x86
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_code_is_where_it_is_fast(compiler: str, tmp_path: Path) -> None:
    """Functions begin at 32 bytes, and no jump reaches beyond these."""
    setup = ("meson", "setup", "-Dtests=disabled", "-Dbench=disabled")
    call("env", f"CC={compiler}", *setup, tmp_path, SOURCE, timeout=BUILD)
    call("meson", "compile", "-C", tmp_path, timeout=BUILD)
    functions = functions_of(tmp_path / "libvgetrandom.so")
    assert set(PUBLIC) <= functions.keys()
    late = [name for name in PUBLIC if functions[name].start % 32]
    assert not late, late
    # libgcc's functions that identify the CPU are as Debian built them.
    jumps = [
        (int(address, 16), len(code.split()))
        for name, function in functions.items()
        if "cpu_" not in name and "get_available" not in name
        for address, code in JUMP.findall(function.lines)
    ]
    assert len(jumps) > 200
    broken = [hex(at) for at, size in jumps if at // 32 != (at + size) // 32]
    assert not broken, broken


@pytest.mark.parametrize("machine", sorted({platform.machine(), "aarch64"}))
def test_the_abi_is_that_of_the_baseline(machine: str, tmp_path: Path) -> None:
    """Of the host, and of arm64, for which hosts of other kinds have a compiler."""
    baseline = SOURCE / "abi" / f"{machine}.abi"
    assert baseline.exists(), "make -C libvgetrandom abi-baseline"
    cross_file = SOURCE / "cross" / f"{machine}.ini"
    cross = () if machine == platform.machine() else ("--cross-file", cross_file)
    options = ("-Dtests=disabled", "-Dbench=disabled")
    call("meson", "setup", *cross, *options, tmp_path, SOURCE, timeout=BUILD)
    call("ninja", "-C", tmp_path, next_library(tmp_path), timeout=BUILD)
    library = tmp_path / next_library(tmp_path)
    call("abidiff", "--headers-dir2", SOURCE / "include", baseline, library)


def test_an_unused_result_is_warned_of(installed: Installed, tmp_path: Path) -> None:
    source = tmp_path / "main.c"
    source.write_text(
        "#include <vgetrandom.h>\nvoid f(void) { vgetrandom(0, 0, 0); }\n"
    )
    done = process.call(
        [
            "gcc",
            "-Werror",
            "-c",
            source,
            "-o",
            "/dev/null",
            *installed.flags("--cflags"),
        ],
        tmp_path,
        BUILD,
    )
    assert done.status
    assert any("unused-result" in line for line in done.lines)


def test_versions_agree() -> None:
    (version,) = re.findall(
        r"^  version: '(.*)',$", (SOURCE / "meson.build").read_text(), re.M
    )
    (crate,) = re.findall(
        '^version = "(.*)"$', (CRATE / "Cargo.toml").read_text(), re.M
    )
    debian = (SOURCE / "debian" / "changelog").read_text().split("(")[1].split("-")[0]
    assert crate == debian == version


def test_each_function_has_its_manual_page(installed: Installed) -> None:
    for name in PUBLIC:
        page = installed.find(f"{name}.3")
        text = page.read_text()
        assert name == "vgetrandom" or text == ".so man3/vgetrandom.3\n"


def set_up_as_a_subproject(project: Path, static: str, *options: str) -> None:
    (project / "subprojects").mkdir()
    (project / "subprojects" / "libvgetrandom").symlink_to(SOURCE)
    snippet = SNIPPETS["meson"].replace("'>=0.1'", f"'>=0.1'{static}")
    assert static in snippet
    (project / "meson.build").write_text(snippet)
    setup = ("meson", "setup", "--wrap-mode=forcefallback", *options)
    call(*setup, project / "build", project, timeout=BUILD)


LINKED = pytest.mark.parametrize(
    "static", ["", ", static: true"], ids=["shared", "static"]
)


@LINKED
def test_a_meson_project_has_it_as_a_subproject(project: Path, static: str) -> None:
    set_up_as_a_subproject(project, static)
    call("meson", "compile", "-C", project / "build", "example", timeout=BUILD)
    assert "a key of 32 bytes" in call(project / "build" / "example")[0]
    assert needs_shared_library(project / "build" / "example") == (not static)
    assert "step_fork" not in (project / "build" / "build.ninja").read_text()


@LINKED
@pytest.mark.parametrize("option", ["b_sanitize=address,undefined", "b_coverage=true"])
def test_a_meson_project_may_be_instrumented(
    project: Path, static: str, option: str
) -> None:
    """Also what such a project did not ask for is built with it."""
    set_up_as_a_subproject(project, static, f"-D{option}")
    call("meson", "compile", "-C", project / "build", timeout=BUILD)
    assert "a key of 32 bytes" in call(project / "build" / "example")[0]


def needs_shared_library(program: Path) -> bool:
    lines = call("readelf", "--dynamic", program)
    return any("libvgetrandom.so" in line for line in lines)


@pytest.mark.parametrize("target", ["vgetrandom", "static"])
def test_a_cmake_project_finds_it(
    project: Path, installed: Installed, library_path: str, target: str
) -> None:
    snippet = SNIPPETS["cmake"].replace("::vgetrandom", f"::{target}")
    (project / "CMakeLists.txt").write_text(snippet)
    build = project / "build"
    prefix = f"-DCMAKE_PREFIX_PATH={installed.prefix}"
    call("cmake", "-S", project, "-B", build, prefix)
    call("cmake", "--build", build)
    assert "a key of 32 bytes" in call("env", library_path, build / "example")[0]
    assert needs_shared_library(build / "example") == (target != "static")


def test_cmake_does_not_take_another_version(
    project: Path, installed: Installed
) -> None:
    for version in ("0.2", "1.0", "0.0.9"):
        snippet = SNIPPETS["cmake"].replace(" 0.1 ", f" {version} ")
        (project / "CMakeLists.txt").write_text(snippet)
        build = project / version
        prefix = f"-DCMAKE_PREFIX_PATH={installed.prefix}"
        done = process.call(
            ["cmake", "-S", project, "-B", build, prefix], project, BUILD
        )
        assert done.status, version


def test_what_is_installed_can_be_moved(project: Path, installed: Installed) -> None:
    moved = project / "moved"
    shutil.copytree(installed.prefix, moved, symlinks=True)
    (project / "CMakeLists.txt").write_text(SNIPPETS["cmake"])
    build = project / "build"
    call("cmake", "-S", project, "-B", build, f"-DCMAKE_PREFIX_PATH={moved}")
    call("cmake", "--build", build)
    command = (build / "CMakeFiles" / "example.dir" / "link.txt").read_text()
    assert str(moved) in command and str(installed.prefix) not in command


def test_a_rust_project_has_it(tmp_path: Path) -> None:
    (tmp_path / "libvgetrandom").symlink_to(SOURCE)
    folder = tmp_path / "example"
    (folder / "src").mkdir(parents=True)
    package = '[package]\nname = "example"\nversion = "1.0.0"\nedition = "2024"\n'
    (folder / "Cargo.toml").write_text(package + SNIPPETS["toml"])
    main = 'fn main() {\n    println!("{}", getrandom::u64().unwrap() > 0);\n}\n'
    (folder / "src" / "main.rs").write_text(SNIPPETS["rust"] + main)
    said = call(
        "env",
        f"CARGO_TARGET_DIR={TARGET / 'stranger'}",
        'RUSTFLAGS=--cfg getrandom_backend="custom"',
        "cargo",
        "run",
        f"--manifest-path={folder / 'Cargo.toml'}",
        timeout=BUILD,
    )
    assert said[-1] == "true"
    program = TARGET / "stranger" / "debug" / "example"
    assert {"vgetrandom", "__getrandom_v03_custom"} <= global_names(program)


def test_the_crate_could_be_published() -> None:
    lines = cargo("publish", "--dry-run", "--locked", "--allow-dirty")
    assert any("aborting upload due to dry run" in line for line in lines)
    assert not [line for line in lines if "manifest has no" in line]


MACHINES = {
    "big-endian": ("aarch64-linux-gnu-gcc", "-mbig-endian", "aarch64", "big"),
    "32 bits": ("gcc", "-m32", "x86", "little"),
    "x32": ("gcc", "-mx32", "x86_64", "little"),
    "another CPU": ("riscv64-linux-gnu-gcc", "-O2", "riscv64", "little"),
}
CROSS_FILE = """
[binaries]
c = ['{compiler}', '{flag}']
ar = 'ar'
[host_machine]
system = 'linux'
cpu_family = '{cpu}'
cpu = '{cpu}'
endian = '{endian}'
"""


def by_meson(
    folder: Path, compiler: str, flag: str, cpu: str, endian: str
) -> list[str | Path]:
    cross = folder / "cross.ini"
    cross.write_text(
        CROSS_FILE.format(compiler=compiler, flag=flag, cpu=cpu, endian=endian)
    )
    return ["meson", "setup", "--cross-file", cross, folder / "build", SOURCE]


def check_refused(command: list[str | Path]) -> None:
    done = process.call(command, SOURCE, BUILD)
    assert done.status
    assert any(REFUSED in line for line in done.lines), done.tail(5)


@pytest.mark.parametrize("machine", MACHINES)
def test_other_machines_are_refused(machine: str, tmp_path: Path) -> None:
    compiler, flag, cpu, endian = MACHINES[machine]
    check_refused(by_meson(tmp_path, compiler, flag, cpu, endian))
    check_refused([compiler, flag, "-E", SOURCE / "src" / "compiler.h"])


def test_meson_refuses_what_a_cross_file_calls_big_endian(tmp_path: Path) -> None:
    """For want of a libc, it would refuse the compiler above in any case."""
    check_refused(by_meson(tmp_path, "aarch64-linux-gnu-gcc", "-O2", "aarch64", "big"))


@pytest.fixture(scope="module")
def musl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build with musl's compiler, which has none of the kernel's headers."""
    folder = tmp_path_factory.mktemp("musl")
    headers = folder / "headers"
    headers.mkdir()
    system = Path("/usr/include")
    for name in ("linux", "asm-generic"):
        (headers / name).symlink_to(system / name)
    (headers / "asm").symlink_to(next(system.glob("*-linux-gnu/asm")))
    call(
        "env",
        "CC=musl-gcc",
        "PKG_CONFIG_LIBDIR=/nonexistent",
        "meson",
        "setup",
        "-Dbench=disabled",
        "-Dwerror=true",
        f"-Dc_args=-idirafter {headers}",
        folder / "build",
        SOURCE,
        timeout=BUILD,
    )
    run_tests(folder / "build", ON_MUSL)
    return folder / "build"


def run_tests(build: Path, names: tuple[str, ...]) -> None:
    """Build these tests and what they open, run them, and have none skipped."""
    programs = [f"tests/{name}" for name in names]
    libraries = (next_library(build), "tests/libplugin.so")
    call("ninja", "-C", build, *programs, *libraries, timeout=BUILD)
    for name in names:
        call(build / "tests" / name, *arguments(build, name))


def next_library(build: Path) -> str:
    lines = call("ninja", "-C", build, "-t", "targets", "all")
    (name,) = {
        found[1]
        for line in lines
        if (found := re.match(r"(libvgetrandom\.so\.[\d.]+):", line))
    }
    return name


def arguments(build: Path, name: str) -> tuple[str | Path, ...]:
    """Return a test's arguments: what it opens, or steps through."""
    given: dict[str, tuple[str | Path, ...]] = {
        "open_library": (build / next_library(build),),
        "plugin_unload": (build / "tests" / "libplugin.so",),
        **STEPS,
    }
    return given.get(name, ())


def test_on_musl_its_tests_pass(musl: Path) -> None:
    interpreter = call("readelf", "--program-headers", musl / "tests" / "open_library")
    assert any("ld-musl" in line for line in interpreter)


@pytest.fixture(scope="module")
def new_glibc() -> Iterator[Loader]:
    folder = cache_home() / "debian" / "glibc"
    folder.mkdir(parents=True, exist_ok=True)
    yield find_glibc(folder)


def test_on_a_glibc_that_has_the_vdso_its_tests_pass(
    new_glibc: Loader, tmp_path: Path
) -> None:
    call("meson", "setup", "-Dbench=disabled", tmp_path, SOURCE, timeout=BUILD)
    run_tests(tmp_path, ON_NEW_GLIBC)
    for name in ON_NEW_GLIBC:
        program = tmp_path / "tests" / name
        call(*new_glibc.command(program), *arguments(tmp_path, name))
