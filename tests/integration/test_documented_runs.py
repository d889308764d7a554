"""The documents' commands, really run as written, on a PATH that has nothing of ours.

What boots for long is only planned. The rest is listed, with a reason.
"""

import os
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest
from lab import kernel_of

from documented import blocks, commands, inline
from temper.catalog import feature_named
from temper.paths import REPOSITORY

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1200)]

BARE_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
PLANNED = ("price", "prove", "compare", "stress", "events", "selftest exact")
RUN = ("doctor", "features", "show", "runs", "report", "cache list")
NOT_RUN = {
    "--install-completion": "writes into the reader's shell",
    "build": "builds; test_kernels.py does",
    "diff": "the runs are the reader's own; test_diff.py does",
    "cache verify": "reads every kernel there is; test_kernel_cache.py does",
    "cache prune": "would remove kernels that other tests need",
    "kernel export": "would write into the series; test_kernel_tree.py does",
    "kernel tree": "unpacks a kernel; test_kernel_tree.py does",
}
"""Command -> why it is not run here."""

WRITTEN = sorted(
    {
        each.words
        for block in (*blocks(), *inline())
        for each in commands(block)
        if each.words[0] == "./temper" and each.words[1:]
    }
)


def started(command: str, data: Path) -> "subprocess.Popen[str]":
    """Start a command as a reader would, in the checkout; it may be interrupted."""
    env = {
        name: value
        for name, value in os.environ.items()
        if name not in ("VIRTUAL_ENV", "PYTHONPATH", "TEMPER_STORE")
    }
    return subprocess.Popen(
        # What runs in the background of a shell ignores Ctrl-C.
        ["/usr/bin/env", "--default-signal=INT", "/bin/sh", "-c", f"exec {command}"],
        cwd=REPOSITORY,
        env={**env, "PATH": BARE_PATH, "TEMPER_DATA": str(data)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def typed(command: str, data: Path) -> str:
    """Run a command; return what it printed; raise AssertionError if it fails."""
    process = started(command, data)
    output, _ = process.communicate(timeout=600)
    assert process.returncode == 0, output
    return output


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Have a price, measured as a reader would."""
    data = tmp_path_factory.mktemp("data")
    typed("./temper price kstack --variants stock --calls 1000", data)
    return data


def named(words: tuple[str, ...]) -> str:
    """Return which command of Temper it is."""
    known = (*PLANNED, *RUN, *NOT_RUN)
    line = " ".join(words[1:])
    return next((each for each in known if f"{line} ".startswith(f"{each} ")), line)


@pytest.mark.parametrize("words", WRITTEN, ids=map(" ".join, WRITTEN))
def test_a_documented_command_works_as_written(
    words: tuple[str, ...], data: Path
) -> None:
    command = named(words)
    if command in NOT_RUN:
        return
    if command in PLANNED:
        words = to_plan(words)
    else:
        assert command in RUN, "run it, plan it, or say why neither"
    assert typed(shlex.join(words), data)


def to_plan(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the command that only plans; kernels of the reader's are one of ours."""
    if words[1] == "compare":
        image = str(kernel_of(feature_named("kstack"), "off").image)
        words = (*words[:2], image, image, *words[4:])
    # There is nothing to plan in a run that goes on.
    if "--resume" in words:
        at = words.index("--resume")
        words = words[:at] + words[at + 2 :]
    return (*words, *(() if "--plan" in words else ("--plan",)))


def test_the_list_of_what_is_not_run_is_not_too_long() -> None:
    assert NOT_RUN.keys() <= set(map(named, WRITTEN))


def test_a_run_that_was_interrupted_resumes_by_the_command_it_names(
    tmp_path: Path,
) -> None:
    """Ctrl-C reaches the program behind the launcher, and its hint can be typed."""
    process = started("./temper price kstack --variants stock", tmp_path)
    deadline = time.monotonic() + 300
    while not list(tmp_path.glob("runs/*/*.console.txt")):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    resume = output.rpartition("resume with: ")[2].strip()
    assert resume.startswith("./temper price kstack ")
    assert "Price of kstack" in typed(resume, tmp_path)


def test_reports_name_the_command_that_reproduces_them(
    data: Path, tmp_path: Path
) -> None:
    page, mail = tmp_path / "report.html", tmp_path / "report.md"
    typed(f"./temper report --html {page} --md {mail}", data)
    for report in (page, mail):
        assert "./temper price kstack" in report.read_text(encoding="utf-8")
