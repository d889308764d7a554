"""The plugin that watches a register: its state machine, on made-up streams."""

import ctypes
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from temper.paths import REPOSITORY

UNTOLD, OPENS, CLOSES, OTHER = range(4)
"""As in plugin/stretches.h."""
KERNEL, HANDLER, USER = 0xFFFFFFFF81000000, 0xFFFFFFFF81000100, 0


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stretches") / "stretches.so"
    names = ("stretches", "tally")
    sources = [str(REPOSITORY / "plugin" / f"{name}.c") for name in names]
    command = (
        "gcc",
        "-std=gnu11",
        "-Wall",
        "-fPIC",
        "-shared",
        "-o",
        str(path),
        *sources,
    )
    subprocess.run(command, check=True, timeout=60)
    return path


class Cpu:
    """Executes instructions, and tells the state machine of them."""

    def __init__(self, library: Path, folder: Path) -> None:
        # Its state is that of a whole QEMU, so each has a copy of its own.
        own = folder / "own.so"
        shutil.copy(library, own)
        self._machine = ctypes.CDLL(str(own))
        self._machine.stretches_place.restype = ctypes.c_void_p
        self._machine.stretches_place.argtypes = [ctypes.c_uint64]
        self._machine.stretches_on_block.argtypes = [ctypes.c_void_p, ctypes.c_uint64]
        self._libc = ctypes.CDLL(None)
        self._libc.fopen.restype = ctypes.c_void_p
        self._libc.fclose.argtypes = [ctypes.c_void_p]
        self._file = folder / "out"
        self._out = self._libc.fopen(str(self._file).encode(), b"w")
        self._now = 0

    def run(self, address: int, count: int) -> None:
        """Run a block of so many instructions."""
        place = self._machine.stretches_place(address)
        self._machine.stretches_on_block(place, self._now)
        self._now += count

    def write(self, write: int) -> None:
        self._now += 1
        self._machine.stretches_on_write(write, ctypes.c_uint64(self._now))

    def begin(self) -> None:
        self._machine.stretches_on_begin(ctypes.c_uint64(self._now))

    def pause(self) -> None:
        self._machine.stretches_on_pause(ctypes.c_uint64(self._now))

    def end(self) -> None:
        self._machine.stretches_on_end(
            ctypes.c_void_p(self._out), ctypes.c_uint64(self._now)
        )

    def section(self, count: int) -> None:
        """Open the register for ``count`` instructions, the closing one included."""
        self.run(KERNEL, 5)
        self.write(OPENS)
        self.run(KERNEL, count - 1)
        self.write(CLOSES)

    def regions(self) -> list[dict[str, Any]]:
        self._libc.fclose(self._out)
        return [json.loads(line) for line in self._file.read_text().splitlines()]

    def region(self) -> dict[str, Any]:
        (only,) = self.regions()
        return only


@pytest.fixture
def cpu(library: Path, tmp_path: Path) -> Iterator[Cpu]:
    yield Cpu(library, tmp_path)


def test_a_stretch_ends_with_the_write_that_closes(cpu: Cpu) -> None:
    cpu.begin()
    cpu.section(1)
    cpu.section(7)
    cpu.section(7)
    cpu.write(OTHER)
    cpu.end()
    assert cpu.region() == {
        "type": "exposure",
        "region": 0,
        "untold": 0,
        "opened": 3,
        "closed": 3,
        "other": 1,
        "closed_again": 0,
        "open_at_marker": 0,
        "stretches": [[1, 1], [7, 2]],
        "places": [[KERNEL, 15]],
    }


def test_an_interrupt_ends_a_stretch_and_another_begins(cpu: Cpu) -> None:
    cpu.begin()
    cpu.run(KERNEL, 2)
    cpu.write(OPENS)
    cpu.run(KERNEL, 10)
    cpu.run(HANDLER, 3)  # its entry
    cpu.write(CLOSES)
    cpu.run(HANDLER, 1000)
    cpu.write(OPENS)
    cpu.run(HANDLER, 2)  # its return
    cpu.run(KERNEL, 4)
    cpu.write(CLOSES)
    cpu.end()
    found = cpu.region()
    assert found["stretches"] == [[7, 1], [14, 1]]
    assert found["places"] == [[KERNEL, 10 + 5], [HANDLER, 4 + 2]]


def test_what_is_open_already_is_not_opened_anew(cpu: Cpu) -> None:
    cpu.begin()
    cpu.write(OPENS)
    cpu.run(KERNEL, 5)
    cpu.write(OPENS)
    cpu.run(KERNEL, 5)
    cpu.write(CLOSES)
    cpu.end()
    found = cpu.region()
    assert (found["opened"], found["stretches"]) == (2, [[12, 1]])


def test_what_is_closed_already_is_told(cpu: Cpu) -> None:
    cpu.write(CLOSES)
    cpu.begin()
    cpu.section(3)
    cpu.write(CLOSES)
    cpu.end()
    found = cpu.region()
    assert (found["closed_again"], found["stretches"]) == (1, [[3, 1]])


def test_what_cannot_be_told_is_counted_and_changes_nothing(cpu: Cpu) -> None:
    cpu.write(UNTOLD)
    cpu.begin()
    cpu.write(UNTOLD)
    cpu.section(3)
    cpu.end()
    found = cpu.region()
    assert (found["untold"], found["stretches"]) == (1, [[3, 1]])


def test_nothing_counts_outside_regions_and_in_pauses(cpu: Cpu) -> None:
    cpu.section(3)
    cpu.begin()
    cpu.section(4)
    cpu.pause()
    cpu.section(5)
    cpu.begin()
    cpu.section(6)
    cpu.end()
    cpu.section(7)
    cpu.begin()
    cpu.end()
    first, second = cpu.regions()
    assert first["stretches"] == [[4, 1], [6, 1]]
    assert first["opened"] == first["closed"] == 2
    assert first["places"] == [[KERNEL, 10]]
    assert (second["region"], second["stretches"], second["places"]) == (1, [], [])


def test_a_register_left_open_at_a_marker_is_told(cpu: Cpu) -> None:
    cpu.begin()
    cpu.write(OPENS)
    cpu.run(KERNEL, 5)
    cpu.run(USER, 20)
    cpu.end()
    cpu.begin()
    cpu.run(KERNEL, 3)
    cpu.write(CLOSES)
    cpu.section(2)
    cpu.end()
    first, second = cpu.regions()
    assert (first["open_at_marker"], second["open_at_marker"]) == (1, 1)
    assert first["places"] == [[USER, 20], [KERNEL, 5]]
    # Nobody knows how long it was, so only the other one has a length.
    assert (first["stretches"], second["stretches"]) == ([], [[2, 1]])
