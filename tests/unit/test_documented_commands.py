"""The commands in the documents are ones that there are.

Each is read as a shell reads it and checked by what it calls: Temper's own parser and
catalogue, make, scripts/setup, .venv. The rest is listed here, with a reason. Those
that are cheap to run are run by tests/integration/test_documented_runs.py.
"""

import subprocess
import sys
from collections.abc import Callable, Collection
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer import Context
from typer.core import TyperCommand
from typer.main import get_command
from typer.testing import CliRunner

from documented import Block, Command, blocks, commands, inline, names
from temper.arch import ARCHES
from temper.catalog import Feature, feature_named, feature_names
from temper.cli import app
from temper.cli.options import listed
from temper.events import events_of
from temper.options import all_options
from temper.paths import REPOSITORY
from temper.stress import stress_of
from temper.workloads import all_workloads

ELSEWHERE = {
    "apt-get": "installs or downloads; `scripts/setup` and test_compare.py do, too",
    "cd": "the shell's own",
    "mkdir": "makes a folder to build QEMU in",
    "patch": "patches QEMU's source, which apt-get has fetched",
    "../configure": "configures QEMU",
    "ninja": "builds QEMU",
    "sbatch": "needs a cluster",
    "kubectl": "needs a cluster; test_kubernetes.py looks at what it is given",
    ".venv/bin/python": "measures for minutes; the document says what it found",
    ".venv/bin/dask": "starts what stays; test_fleet_lost.py does, too",
    "openssl": "makes a key; test_fleet_tls.py does, too",
    "git": "the address of the clone is the reader's",
    "sed": "breaks the source on purpose, to see a test fail",
    "jq": "shows what else reads JSON; the document says where it comes from",
    "gcc": "the program is the reader's own",
    "/tmp/try": "the program is the reader's own",
    "cc": "the program is the reader's own",
    "pkg-config": "asks for the installed library; test_vgetrandom_library.py does",
    "meson": "configures a cross build; test_packages.py does, too",
    "python3": "needs the preload library; test_vgetrandom_bindings.py tries it",
    "strace": "needs the preload library; test_vgetrandom_bindings.py tries it",
}
"""Program that is not ours -> why nothing here looks at its arguments."""

BUILT = "libvgetrandom/build/tests/"
"""What meson makes of the library's tests: its source is looked for."""

Names = Callable[[Feature], Collection[str]]
EXAMPLE = "lang/perl-start"
"""docs/adding-a-workload.md has readers add it, and test_real_programs.py does so."""
KNOWN: dict[str, Names] = {
    "feature": lambda _: feature_names(),
    "variants": lambda feature: feature.all_variants,
    "proofs": lambda feature: feature.proofs,
    "kernels": lambda feature: stress_of(feature).kernels,
    "names": lambda feature: events_of(feature).events,
    "workload": lambda _: (*all_workloads(), EXAMPLE),
    "options": lambda _: all_options(),
    "arch": lambda _: ARCHES,
    "setting": lambda _: {name for arch in ARCHES.values() for name in arch.settings},
}
"""Parameter of a command that takes names -> those that there are."""

BLOCKS = [
    pytest.param(each, id=f"{each.document}: {each.title}")
    for each in (*blocks(), *inline())
]


@pytest.fixture(scope="module")
def called() -> set[str]:
    """Return the programs that the documents call."""
    return {each.words[0] for block in blocks() for each in commands(block)}


@pytest.mark.parametrize("block", BLOCKS)
def test_commands_are_ones_that_there_are(
    block: Block, monkeypatch: pytest.MonkeyPatch
) -> None:
    for command in commands(block):
        check(command, monkeypatch)


