# SPDX-License-Identifier: MIT OR Apache-2.0
"""Fetches packages of another Debian release by apt, from this system's mirror."""

import os
import platform
from pathlib import Path

from vgetrandom_bench.host import InfraError, call

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
// Else it cannot write here when run by root.
APT::Sandbox::User "root";
"""


def apt_of(codename: str, folder: Path) -> dict[str, str]:
    """Return the environment in which apt serves the release ``codename``.

    apt gets its own configuration in ``folder``, so the system's packages and lists
    stay as they are. It uses only the system's Debian source, with another codename.

    Raises InfraError if the release is not available.
    """
    system = platform.freedesktop_os_release()
    if system["ID"] != "debian":
        raise InfraError(f"it is fetched from Debian's archive; this is {system['ID']}")
    fields = "$(REPO_URI)|$(CODENAME)|$(COMPONENT)|$(SIGNED_BY)"
    wanted = ("Identifier: Packages", "Origin: Debian")
    targets = apt_get(
        folder, dict(os.environ), "indextargets", "--format", fields, *wanted
    )
    for name in ("state/lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "status").touch()
    source = derived_source("\n".join(targets), system["VERSION_CODENAME"], codename)
    (folder / "debian.list").write_text(source)
    config = folder / "apt.conf"
    config.write_text(_APT_CONFIG.format(folder=folder))
    env = {**os.environ, "APT_CONFIG": str(config)}
    apt_get(folder, env, "update", "--error-on=any")
    return env


def derived_source(targets: str, codename: str, other: str) -> str:
    """Return the line of a sources.list for the release ``other``.

    ``targets`` are lines ``ADDRESS|CODENAME|COMPONENT|KEYRING`` of this system's
    sources, whose Debian is called ``codename``.

    Raises InfraError if there is no such source.
    """
    for line in targets.splitlines():
        address, name, component, keyring = (*line.split("|"), "", "", "")[:4]
        if name == codename and component == "main":
            # apt prints the name of a field that it does not know.
            signed = f"[signed-by={keyring}] " if keyring.startswith("/") else ""
            return f"deb {signed}{address} {other} main\n"
    raise InfraError(f"apt has no source of Debian's {codename}", "apt-get update")


def apt_get(folder: Path, env: dict[str, str], *arguments: str) -> list[str]:
    """Run apt-get in ``folder``; return what it says, raise InfraError if it fails."""
    done = call(["apt-get", "--quiet", *arguments], folder, _TIMEOUT, env=env)
    if done.status:
        raise InfraError(f"apt-get {arguments[0]} failed: {done.tail(1)}")
    return done.lines
