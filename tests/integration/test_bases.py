"""Every series applies without fuzz to what Debian serves: the oldest and the newest.

And on top of each other, in any order.
"""

import re
import shutil
import subprocess
from itertools import permutations
from pathlib import Path

import pytest

from temper.catalog import feature_named, feature_names
from temper.errors import SeriesError
from temper.kernel.series import apply_series
from temper.kernel.tree import series_folder
from temper.progress import Quiet

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]

SERIES = {
    name: sorted(series_folder(feature_named(name)).glob("*.patch"))
    for name in feature_names()
}
PACKAGE = "linux-source-6.12"


def call(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, f"{command}: {done.stderr[-2000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def versions() -> list[str]:
    """What apt can install, newest first."""
    served = call("apt-cache", "madison", PACKAGE, cwd=Path("/"))
    found = [line.split("|")[1].strip() for line in served.splitlines()]
    assert found, "apt knows no source: apt-get update"
    return found


def touched(patches: list[Path]) -> list[str]:
    """Return the files that ``patches`` change and do not make."""
    text = "".join(patch.read_text(encoding="utf-8") for patch in patches)
    changed = set(re.findall(r"^--- a/(\S+)$", text, re.MULTILINE))
    made = set(re.findall(r"^--- /dev/null\n\+\+\+ b/(\S+)$", text, re.MULTILINE))
    return sorted(changed - made)


def unpack(version: str, folder: Path) -> Path:
    """Fetch a source package; return a tree of what the series touches."""
    wanted = f"{PACKAGE}={version}"
    call("apt-get", "-oAcquire::Retries=3", "download", wanted, cwd=folder)
    (package,) = folder.glob("*.deb")
    call("dpkg-deb", "-x", package, folder, cwd=folder)
    tree = folder / PACKAGE
    tarball = folder / "usr" / "src" / f"{PACKAGE}.tar.xz"
    patches = [patch for series in SERIES.values() for patch in series]
    names = [f"{PACKAGE}/{name}" for name in touched(patches)]
    call("tar", "-xJf", tarball, *names, cwd=folder)
    return tree


@pytest.fixture(scope="module", params=["newest", "oldest"])
def pristine(
    request: pytest.FixtureRequest,
    versions: list[str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    version = versions[0 if request.param == "newest" else -1]
    return unpack(version, tmp_path_factory.mktemp(request.param))


@pytest.fixture
def tree(pristine: Path, tmp_path: Path) -> Path:
    return shutil.copytree(pristine, tmp_path / PACKAGE)


@pytest.mark.parametrize("name", SERIES)
def test_the_series_applies(name: str, tree: Path) -> None:
    assert apply_series(tree, SERIES[name], Quiet()) == ()


@pytest.mark.parametrize("order", list(permutations(SERIES)), ids=" ".join)
def test_all_series_apply_together(order: tuple[str, ...], tree: Path) -> None:
    for name in order:
        assert apply_series(tree, SERIES[name], Quiet()) == ()


def test_a_source_without_the_per_task_offset_is_refused(tree: Path) -> None:
    """6.12.y kept the offset per CPU until a fix, which Debian's oldest has."""
    header = tree / "include" / "linux" / "sched.h"
    text = header.read_text(encoding="utf-8")
    assert "kstack_offset" in text
    header.write_text(re.sub(r".*kstack_offset.*\n", "", text), encoding="utf-8")
    with pytest.raises(SeriesError, match=r"sched\.h: hunk 1"):
        apply_series(tree, SERIES["kstack"], Quiet())
