import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from temper.errors import InfraError
from temper.process import call


def alive(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def wait_for(path: Path) -> str:
    for _ in range(100):
        if path.exists() and path.read_text().strip():
            return path.read_text().strip()
        time.sleep(0.1)
    raise AssertionError(f"{path} never came")


def gone_soon(pid: int) -> bool:
    for _ in range(100):
        if not alive(pid):
            return True
        time.sleep(0.1)
    return False


def test_lines_come_as_they_are_printed(tmp_path: Path) -> None:
    seen: list[str] = []
    done = call(
        ["sh", "-c", "echo a; echo b >&2; exit 3"], tmp_path, 10, on_line=seen.append
    )
    assert (done.status, done.lines, seen) == (3, ["a", "b"], ["a", "b"])


def test_a_missing_program_is_named_with_its_package(tmp_path: Path) -> None:
    with pytest.raises(InfraError, match="'no-such-tool' is missing") as error:
        call(["no-such-tool"], tmp_path, 10)
    assert error.value.hint == "apt-get install no-such-tool"


def test_a_slow_program_is_stopped_with_its_children(tmp_path: Path) -> None:
    command = "sleep 600 & echo $! > child; wait"
    with pytest.raises(InfraError, match="'sh' was stopped after more than 1 s"):
        call(["sh", "-c", command], tmp_path, 1)
    assert gone_soon(int((tmp_path / "child").read_text()))


def test_a_full_disk_is_told_from_other_failures(tmp_path: Path) -> None:
    with pytest.raises(InfraError, match=r"disk of .* is full") as error:
        call(["sh", "-c", "echo 'ld: No space left on device'; exit 1"], tmp_path, 10)
    assert error.value.hint == "temper cache prune"


def test_an_exception_ends_the_children(tmp_path: Path) -> None:
    def interrupt(line: str) -> None:
        raise KeyboardInterrupt

    command = "sleep 600 & echo $! > child; echo up; wait"
    with pytest.raises(KeyboardInterrupt):
        call(["sh", "-c", command], tmp_path, 60, on_line=interrupt)
    assert gone_soon(int((tmp_path / "child").read_text()))


def test_children_that_ignore_requests_end_too(tmp_path: Path) -> None:
    def interrupt(line: str) -> None:
        raise KeyboardInterrupt

    command = "(trap '' TERM; exec sleep 600) & echo $! > child; sleep 1; echo up; wait"
    with pytest.raises(KeyboardInterrupt):
        call(["sh", "-c", command], tmp_path, 60, on_line=interrupt)
    assert gone_soon(int((tmp_path / "child").read_text()))


def test_a_program_dies_with_us(tmp_path: Path) -> None:
    code = (
        "from pathlib import Path; from temper.process import call;"
        "call(['sh', '-c', 'echo $$ > pid; exec sleep 600'], Path('.'), 600)"
    )
    us = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path)
    child = int(wait_for(tmp_path / "pid"))
    os.kill(us.pid, signal.SIGKILL)
    us.wait(10)
    assert gone_soon(child)
