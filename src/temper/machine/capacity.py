"""How much of this host we may use."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Capacity:
    """CPUs and memory that may be used now."""

    cpus: int
    memory: int
    """In MiB."""

    def boots(self, cpus: int, memory: int) -> int:
        """Say how many boots fit at once; ``cpus`` and MiB are those of each.

        One always does: whether it really fits is for the host to say.
        """
        return max(1, min(self.cpus // cpus, self.memory // memory))


def host_capacity(root: Path = Path("/")) -> Capacity:
    """Look what the scheduler and the cgroups leave us.

    ``root`` is the folder in which proc/ and sys/ are.
    """
    groups = list(_groups(root))
    quotas = [each for each in map(_quota, groups) if each is not None]
    limits = [each for each in map(_room, groups) if each is not None]
    return Capacity(
        cpus=max(1, int(min((len(os.sched_getaffinity(0)), *quotas)))),
        memory=min((_available(root), *limits)) >> 20,
    )


def _groups(root: Path) -> Iterator[Path]:
    """Return our cgroup and those around it: each of them may have limits."""
    mounted = root / "sys/fs/cgroup"
    for line in _text(root / "proc/self/cgroup").splitlines():
        number, _controllers, path = line.split(":", 2)
        # Version 2 is the hierarchy without a number of its own.
        if number == "0":
            own = mounted / path.removeprefix("/")
            yield from (own, *own.parents[: len(own.parts) - len(mounted.parts)])


def _quota(group: Path) -> float | None:
    """Return the CPUs' worth of time a cgroup has; None: as much as it likes."""
    quota, *period = _words(group / "cpu.max") or ["max"]
    return None if quota == "max" else float(quota) / float(period[0])


def _room(group: Path) -> int | None:
    """Return the bytes a cgroup may still take; None: as many as it likes."""
    limit = _words(group / "memory.max") or ["max"]
    used = _words(group / "memory.current") or ["0"]
    return None if limit == ["max"] else max(0, int(limit[0]) - int(used[0]))


def _available(root: Path) -> int:
    words = _words(root / "proc/meminfo")
    return int(words[words.index("MemAvailable:") + 1]) << 10


def _words(path: Path) -> list[str]:
    return _text(path).split()


def _text(path: Path) -> str:
    """Return what a file says; nothing where the host is without it."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
