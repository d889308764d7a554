"""Builds plugins for the QEMU at hand."""

import re
import tempfile
from functools import cache
from pathlib import Path

from temper.arch import Arch
from temper.digest import file_digest, key_of
from temper.errors import BuildError, InfraError
from temper.kernel.cache import Cache, EntryFacts
from temper.paths import REPOSITORY
from temper.process import call
from temper.progress import Progress
from temper.scratch import scratch_folder

SOURCES = REPOSITORY / "plugin"
LEVELS = range(1, 8)
"""API levels that plugin/qemu_plugin.h knows."""

_FLAGS = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared")
# Two of them in one QEMU must not call each other's functions.
_HIDDEN = "-fvisibility=hidden"
_TIMEOUT = 60.0

# QEMU turns this down and says which level it speaks.
_PROBE = """\
int qemu_plugin_version = 1 << 20;
int qemu_plugin_install(void);
int qemu_plugin_install(void) { return 1; }
"""


@cache
def api_level(qemu: str) -> int:
    """Ask the program ``qemu`` for its plugin API level.

    Raises InfraError if it has none, or one we do not know.
    """
    with scratch_folder() as folder:
        probe = folder / "probe.so"
        _compile(["-x", "c", "-"], probe, _PROBE)
        command = [qemu, "-M", "none", "-display", "none", "-plugin", str(probe)]
        answer = call(command, folder, _TIMEOUT).tail(1)
    found = re.search(r"only up to version (\d+)", answer)
    if found is None:
        raise InfraError(
            f"{qemu} cannot load plugins: {answer}",
            "Debian's qemu-system packages can; is another one first on the PATH?",
        )
    level = int(found[1])
    if level not in LEVELS:
        raise InfraError(
            f"{qemu} speaks plugin API level {level}; known are "
            f"{LEVELS[0]} to {LEVELS[-1]}",
            "plugin/qemu_plugin.h has to learn it",
        )
    return level


def sources_digest() -> str:
    """Return the digest of all that plugins are built from."""
    return key_of({path.name: file_digest(path) for path in SOURCES.glob("*.[ch]")})


PLUGINS = {"counts": (), "exposure": ("stretches", "tally")}
"""Plugin -> its C files besides its own and those that all have."""


def build_plugin(
    name: str, arch: Arch, level: int, cache: Cache, progress: Progress
) -> Path:
    """Return a plugin for guests of ``arch``, built for an API level."""
    stems = (name, *PLUGINS[name], "levels", f"classes_{arch.name}")
    key = key_of(
        {
            "files": {
                path.name: path.read_text(encoding="utf-8")
                for path in sorted(SOURCES.glob("*.[ch]"))
            },
            "plugin": name,
            "arch": arch.name,
            "level": level,
            "flags": (*_FLAGS, _HIDDEN),
        }
    )

    def make(result: Path, _work: Path) -> EntryFacts:
        sources = [str(SOURCES / f"{stem}.c") for stem in stems]
        flags = (_HIDDEN, f"-DTEMPER_PLUGIN_API={level}")
        _compile([*flags, *sources], result / f"{name}.so")
        return {"arch": arch.name, "level": level}

    title = f"QEMU plugin {name} for {arch.name}, API level {level}"
    return cache.entry("programs", key, title, make, progress).folder / f"{name}.so"


def _compile(arguments: list[str], output: Path, source: str = "") -> None:
    command = ["gcc", *_FLAGS, *arguments, "-o", str(output)]
    with tempfile.TemporaryFile() as stdin:
        stdin.write(source.encode())
        stdin.seek(0)
        done = call(command, output.parent, _TIMEOUT, stdin=stdin)
    if done.status:
        raise BuildError(f"the QEMU plugin does not build:\n{done.tail(15)}")
