"""Programs that are asked to end, politely and less so."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

PROGRAM = """
import os, time
from temper.exits import exit_with_message

# An exception in print() may have it print twice.
with exit_with_message():
    try:
        os.write(1, b"up\\n")
        time.sleep(300)
    finally:
        os.write(1, b"tidying\\n")
        time.sleep({seconds})
        os.write(1, b"tidy\\n")
"""
ENDING = {
    signal.SIGINT: (130, "temper: interrupted\n"),
    signal.SIGTERM: (143, "temper: ended by SIGTERM\n"),
    signal.SIGHUP: (129, "temper: ended by SIGHUP\n"),
}


@contextmanager
def started(seconds: float, *options: str) -> Iterator["subprocess.Popen[str]"]:
    """Start a program that takes so many seconds to tidy up."""
    # Whoever runs the tests may have them ignored.
    default = "--default-signal=INT,TERM,HUP"
    program = PROGRAM.format(seconds=seconds)
    process = subprocess.Popen(
        ["env", default, *options, sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert heard(process) == "up"
        yield process
    finally:
        process.kill()
        process.wait(60)


def heard(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.parametrize("number", ENDING)
def test_what_was_begun_is_tidied_up_and_told(number: signal.Signals) -> None:
    with started(0) as process:
        process.send_signal(number)
        out, said = process.communicate(timeout=60)
    assert out == "tidying\ntidy\n"
    assert (process.returncode, said) == ENDING[number]


@pytest.mark.parametrize("second", ENDING)
def test_a_second_signal_ends_it_at_once(second: signal.Signals) -> None:
    with started(300) as process:
        process.send_signal(signal.SIGTERM)
        assert heard(process) == "tidying"
        time.sleep(0.6)
        process.send_signal(second)
        assert process.communicate(timeout=60) == ("", "")
    assert process.returncode == ENDING[second][0]


def test_a_signal_sent_twice_is_one() -> None:
    """As timeout(1) sends it: to the process, and to its group."""
    with started(1) as process:
        process.send_signal(signal.SIGTERM)
        assert heard(process) == "tidying"
        process.send_signal(signal.SIGTERM)
        out, said = process.communicate(timeout=60)
    assert out == "tidy\n"
    assert (process.returncode, said) == ENDING[signal.SIGTERM]


@pytest.mark.parametrize("number", ENDING)
def test_what_is_ignored_stays_so(number: signal.Signals) -> None:
    """That is what nohup does, and what shells do in the background."""
    with started(0, f"--ignore-signal={number.name}") as process:
        process.send_signal(number)
        other = signal.SIGTERM if number != signal.SIGTERM else signal.SIGINT
        time.sleep(0.2)
        process.send_signal(other)
        process.communicate(timeout=60)
    assert process.returncode == ENDING[other][0]
