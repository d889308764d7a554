"""The host that boots run on, as a report names it."""

import platform
from pathlib import Path


def host_title(root: Path = Path("/")) -> str:
    """Name the host, its CPU and its kernel; ``root`` is the folder with proc/."""
    host = platform.uname()
    parts = (_cpu(root / "proc/cpuinfo"), host.machine, f"{host.system} {host.release}")
    return f"{host.node} ({', '.join(part for part in parts if part)})"


def _cpu(info: Path) -> str:
    """Return the name of the CPU; empty where the kernel names none, as on arm64."""
    try:
        lines = info.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    names = (line.partition(":") for line in lines)
    return next(
        (name.strip() for key, _, name in names if key.strip() == "model name"), ""
    )
