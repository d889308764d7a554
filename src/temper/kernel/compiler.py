"""The compiler and linker of an architecture, and their versions."""

from functools import cache
from pathlib import Path

from temper.arch import Arch
from temper.errors import InfraError
from temper.process import call

_TIMEOUT = 30.0


def cross_prefix(arch: Arch) -> str:
    """Return the prefix of the names of the architecture's tools."""
    return arch.compiler.removesuffix("gcc")


@cache
def compiler_version(arch: Arch) -> str:
    """Return compiler, target and linker in one line, without paths.

    Raises InfraError if one is missing.
    """
    gcc = _first_line(arch.compiler, "--version")
    target = _first_line(arch.compiler, "-dumpmachine")
    linker = _first_line(f"{cross_prefix(arch)}ld", "--version")
    return f"{gcc}, {target}, {linker}"


def compiler_major(arch: Arch) -> int:
    """Return the major version of the compiler; raise InfraError if it is missing."""
    return int(_first_line(arch.compiler, "-dumpversion").partition(".")[0])


def need_header(header: str, package: str) -> None:
    """Raise InfraError if programs for this host cannot include ``header``."""
    command = ["gcc", "-fsyntax-only", "-include", header, "-xc", "/dev/null"]
    if call(command, Path("/"), _TIMEOUT).status:
        raise InfraError(
            f"the header '{header}' is missing", f"apt-get install {package}"
        )


def need_plugin_headers(arch: Arch) -> None:
    """Raise InfraError if no plugins can be built for the architecture's compiler."""
    folder = Path(_first_line(arch.compiler, "-print-file-name=plugin"))
    if not (folder / "include" / "plugin-version.h").exists():
        version = _first_line(arch.compiler, "-dumpversion").partition(".")[0]
        target = f"-{cross_prefix(arch).rstrip('-')}" if cross_prefix(arch) else ""
        raise InfraError(
            f"the headers of {arch.compiler}'s plugins are missing",
            f"apt-get install gcc-{version}-plugin-dev{target}",
        )


def _first_line(*command: str) -> str:
    done = call(command, Path("/"), _TIMEOUT)
    if done.status or not done.lines:
        raise InfraError(f"'{' '.join(command)}' failed: {done.tail(1)}")
    return done.lines[0]
