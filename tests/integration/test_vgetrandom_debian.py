"""libvgetrandom as Debian systems get it: its package, built and used on clean ones.

The roots are Debian 13's, with glibc 2.41 and another compiler than Debian 12's.
"""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from vgetrandom import SOURCE

from temper import process
from vgetrandom_bench.debian import apt_of

pytestmark = [
    pytest.mark.integration,
    pytest.mark.check_all,
    pytest.mark.timeout(3600),
]

PATIENCE = 1800.0
"""Seconds for a root, with all that is done in it."""
RELEASE = "trixie"
BUILD = """
cd /work
apt-get build-dep --yes ./*.dsc
dpkg-source --extract ./*.dsc source
cd source
dpkg-buildpackage --build=binary --unsigned-changes
"""
USE = """
export DEBIAN_FRONTEND=noninteractive
apt-get install --yes --no-install-recommends /work/*.deb {needs} xz-utils
cd /work
mkdir source
tar --extract --directory=source --strip-components=1 --file=$(ls *.orig.tar.gz)
tar --extract --directory=source --file=$(ls *.debian.tar.xz)
cd source
debian/tests/link
debian/tests/preload
"""


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the packages on a root with nothing but what they say they need."""
    folder = tmp_path_factory.mktemp("packages")
    source_only = "DEB_FLAGS=--build=source --no-check-builddeps --no-pre-clean"
    done = process.call(["make", "deb", f"DEB={folder}", source_only], SOURCE, PATIENCE)
    assert done.status == 0, done.tail(20)
    files = [path for path in folder.iterdir() if path.is_file()]
    in_root("buildd", BUILD, files, take=folder)
    return folder


def in_root(
    variant: str, script: str, files: Sequence[Path], take: Path | None = None
) -> list[str]:
    """Run ``script`` on a new root with ``files`` in its folder ``/work``.

    Afterwards the root is gone; what is then in ``/work`` is copied to ``take``.
    """
    folder = (take or files[0].parent) / "apt"
    folder.mkdir(exist_ok=True)
    apt_of(RELEASE, folder)
    config = subprocess.run(
        ["apt-config", "dump", "Acquire"], capture_output=True, text=True, check=True
    )
    # Such as proxies.
    (folder / "own.conf").write_text(
        "".join(
            f"{line}\n"
            for line in config.stdout.splitlines()
            if not line.startswith(("Acquire::IndexTargets", "Acquire::Changelogs"))
        )
    )
    (folder / "script").write_text(f"set -eu\n{script}")
    names = " ".join(f"'{path}'" for path in [*files, folder / "script"])
    hooks = [
        'mkdir "$1/work"',
        f"copy-in {names} /work",
        'chroot "$1" sh /work/script',
        *([f"sync-out /work '{take}'"] if take else []),
    ]
    done = process.call(
        [
            "mmdebstrap",
            "--mode=root",
            "--format=null",
            f"--variant={variant}",
            f"--aptopt={folder / 'own.conf'}",
            *(f"--customize-hook={hook}" for hook in hooks),
            RELEASE,
            "-",
            folder / "debian.list",
        ],
        folder,
        PATIENCE,
    )
    assert done.status == 0, done.tail(40)
    return done.lines


def test_lintian_finds_nothing(packages: Path) -> None:
    machine = process.call(["dpkg", "--print-architecture"], packages, PATIENCE)
    (changes,) = packages.glob(f"*_{machine.lines[0]}.changes")
    done = process.call(
        ["lintian", "--allow-root", "--display-info", "--fail-on=warning", changes],
        packages,
        PATIENCE,
    )
    assert done.status == 0, done.tail(20)
    assert not [line for line in done.lines if line[:2] in ("E:", "W:", "I:")]


def test_it_is_used_on_a_clean_debian(packages: Path) -> None:
    debs = [path for path in packages.glob("*.deb") if "dbgsym" not in path.name]
    assert len(debs) == 3
    said = in_root(
        "minbase",
        USE.format(needs=needed_by_tests()),
        [*debs, *packages.glob("*.tar.*")],
    )
    assert sum("a key of 32 bytes" in line for line in said) == 3
    assert any(line.endswith(" system calls") for line in said)


def needed_by_tests() -> str:
    """Return the packages that the package's own tests name, of each the first."""
    control = (SOURCE / "debian" / "tests" / "control").read_text()
    fields = [line for line in control.splitlines() if line.startswith("Depends: ")]
    names = {
        name.split("|")[0].strip()
        for field in fields
        for name in field.removeprefix("Depends: ").split(",")
    }
    return " ".join(sorted(name for name in names if "vgetrandom" not in name))
