"""The load that a selftest puts on this host."""

import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from temper.errors import InfraError
from temper.record.plan import HostLoad
from temper.run.load import host_load

LOAD = HostLoad(stressors=("--cpu", "1"), longest_stop=0.1, longest_run=0.05)
PATIENCE = 20.0


def state(pid: int) -> str:
    """Return the letter of a process's state; ``T`` is stopped."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def seen(pid: int, letter: str, within: float = PATIENCE) -> bool:
    end = time.monotonic() + within
    while time.monotonic() < end:
        if state(pid) == letter:
            return True
        time.sleep(0.002)
    return False


@pytest.fixture
def emulator(tmp_path: Path) -> Iterator[int]:
    """Start what has a QEMU's name."""
    program = tmp_path / "qemu-system-fake"
    shutil.copy("/bin/sleep", program)
    with subprocess.Popen([program, "600"]) as process:
        yield process.pid
        process.kill()


@pytest.fixture
def bystander() -> Iterator[int]:
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process.pid
        process.kill()


def children(pid: int | str) -> list[int]:
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(word) for path in lists for word in path.read_text().split()]


def hogs() -> list[int]:
    """Return the stressors below us."""
    return [
        hog
        for child in children("self")
        if "stress-ng" in Path(f"/proc/{child}/comm").read_text()
        for hog in children(child)
    ]


def test_qemu_is_stopped_and_goes_on(emulator: int, bystander: int) -> None:
    with host_load(LOAD):
        assert seen(emulator, "T")
        assert seen(emulator, "S")
        assert not seen(bystander, "T", within=2)
    assert state(emulator) == "S"


def test_stressors_run_for_the_length_of_the_block_only() -> None:
    with host_load(LOAD):
        end = time.monotonic() + PATIENCE
        while not (found := hogs()) and time.monotonic() < end:
            time.sleep(0.05)
        assert found
    assert not any(Path(f"/proc/{pid}").exists() for pid in found)


def test_stressors_that_end_early_are_noticed() -> None:
    bad = LOAD.model_copy(update={"stressors": ("--no-such-stressor",)})
    with pytest.raises(InfraError, match="stress-ng ended early"), host_load(bad):
        time.sleep(2)


def test_a_missing_stress_ng_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    present = shutil.which
    monkeypatch.setattr(
        shutil, "which", lambda tool: None if tool == "stress-ng" else present(tool)
    )
    with pytest.raises(InfraError) as caught, host_load(LOAD):
        pytest.fail("it began without its stressors")
    assert caught.value.hint == "apt-get install stress-ng"


def test_without_a_load_nothing_is_started() -> None:
    # Other tests may have left a helper of multiprocessing to this process.
    before = children("self")
    with host_load(None):
        assert children("self") == before
