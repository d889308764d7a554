"""Programs whose standard streams are full, closed or read by nobody."""

import os
import subprocess
import sys

import pytest

from temper.exits import exit_with_message

FULL = "/dev/full"
LOST = "  -> finished runs are stored: 'temper report' shows them again"

PROGRAM = """\
import sys
from rich.console import Console
from temper.errors import InputError
from temper.exits import exit_with_message

with exit_with_message():
    {body}
"""
PRINTS = "Console().print('result')"
WRITES = "sys.stdout.write('result\\n'); sys.exit(1)"
SAYS = "print('all is well', file=sys.stderr); print('result')"
FAILS = "raise InputError('it is wrong')"

UNUSABLE = [(f">{FULL}", "No space left on device"), (">&-", "it is closed")]


def program(body: str) -> list[str]:
    return [sys.executable, "-c", PROGRAM.format(body=body)]


def run(body: str, redirection: str) -> "subprocess.CompletedProcess[str]":
    """Run a program as a shell does with a redirection."""
    return ended([*shell(redirection), *program(body)])


def shell(redirection: str) -> list[str]:
    return ["sh", "-c", f'exec "$@" {redirection}', "sh"]


def ended(command: list[str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.parametrize("body", [PRINTS, WRITES])
@pytest.mark.parametrize(("redirection", "why"), UNUSABLE)
def test_a_result_that_cannot_be_written_is_told(
    body: str, redirection: str, why: str
) -> None:
    done = run(body, redirection)
    assert done.returncode == 3
    assert done.stderr.splitlines() == [f"temper: cannot write to stdout: {why}", LOST]


@pytest.mark.parametrize("body", [PRINTS, WRITES])
def test_a_reader_that_has_enough_ends_it_without_a_word(body: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    process = subprocess.Popen(
        program(body), stdout=writer, stderr=subprocess.PIPE, text=True
    )
    os.close(writer)
    _, said = process.communicate(timeout=300)
    assert (process.returncode, said) == (141, "")


@pytest.mark.parametrize("redirection", [f"2>{FULL}", "2>&-", "<&- 2>&-"])
def test_a_result_needs_no_stderr(redirection: str) -> None:
    done = run(SAYS, redirection)
    assert (done.returncode, done.stdout) == (0, "result\n")


@pytest.mark.parametrize("redirection", [f"2>{FULL}", "<&- >&- 2>&-"])
def test_an_error_that_nobody_hears_has_its_status(redirection: str) -> None:
    assert run(FAILS, redirection).returncode == 2


def test_no_file_of_ours_gets_the_number_of_a_closed_stream() -> None:
    """What a library prints would go into it."""
    opens = "sys.exit(open('/dev/null').fileno())"
    assert run(opens, "<&- >&- 2>&-").returncode == 3


def test_a_file_that_nobody_expected_to_be_unusable_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as caught, exit_with_message():
        raise PermissionError(13, "Permission denied", "/srv/0001.patch")
    assert caught.value.code == 3
    said = "temper: the host refuses: /srv/0001.patch: Permission denied\n"
    assert capsys.readouterr().err == said


def test_the_command_line_is_such_a_program() -> None:
    call = "import sys; sys.argv[1:] = ['features']; from temper.cli import main;"
    done = ended([*shell(f">{FULL}"), sys.executable, "-c", f"{call} main()"])
    assert done.returncode == 3
    assert done.stderr.splitlines()[-1] == LOST
