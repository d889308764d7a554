"""What is installed from a wheel works without a checkout."""

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from lab import kernel_of
from typer.testing import CliRunner

from temper.catalog import feature_named
from temper.cli import app
from temper.paths import REPOSITORY

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1200)]

BARE_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
DATA = ("features", "kernel", "options", "target", "plugin")


def uv(*arguments: str | Path) -> str:
    """Run the uv that setup uses."""
    private = REPOSITORY / ".tools" / "bin" / "uv"
    program = shutil.which("uv") or private
    assert Path(program).is_file(), "uv is missing: make setup"
    return done([program, *arguments], REPOSITORY, dict(os.environ))


def done(command: list[str | Path], cwd: Path, env: dict[str, str]) -> str:
    """Run a command; return what it printed; raise AssertionError if it fails."""
    finished = subprocess.run(
        command,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout
    return finished.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel and install it, with the versions of uv.lock; return the venv."""
    folder = tmp_path_factory.mktemp("wheel")
    versions, venv = folder / "versions.txt", folder / "venv"
    uv("build", "--quiet", "--wheel", "--out-dir", folder)
    (wheel,) = folder.glob("*.whl")
    exported = ("export", "--quiet", "--locked", "--no-hashes", "--no-emit-project")
    uv(*exported, "--output-file", versions)
    uv("venv", "--quiet", "--python", "/usr/bin/python3", venv)
    to = ("--python", venv / "bin" / "python", "--constraints", versions)
    uv("pip", "install", "--quiet", *to, wheel)
    return venv


@pytest.fixture
def temper(installed: Path, tmp_path: Path) -> "Temper":
    return Temper(installed, tmp_path)


class Temper:
    """An installed one, called in a folder that has nothing of ours."""

    def __init__(self, venv: Path, folder: Path) -> None:
        (self.package,) = venv.glob("lib/*/site-packages/temper")
        self._program = venv / "bin" / "temper"
        self._folder = folder

    def __call__(self, *arguments: str | Path) -> str:
        left_out = ("PYTHONPATH", "TEMPER_STORE", "VIRTUAL_ENV")
        env = {key: value for key, value in os.environ.items() if key not in left_out}
        env |= {
            "PATH": f"{self._program.parent}:{BARE_PATH}",
            "TEMPER_DATA": str(self._folder / "data"),
        }
        return done(["temper", *arguments], self._folder, env)

    @property
    def files(self) -> dict[str, str]:
        """Digest of each file of the package; Python's bytecode does not count."""
        return {
            str(path.relative_to(self.package)): digest(path)
            for path in self.package.rglob("*")
            if path.is_file() and path.suffix != ".pyc"
        }


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_it_has_the_files_of_the_checkout(temper: Temper) -> None:
    tracked = done(["git", "ls-files", *DATA], REPOSITORY, dict(os.environ))
    here = {name for name in tracked.splitlines() if (REPOSITORY / name).exists()}
    data = temper.package / "data"
    there = {str(path.relative_to(data)) for path in data.rglob("*") if path.is_file()}
    assert here <= there
    assert all(digest(data / name) == digest(REPOSITORY / name) for name in here)


def test_it_lists_and_examines(temper: Temper) -> None:
    assert "kpkeys" in temper("features")
    assert "prediction" in temper("show", "kstack")
    assert "'temper report RUN'" not in temper("runs")
    assert "static libc" in temper("doctor")


@pytest.mark.parametrize(
    "arguments",
    [
        ("price", "kstack"),
        ("price", "kstack", "--arch", "arm64", "--setting", "pseudo-nmi"),
        ("prove", "kstack", "--sabotage"),
        ("prove", "kpkeys"),
        ("price", "kpkeys"),
        ("stress", "kpkeys"),
        ("events", "kpkeys", "--events", "reboot"),
        ("compare", "IMAGE", "IMAGE", "--workload", "generator/lfsr"),
        ("audit", "IMAGE"),
    ],
    ids=" ".join,
)
def test_it_plans_what_a_checkout_plans(
    temper: Temper, arguments: tuple[str, ...], tmp_path: Path
) -> None:
    """So each of them has what the other has built, and continues its runs."""
    image = str(kernel_of(feature_named("kstack"), "stock").image)
    words = [image if word == "IMAGE" else word for word in arguments]
    plans = [tmp_path / "installed.json", tmp_path / "checkout.json"]
    temper(*words, "--plan", "--json", plans[0])
    here = CliRunner().invoke(app, [*words, "--plan", "--json", str(plans[1])])
    assert here.exit_code == 0, here.output
    assert plans[0].read_bytes() == plans[1].read_bytes()


def test_it_builds_programs_boots_and_reports_and_leaves_its_folder_alone(
    temper: Temper, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = temper.files
    kernel = kernel_of(feature_named("kstack"), "stock").folder
    cache = tmp_path / "cache"
    kernels = cache / "temper" / "kernels"
    kernels.mkdir(parents=True)
    shutil.copytree(kernel, kernels / kernel.name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    price, page = tmp_path / "price.json", tmp_path / "report.html"
    few = ("--variants", "stock", "--calls", "1000", "--layouts", "1", "--json", price)
    temper("price", "kstack", *few)
    assert json.loads(price.read_bytes())["exact"]
    assert len(list((cache / "temper" / "programs").iterdir())) > 2
    temper("report", "--html", page)
    assert "temper price kstack" in page.read_text(encoding="utf-8")
    assert temper.files == before


def test_it_has_no_patches_to_write_to(temper: Temper) -> None:
    with pytest.raises(AssertionError, match="an installed Temper has no patches"):
        temper("kernel", "export", "kstack", "linux")
