"""Debian's own kernel for the cloud, which nobody here has built."""

import os
import re
import shutil
import subprocess
from pathlib import Path

PACKAGE = re.compile(r"^linux-image-(6\.12\.\d+)\S*-cloud-amd64(?:-unsigned)?$")


def call(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout


def update_lists(folder: Path) -> None:
    sudo = [] if os.geteuid() == 0 else ["sudo"]
    # One list that cannot be had is no matter if the others can.
    subprocess.run([*sudo, "apt-get", "update"], cwd=folder, timeout=300, check=False)


def newest_package(folder: Path) -> str:
    listed = call("apt-cache", "pkgnames", "linux-image-6.12.", cwd=folder)
    found = [name for name in listed.splitlines() if PACKAGE.match(name)]
    assert found, "is there a Linux 6.12 in this Debian?"

    def version(name: str) -> list[int]:
        return [int(number) for number in PACKAGE.sub(r"\1", name).split(".")]

    return max(sorted(found), key=version)


def download(folder: Path) -> Path:
    """Return the newest one's package in a folder, downloaded unless it is there."""
    assert shutil.which("apt-get"), "Debian's kernel comes from Debian"
    kept = sorted(folder.glob("linux-image-*.deb"))
    if kept:
        return kept[-1]
    # Old lists name packages that are no longer there.
    update_lists(folder)
    call("apt-get", "download", newest_package(folder), cwd=folder)
    (archive,) = folder.glob("linux-image-*.deb")
    return archive