def check(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check what it calls and how; raise AssertionError."""
    program, *arguments = command.words
    if program == "./temper":
        check_temper(arguments, monkeypatch)
    elif program == "make":
        check_make(arguments)
    elif program.startswith(BUILT):
        name = program.removeprefix(BUILT)
        assert (REPOSITORY / "libvgetrandom" / "tests" / f"{name}.c").is_file()
    elif "/" in program and program not in ELSEWHERE:
        check_script(program, arguments)
    else:
        assert program in ELSEWHERE, "not ours: say why nobody need look at it"


@pytest.mark.parametrize(
    "command", [pytest.param(each, id=str(each)) for each in names()]
)
def test_a_name_of_a_command_is_one(command: Command) -> None:
    called = get_command(app)
    for word in command.words[1:]:
        if word.startswith("--"):
            assert word in {name for each in called.params for name in each.opts}
        else:
            called = called.commands[word]  # type: ignore[attr-defined]


def test_the_list_of_other_programs_is_not_too_long(called: set[str]) -> None:
    assert ELSEWHERE.keys() <= called


def test_much_is_found(called: set[str]) -> None:
    assert {"./temper", "make", "scripts/setup", ".venv/bin/pytest"} <= called
    assert len(BLOCKS) > 50
    assert len(names()) > 10


@pytest.mark.parametrize(
    ("text", "called"),
    [
        ("K=a; ./temper compare $K $K", ["./temper compare a a"]),
        ("make x \\\n  y  # z", ["make x y"]),
        ("./temper show NAME | jq .", ["./temper show kpkeys", "jq ."]),
        ("a --x={1,2} && b 'c d'", ["a --x=1 --x=2", "b c d"]),
    ],
)
def test_blocks_are_read_as_a_shell_reads_them(text: str, called: list[str]) -> None:
    assert sorted(map(str, commands(Block("", text)))) == sorted(called)


def test_what_is_no_command_has_to_name_its_language() -> None:
    with pytest.raises(AssertionError, match="syntax error"):
        commands(Block("", "-M q35     (x86-64)"))


@pytest.mark.parametrize(
    "wrong",
    [
        ["prices", "kstack"],
        ["price"],
        ["price", "kstick"],
        ["price", "kstack", "--json"],
        ["price", "kstack", "--variant", "off"],
        ["price", "kstack", "--variants", "off,tempered"],
        ["prove", "kstack", "--proofs", "luck"],
        ["price", "kstack", "--arch", "vax"],
        ["price", "kstack", "--calls", "many"],
        ["compare", "a", "b", "--workload", "syscall/none"],
        ["events", "kpkeys", "--events", "reboots"],
        ["stress", "kpkeys", "--kernels", "lockstep"],
        ["cache", "prune", "--day", "30"],
    ],
)
def test_a_wrong_command_is_found(
    wrong: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(AssertionError):
        check_temper(wrong, monkeypatch)


@pytest.mark.parametrize(
    "wrong",
    [
        ("unheard-of",),
        ("make", "lunch"),
        ("make", "-C", "libvgetrandom", "lunch"),
        ("scripts/setup", "lunch"),
        ("scripts/lunch",),
        (".venv/bin/lunch",),
        (".venv/bin/pytest", "tests/unit/test_lunch.py"),
        ("libvgetrandom/build/tests/lunch",),
    ],
)
def test_a_wrong_program_is_found(
    wrong: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(AssertionError):
        check(Command("", wrong), monkeypatch)


def check_temper(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Parse a command without carrying it out; look up its names."""
    given: dict[str, Any] = {}

    def invoke(_: TyperCommand, context: Context) -> None:
        given.update(context.params)

    with monkeypatch.context() as patch:
        patch.setattr(TyperCommand, "invoke", invoke)
        # It would write into the reader's shell.
        asked = [word for word in arguments if word != "--install-completion"]
        done = CliRunner().invoke(app, asked or ["--help"])
    assert done.exit_code == 0, done.output
    for parameter, value in given.items():
        if parameter in KNOWN and value:
            feature = given.get("feature", "kstack")
            assert feature in feature_names()
            known = set(KNOWN[parameter](feature_named(feature)))
            wanted = listed(value) if isinstance(value, str) else value
            assert set(wanted) <= known, parameter


def check_make(arguments: list[str]) -> None:
    """Ask make, which does nothing and says whether it could."""
    run(["make", "--dry-run", "--quiet", *arguments])


def check_script(program: str, arguments: list[str]) -> None:
    """Look for a program of the checkout or of .venv, and for the files it is given."""
    if program == "scripts/setup":
        run([program, *(["--list"] if "--list" not in arguments else []), *arguments])
    elif program.startswith(".venv/bin/"):
        assert Path(sys.executable).with_name(Path(program).name).exists()
    else:
        assert (REPOSITORY / program).is_file()
    for argument in arguments:
        if "/" in argument and not argument.startswith(BUILT):
            assert (REPOSITORY / argument).exists()


@cache
def _done(command: tuple[str, ...]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command,
        cwd=REPOSITORY,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def run(command: list[str]) -> None:
    """Run it in the checkout; raise AssertionError if it fails."""
    done = _done(tuple(command))
    assert done.returncode == 0, done.stderr
