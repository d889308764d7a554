"""How much of a host may be used, where proc/ and sys/ are made up."""

import os
from pathlib import Path

import pytest

from temper.machine.capacity import Capacity, host_capacity

GIB = 1024


class Root:
    """A host of 8 CPUs with 16 GiB free, in a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.put("proc/meminfo", "MemTotal: 33554432 kB\nMemAvailable: 16777216 kB\n")
        self.put("proc/self/cgroup", "0::/slice/job\n")

    def put(self, name: str, text: str) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def limit(self, group: str, name: str, text: str) -> None:
        self.put(f"sys/fs/cgroup/{group}/{name}", text)

    @property
    def capacity(self) -> Capacity:
        return host_capacity(self.path)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Root:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)))
    return Root(tmp_path)


def test_without_cgroups_the_host_is_ours(root: Root) -> None:
    (root.path / "proc/self/cgroup").unlink()
    assert root.capacity == Capacity(cpus=8, memory=16 * GIB)


def test_cpus_we_may_not_run_on_do_not_count(
    root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {3, 5})
    assert root.capacity.cpus == 2


@pytest.mark.parametrize("group", ["slice/job", "slice", "."])
def test_a_quota_counts_wherever_it_is_set(root: Root, group: str) -> None:
    root.limit("slice/job", "cpu.max", "max 100000\n")
    root.limit(group, "cpu.max", "250000 100000\n")
    assert root.capacity.cpus == 2


def test_less_than_a_cpu_is_one(root: Root) -> None:
    root.limit("slice", "cpu.max", "50000 100000\n")
    assert root.capacity.cpus == 1


def test_memory_is_what_the_group_has_left(root: Root) -> None:
    root.limit("slice/job", "memory.max", "max\n")
    root.limit("slice", "memory.max", f"{4 << 30}\n")
    root.limit("slice", "memory.current", f"{1 << 30}\n")
    assert root.capacity.memory == 3 * GIB


def test_a_group_that_is_full_has_no_room(root: Root) -> None:
    root.limit("slice/job", "memory.max", "5\n")
    root.limit("slice/job", "memory.current", "9\n")
    assert root.capacity.memory == 0


def test_groups_of_the_older_kind_are_passed_over(root: Root) -> None:
    root.put("proc/self/cgroup", "1:cpu:/x\n0::/\n")
    root.limit("x", "cpu.max", "100000 100000\n")
    assert root.capacity.cpus == 8


@pytest.mark.parametrize(
    ("cpus", "memory", "boots"),
    [(1, 1, 8), (2, 1, 4), (1, 4 * GIB, 4), (16, 1, 1), (1, 64 * GIB, 1)],
)
def test_as_many_boots_as_cpus_and_memory_allow(
    cpus: int, memory: int, boots: int
) -> None:
    assert Capacity(cpus=8, memory=16 * GIB).boots(cpus, memory) == boots
