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
from contextlib import nullcontext
from temper.exits import exit_with_message
from temper.signals import signals_held

# An exception in print() may have it print twice.
with exit_with_message(), {around} as deliver:
    try:
        os.write(1, b"up\\n")
        while True:
            time.sleep(0.1)
            deliver()
    finally:
        os.write(1, b"tidying\\n")
        time.sleep({seconds})
        os.write(1, b"tidy\\n")
"""
AROUND = {"raised": "nullcontext(lambda: None)", "held": "signals_held()"}
ENDING = {
    signal.SIGINT: (130, "temper: interrupted\n"),
    signal.SIGTERM: (143, "temper: ended by SIGTERM\n"),
    signal.SIGHUP: (129, "temper: ended by SIGHUP\n"),
}


@contextmanager
def started(
    around: str, seconds: float, *options: str
) -> Iterator["subprocess.Popen[str]"]:
    """Start a program that takes so many seconds to tidy up."""
    # Whoever runs the tests may have them ignored.
    default = "--default-signal=INT,TERM,HUP"
    program = PROGRAM.format(around=AROUND[around], seconds=seconds)
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


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("number", ENDING)
def test_what_was_begun_is_tidied_up_and_told(
    around: str, number: signal.Signals
) -> None:
    with started(around, 0) as process:
        process.send_signal(number)
        out, said = process.communicate(timeout=60)
    assert out == "tidying\ntidy\n"
    assert (process.returncode, said) == ENDING[number]


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("second", ENDING)
def test_a_second_signal_ends_it_at_once(around: str, second: signal.Signals) -> None:
    with started(around, 300) as process:
        process.send_signal(signal.SIGTERM)
        assert heard(process) == "tidying"
        time.sleep(0.6)
        process.send_signal(second)
        assert process.communicate(timeout=60) == ("", "")
    assert process.returncode == ENDING[second][0]


@pytest.mark.parametrize("around", AROUND)
def test_a_signal_sent_twice_is_one(around: str) -> None:
    """As timeout(1) sends it: to the process, and to its group."""
    with started(around, 1) as process:
        process.send_signal(signal.SIGTERM)
        assert heard(process) == "tidying"
        process.send_signal(signal.SIGTERM)
        out, said = process.communicate(timeout=60)
    assert out == "tidy\n"
    assert (process.returncode, said) == ENDING[signal.SIGTERM]


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("number", ENDING)
def test_what_is_ignored_stays_so(around: str, number: signal.Signals) -> None:
    """That is what nohup does, and what shells do in the background."""
    with started(around, 0, f"--ignore-signal={number.name}") as process:
        process.send_signal(number)
        other = signal.SIGTERM if number != signal.SIGTERM else signal.SIGINT
        time.sleep(0.2)
        process.send_signal(other)
        process.communicate(timeout=60)
    assert process.returncode == ENDING[other][0]
