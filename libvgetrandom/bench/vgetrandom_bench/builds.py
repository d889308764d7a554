# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builds the library, the workers and what they need to run."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from vgetrandom_bench.glibc import Loader, find_glibc
from vgetrandom_bench.host import BuildError, InfraError, Progress, call, need_tool

LIBRARY = Path(__file__).resolve().parents[2]
PEERS = LIBRARY / "bench" / "peers"

_NEEDS = {
    "rust": "needs Rust 1.85 and its crates: scripts/setup bench",
    "go": "needs Go 1.24, which Debian 13 has: scripts/setup bench",
    "glibc": "needs libc6 of Debian 13",
}
_TIMEOUT = 1800.0
"""Seconds: AWS-LC is large, and machines may be small."""


@dataclass(frozen=True)
class Built:
    """What can run, and why the rest is missing."""

    folder: Path
    """The build folder of meson."""
    rust: Path
    go: Path
    glibc: Loader | None
    failures: Mapping[str, str] = field(default_factory=dict)
    """For ``rust``, ``go``, ``glibc``: why it is missing, and how to get it."""


def build(folder: Path, progress: Progress) -> Built:
    """Build everything in ``folder``, which is meson's build folder.

    Raises BuildError if the library or a worker in C does not build; the result
    names the peers that do not.
    """
    peers = folder / "bench-peers"
    peers.mkdir(parents=True, exist_ok=True)
    failures: dict[str, str] = {}
    _build_workers(folder, progress)
    with _peer("rust", "workers in Rust, with AWS-LC", failures, progress) as step:
        step(
            ["cargo", "build", "--release", "--locked"],
            PEERS / "rust",
            {"CARGO_TARGET_DIR": str(peers / "rust")},
        )
    with _peer("go", "the worker in Go", failures, progress) as step:
        step(
            [
                "go",
                "build",
                "-trimpath",
                "-buildvcs=false",
                "-o",
                str(peers / "go"),
                ".",
            ],
            PEERS / "go",
            {"GOTOOLCHAIN": "local"},
        )
    loader = None
    with _peer("glibc", "Debian 13's libc", failures, progress):
        loader = find_glibc(peers)
    return Built(
        folder=folder,
        rust=peers / "rust" / "release" / "vgetrandom-bench-peers",
        go=peers / "go",
        glibc=loader,
        failures=failures,
    )


def _build_workers(folder: Path, progress: Progress) -> None:
    again = ["--reconfigure"] if (folder / "build.ninja").exists() else []
    with progress.task("building the library and the workers in C"):
        # Configure again each time, since a package may have been installed meanwhile.
        _run(["meson", "setup", *again, str(folder)], LIBRARY, {})
        _run(["ninja", "-C", str(folder), "all", "bench-workers"], LIBRARY, {})


Step = Callable[[list[str], Path, Mapping[str, str]], None]


@contextmanager
def _peer(
    name: str, title: str, failures: dict[str, str], progress: Progress
) -> Iterator[Step]:
    """Continue without a peer that is not available; note why and what it needs."""
    with progress.task(f"building or fetching {title}"):
        try:
            yield _run
        except InfraError as error:
            failures[name] = f"{_NEEDS[name]} ({error.message})"
        except BuildError as error:
            last = error.hint.splitlines()[-1:]
            failures[name] = f"{_NEEDS[name]} ({': '.join([error.message, *last])})"


def _run(command: list[str], cwd: Path, env: Mapping[str, str]) -> None:
    need_tool(command[0])
    done = call(
        ["nice", *command],
        cwd,
        _TIMEOUT,
        env={**os.environ, **env},
    )
    if done.status:
        raise BuildError(f"'{' '.join(command[:2])}' failed", done.tail(15))
