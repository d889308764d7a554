"""Builds a QEMU of our own, for what no packaged one emulates."""

import re
import sys
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from temper.debian.source import unpack_source
from temper.digest import file_digest, key_of
from temper.errors import BuildError, InfraError
from temper.kernel.cache import Cache, Entry, EntryFacts
from temper.kernel.series import apply_series
from temper.machine.qemu.launch import qemu_version
from temper.paths import REPOSITORY
from temper.process import call, need_tool
from temper.progress import Progress, Task

PATCHES = REPOSITORY / "emulator" / "patches"
PROGRAM = "qemu-system-aarch64"
SUITE = "trixie"
"""Debian 13, whose QEMU is 10.0 for as long as Debian serves it."""

_RECIPE = 1
"""Raise it if a change to this file changes the QEMU that it builds."""
_CONFIGURE = (
    "--target-list=aarch64-softmmu",
    *("--without-default-features", "--enable-tcg", "--enable-plugins"),
    *("--enable-fdt=system", "--disable-docs", "--disable-install-blobs"),
    *("--disable-werror", "--disable-debug-info"),
)
_TOOLS = ("gcc", "ninja", "pkg-config", "flex", "bison")
_LIBRARIES = "if a library is missing: apt-get install libglib2.0-dev libfdt-dev"
_CONFIGURE_TIMEOUT = 900.0
_BUILD_TIMEOUT = 2 * 3600.0
_BUILD = "build"
_WHEELS_LIST = "pythondeps.toml"
_FETCH_TIMEOUT = 300.0
_STEP = re.compile(r"^\[(\d+)/(\d+)\] ")


@dataclass(frozen=True)
class OwnQemu:
    """A QEMU of ours, in the cache."""

    program: Path
    version: str
    """As the program says it."""
    patches: tuple[str, ...]
    built: bool
    """True if it was just built, False if it was in the cache."""


def own_qemu(cache: Cache, progress: Progress) -> OwnQemu:
    """Return Debian's QEMU for arm64 with our patches; build it if it is not there.

    Raises InfraError without what the build needs, SeriesError if a patch does not
    apply, BuildError if the build fails.
    """
    patches = _patches()

    def make(result: Path, work: Path) -> EntryFacts:
        _need_tools()
        tree = patched_source(cache, work, progress)
        configure(tree, progress)
        build(tree, progress).rename(result / PROGRAM)
        return {"patches": [patch.name for patch in patches]}

    title = f"{PROGRAM} of ours"
    return _of(cache.entry("programs", _key(patches), title, make, progress))


def is_built(cache: Cache) -> bool:
    """Whether the QEMU of ours is in the cache, as it is now."""
    return _key(_patches()) in cache.keys("programs")


def _key(patches: Iterable[Path]) -> str:
    return key_of(
        {
            "recipe": _RECIPE,
            "suite": SUITE,
            "configure": _CONFIGURE,
            "patches": [file_digest(patch) for patch in patches],
        }
    )


def _patches() -> list[Path]:
    return sorted(PATCHES.glob("*.patch"))


def patched_source(cache: Cache, work: Path, progress: Progress) -> Path:
    """Return QEMU's source with Debian's patches and ours, in a folder in ``work``."""
    with progress.task("Fetching QEMU's source"):
        tree = unpack_source("qemu", SUITE, cache, work)
        _add_wheels(tree)
    apply_series(tree, _patches(), progress)
    return tree


def _add_wheels(tree: Path) -> None:
    """Fetch the Meson that QEMU's build wants, which Debian's source is without.

    Raises InfraError if it is not to be had.
    """
    wanted = tomllib.loads((tree / _WHEELS_LIST).read_text(encoding="utf-8"))["meson"]
    names = [f"{name}=={each['installed']}" for name, each in wanted.items()]
    environment = tree / "pip"
    pip = str(environment / "bin" / "pip")
    wheels = str(tree / "python" / "wheels")
    for words in (
        (sys.executable, "-m", "venv", str(environment)),
        (pip, "download", "--no-deps", "--quiet", "--dest", wheels, *names),
    ):
        done = call(words, tree, _FETCH_TIMEOUT)
        if done.status:
            raise InfraError(
                f"{' and '.join(names)} cannot be fetched: {done.tail(1)}",
                "check the network, as for 'pip download'",
            )


def _of(entry: Entry) -> OwnQemu:
    program = entry.folder / PROGRAM
    patches = tuple(entry.facts["patches"])
    return OwnQemu(program, qemu_version(str(program)), patches, entry.made)


def _need_tools() -> None:
    for tool in _TOOLS:
        need_tool(tool)


def configure(tree: Path, progress: Progress) -> None:
    """Prepare the build of a source; raise BuildError if that fails."""
    folder = tree / _BUILD
    folder.mkdir()
    words = (str(tree / "configure"), f"--python={sys.executable}", *_CONFIGURE)
    with progress.task("Configuring QEMU"):
        done = call(words, folder, _CONFIGURE_TIMEOUT)
    if done.status:
        raise BuildError(f"QEMU cannot be configured:\n{done.tail(15)}", _LIBRARIES)


def build(tree: Path, progress: Progress) -> Path:
    """Build what has changed in a source; return the program.

    Raises BuildError if that fails.
    """
    command = ["ninja", PROGRAM]
    folder = tree / _BUILD
    with progress.task("Building QEMU") as task:
        done = call(
            command, folder, _BUILD_TIMEOUT, on_line=lambda line: _show(line, task)
        )
    if done.status:
        raise BuildError(f"QEMU does not build:\n{done.tail(15)}")
    return folder / PROGRAM


def _show(line: str, task: Task) -> None:
    if step := _STEP.match(line):
        task.update(int(step[1]), int(step[2]))
