"""The documents' commands, really run as written, on a PATH that has nothing of ours.

What boots for long is only planned. The rest is listed, with a reason. make check takes
the first of each kind; test_documented_commands.py reads them all. The README's
sample is what `make demo` prints: ``TEMPER_REGENERATE=1 .venv/bin/pytest
tests/integration/test_documented_runs.py`` writes it anew; look at the difference
before committing it.
"""

import os
import re
import shlex
import signal
import subprocess
import time
from dataclasses import dataclass
from json import loads
from pathlib import Path
from typing import Any

import pytest
from lab import kernel_of, need_known_kernel

from documented import blocks, commands, inline
from documented import demo as recipe
from temper.arch import arch_named
from temper.catalog import feature_named
from temper.paths import REPOSITORY

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1200)]

BARE_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
PLANNED = (
    "price",
    "prove",
    "compare",
    "audit",
    "exposure",
    "stress",
    "events",
    "selftest exact",
)
RUN = ("doctor", "features", "show", "runs", "report", "history", "man", "cache list")
NOT_RUN = {
    "--install-completion": "writes into the reader's shell",
    "build": "builds; test_kernels.py does",
    "diff": "the runs are the reader's own; test_diff.py does",
    "emulator": "builds a QEMU; test_overlays.py does",
    "delete": "the runs are the reader's own; test_cli_runs.py does",
    "merge": "the shards are the reader's own; test_merging.py does",
    "cache verify": "reads every kernel there is; test_kernel_cache.py does",
    "cache prune": "would remove kernels that other tests need",
    "mutate": "compiles mutants even to plan them; test_series_mutants.py does",
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


@dataclass(frozen=True)
class Demo:
    """What `make demo` printed, and where its results are."""

    data: Path
    printed: dict[str, str]
    """Command -> its output."""
    report: dict[str, Any]
    """The price, as JSON."""

    @property
    def sample(self) -> str:
        """What the README shows of it: tables and verdicts."""
        shown = [
            f"$ {command}\n\n{first_table(output)}\n\n{verdict(output)}\n"
            for command, output in self.printed.items()
        ]
        return "```text\n" + "\n".join(shown) + "```\n"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    data, json = (tmp_path_factory.mktemp(name) for name in ("data", "json"))
    lines = [line for line in demo_lines() if "--variants" in line]
    printed = {line: typed(line, data) for line in lines}
    typed(f"./temper report {len(lines)} --json {json}/price", data)
    return Demo(data, printed, loads((json / "price").read_bytes()))


@pytest.fixture(scope="module")
def data(demo: Demo) -> Path:
    return demo.data


def demo_lines() -> list[str]:
    return [line for line in recipe().splitlines() if line.startswith("./temper")]


def paragraphs(output: str) -> list[str]:
    """Return what has empty lines around it, without spaces at the ends of lines."""
    lines = [line.rstrip() for line in output.splitlines()]
    return re.split(r"\n\n+", "\n".join(lines).strip("\n"))


def first_table(output: str) -> str:
    return next(each for each in paragraphs(output) if re.search("^─+$", each, re.M))


def verdict(output: str) -> str:
    return paragraphs(output)[-1]


def test_the_readmes_sample_is_what_make_demo_prints(demo: Demo) -> None:
    readme = REPOSITORY / "README.md"
    text = readme.read_text(encoding="utf-8")
    place = re.compile("(^<!-- demo -->\n)(.*?)(^<!-- /demo -->$)", re.M | re.DOTALL)
    found = place.search(text)
    assert found, f"{readme} has no place for the sample"
    need_known_kernel(demo.report)
    if os.environ.get("TEMPER_REGENERATE"):
        new = f"{text[: found.start(2)]}{demo.sample}{text[found.end(2) :]}"
        readme.write_text(new, encoding="utf-8")
    else:
        assert found[2] == demo.sample


def named(words: tuple[str, ...]) -> str:
    """Return which command of Temper it is."""
    known = (*PLANNED, *RUN, *NOT_RUN)
    line = " ".join(words[1:])
    return next((each for each in known if f"{line} ".startswith(f"{each} ")), line)


FIRST = {named(words): words for words in reversed(WRITTEN)}


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(
            words,
            marks=() if words == FIRST[named(words)] else pytest.mark.check_all,
            id=" ".join(words),
        )
        for words in WRITTEN
    ],
)
def test_a_documented_command_works_as_written(
    words: tuple[str, ...], data: Path
) -> None:
    command = named(words)
    if command in NOT_RUN:
        return
    kept = [word for word in words[1:] if (REPOSITORY / word).is_file()]
    assert not kept, "it may write over files of the checkout"
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
    if words[1] == "audit":
        arch = arch_named("arm64" if "arm64" in words else "x86_64")
        image = str(kernel_of(feature_named("kstack"), "off", arch).image)
        words = (*words[:2], image, *words[3:])
    # There is nothing to plan in a run that goes on, and a plan has no test results.
    # A policy and the lines of another checker are the reader's own.
    for option in ("--resume", "--ktap", "--junit", "--policy", "--join"):
        if option in words:
            at = words.index(option)
            words = words[:at] + words[at + 2 :]
    return (*words, *(() if "--plan" in words else ("--plan",)))


def test_the_list_of_what_is_not_run_is_not_too_long() -> None:
    assert NOT_RUN.keys() <= set(map(named, WRITTEN))


def test_a_run_that_was_interrupted_resumes_by_the_command_it_names(
    tmp_path: Path,
) -> None:
    """Ctrl-C reaches the program behind the launcher, and its hint can be typed."""
    price = "./temper price kstack --variants stock --calls 1000 --layouts 1"
    process = started(price, tmp_path)
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
