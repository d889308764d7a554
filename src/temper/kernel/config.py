"""What a kernel's configuration must contain, and whether it does."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

from temper.arch import Arch
from temper.errors import BuildError, InputError
from temper.paths import REPOSITORY

FRAGMENTS = REPOSITORY / "kernel"
"""For each architecture, the options of all kernels: see the README.md there."""

Options = dict[str, str]
"""CONFIG_X -> its value as in .config; ``n`` if it is not set."""

_SET = re.compile(r"(CONFIG_\w+)=(\S.*)")
_UNSET = re.compile(r"# (CONFIG_\w+) is not set")


def wanted_options(arch: Arch, lines: Iterable[str]) -> Options:
    """Return the architecture's options and those in ``lines``; later lines win.

    Raises InputError for a line that is not an option.
    """
    fragment = (FRAGMENTS / f"{arch.name}.config").read_text(encoding="utf-8")
    options: Options = {}
    for line in (*fragment.splitlines(), *lines):
        found = parse_config(line)
        if not found and line.strip() and not line.startswith("#"):
            raise InputError(
                f"'{line}' is not a kernel option",
                "write CONFIG_X=y or '# CONFIG_X is not set'",
            )
        options |= found
    return options


def build_steps(arch: Arch) -> int:
    """Return roughly how many steps a build takes."""
    hints = tomllib.loads((FRAGMENTS / f"{arch.name}.toml").read_text("utf-8"))
    return int(hints["build_steps"])


def parse_config(text: str) -> Options:
    """Read the options of a .config; other lines are ignored."""
    options = {}
    for line in text.splitlines():
        if found := _SET.fullmatch(line.strip()):
            options[found[1]] = found[2]
        elif found := _UNSET.fullmatch(line.strip()):
            options[found[1]] = "n"
    return options


def config_text(options: Mapping[str, str]) -> str:
    """Write ``options`` as a fragment."""
    return "".join(f"{name}={value}\n" for name, value in sorted(options.items()))


def check_config(options: Mapping[str, str], config: Path) -> None:
    """Raise BuildError if ``config`` lacks any of ``options``."""
    final = parse_config(config.read_text(encoding="utf-8"))
    missed = [
        f"{name}={value} (it is {final.get(name, 'n')})"
        for name, value in sorted(options.items())
        if final.get(name, "n") != value
    ]
    if missed:
        raise BuildError(
            f"options without effect: {', '.join(missed)}",
            "this source lacks them, or they depend on options that are not set",
        )
