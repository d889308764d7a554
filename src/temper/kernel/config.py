"""What a kernel's configuration must contain, and whether it does."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from temper.arch import Arch
from temper.errors import BuildError, InputError
from temper.kernel.bases import Base

Options = dict[str, str]
"""CONFIG_X -> its value as in .config; ``n`` if it is not set."""

_SET = re.compile(r"(CONFIG_\w+)=(\S.*)")
_UNSET = re.compile(r"# (CONFIG_\w+) is not set")


def wanted_options(arch: Arch, lines: Iterable[str], base: Base) -> Options:
    """Return the options of a base and those in ``lines``; later lines win.

    Raises InputError for a line that is not an option.
    """
    options: Options = {}
    for line in (*base.fragment(arch.name).splitlines(), *lines):
        found = parse_config(line)
        if not found and line.strip() and not line.startswith("#"):
            raise InputError(
                f"'{line}' is not a kernel option",
                "write CONFIG_X=y or '# CONFIG_X is not set'",
            )
        options |= found
    return options


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


def check_needs(
    needs: Mapping[str, Iterable[str]], options: Mapping[str, str], title: str
) -> None:
    """Raise InputError if the kernel ``title`` lacks what a workload needs.

    ``needs``: workload -> options that must be ``y``.
    """
    for workload, names in needs.items():
        for name in names:
            if options.get(name, "n") != "y":
                raise InputError(
                    f"{workload} needs {name}, which {title} lacks",
                    "choose other workloads, or kernels of --base cloud",
                )
