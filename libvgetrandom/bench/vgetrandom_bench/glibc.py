# SPDX-License-Identifier: MIT OR Apache-2.0
"""Debian 13's libc, whose getrandom() uses the vDSO, next to an older one."""

import os
import platform
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from temper.errors import InfraError
from temper.process import run

VERSION = "2.41"
_CODENAME = "trixie"
_TIMEOUT = 300.0

_APT_CONFIG = """\
Dir::State "{folder}/state";
Dir::State::status "{folder}/status";
Dir::Cache "{folder}/cache";
Dir::Etc::sourcelist "{folder}/debian.list";
Dir::Etc::sourceparts "-";
Acquire::Languages "none";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
Acquire::Retries "3";
// Otherwise apt cannot write here when root runs it.
APT::Sandbox::User "root";
"""


@dataclass(frozen=True)
class Loader:
    """A libc to run programs with, whatever libc the system has."""

    program: Path
    libraries: Path

    def command(self, program: Path) -> tuple[str, ...]:
        """Return the command that runs ``program`` with this libc."""
        return (
            *(str(self.program), "--library-path", str(self.libraries)),
            str(program),
        )


def find_glibc(folder: Path) -> Loader:
    """Return glibc 2.41 in ``folder``; apt fetches it if it is not there yet.

    apt gets its own configuration, so the system's packages and lists stay as they
    are. It uses only the system's Debian source, with another codename.

    Raises InfraError if it is not available.
    """
    unpacked = folder / "libc6"
    if not unpacked.is_dir():
        part = folder / "libc6.part"
        shutil.rmtree(part, ignore_errors=True)
        _fetch(folder, part)
        part.rename(unpacked)
    found = sorted(unpacked.glob("usr/lib/*/ld-linux-*.so.*"))
    if not found:
        raise InfraError(f"Debian's libc6 has no dynamic loader in {unpacked}")
    return Loader(found[0], found[0].parent)


def derived_source(targets: str, codename: str) -> str:
    """Return the line of a sources.list for glibc 2.41.

    ``targets`` are lines ``ADDRESS|CODENAME|COMPONENT|KEYRING`` of this system's
    sources; ``codename`` is the codename of its Debian.

    Raises InfraError if there is no such source.
    """
    for line in targets.splitlines():
        address, name, component, keyring = (*line.split("|"), "", "", "")[:4]
        if name == codename and component == "main":
            # apt prints the name of a field that it does not know.
            signed = f"[signed-by={keyring}] " if keyring.startswith("/") else ""
            return f"deb {signed}{address} {_CODENAME} main\n"
    raise InfraError(f"apt has no source of Debian's {codename}", "apt-get update")


def _fetch(folder: Path, unpacked: Path) -> None:
    system = platform.freedesktop_os_release()
    if system["ID"] != "debian":
        raise InfraError(f"it is fetched from Debian's archive; this is {system['ID']}")
    targets = _apt(
        folder,
        *(
            "indextargets",
            "--format",
            "$(REPO_URI)|$(CODENAME)|$(COMPONENT)|$(SIGNED_BY)",
        ),
        *("Identifier: Packages", "Origin: Debian"),
    )
    for name in ("state/lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "status").touch()
    source = derived_source("\n".join(targets), system["VERSION_CODENAME"])
    (folder / "debian.list").write_text(source)
    config = folder / "apt.conf"
    config.write_text(_APT_CONFIG.format(folder=folder))
    _apt(folder, "update", "--error-on=any", config=config)
    _apt(folder, "download", "libc6", config=config)
    (package,) = folder.glob("libc6_*.deb")
    if not re.match(rf"libc6_{re.escape(VERSION)}\b", package.name):
        raise InfraError(f"Debian's {_CODENAME} has {package.name}, not {VERSION}")
    done = run(["dpkg-deb", "-x", package, unpacked], folder, _TIMEOUT)
    if done.status:
        raise InfraError(f"{package.name} could not be unpacked: {done.tail(1)}")


def _apt(folder: Path, *arguments: str, config: Path | None = None) -> list[str]:
    env = {**os.environ, **({"APT_CONFIG": str(config)} if config else {})}
    done = run(["apt-get", "--quiet", *arguments], folder, _TIMEOUT, env=env)
    if done.status:
        raise InfraError(f"apt-get {arguments[0]} failed: {done.tail(1)}")
    return done.lines
