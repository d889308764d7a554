"""Kernels, in name only, to test the kernel room with."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from temper.arch import arch_named
from temper.kernel import bases
from temper.kernel.builder import KernelSpec
from temper.kernel.cache import Cache
from temper.kernel.source import find_source

FAKE_KERNEL = Path(__file__).parent / "fake_kernel"
X86_64 = arch_named("x86_64")


class Watcher:
    """Remembers what was announced, said and shown."""

    def __init__(self) -> None:
        self.titles: list[str] = []
        self.said: list[str] = []
        self.updates: list[tuple[float, float | None, str]] = []

    @contextmanager
    def task(self, title: str, total: float | None = None) -> Iterator["Watcher"]:
        self.titles.append(title)
        yield self

    def update(self, done: float, total: float | None = None, note: str = "") -> None:
        self.updates.append((done, total, note))

    def say(self, text: str) -> None:
        self.said.append(text)


def fragments(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have fake kernels configured by what is in the folder that is returned."""
    usual = folder / "small"
    usual.mkdir(parents=True, exist_ok=True)
    (usual / "x86_64.config").write_text("# Why.\nCONFIG_FAKE=y\n")
    (usual / "base.toml").write_text(
        'title = "small"\nstart = "tinyconfig"\nbuild_steps = { x86_64 = 4 }\n'
    )
    monkeypatch.setattr(bases, "FOLDER", folder)
    return usual


def fake_source(folder: Path) -> Path:
    """Put a fake kernel's source into ``folder``."""
    shutil.copytree(FAKE_KERNEL, folder)
    return folder


def spec(
    source: Path, cache: Cache, *options: str, patches: tuple[Path, ...] = ()
) -> KernelSpec:
    """Specify the kernel of ``source``."""
    return KernelSpec(X86_64, find_source(source, "6.12", cache), patches, options)


def change(tree: Path, name: str, old: str, new: str) -> None:
    """Replace ``old`` in the file ``name`` of ``tree``, by a new file."""
    path = tree / name
    text = path.read_text()
    assert old in text
    path.unlink()
    path.write_text(text.replace(old, new))


def git(folder: Path, *arguments: str) -> str:
    """Run git in ``folder`` as somebody with a name."""
    person = ["-c", "user.name=T", "-c", "user.email=t@example.org"]
    return subprocess.run(
        ["git", *person, *arguments],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | {"GIT_CONFIG_GLOBAL": "/dev/null"},
        timeout=60,
    ).stdout.strip()


def make_patch(
    pristine: Path, scratch: Path, name: str, *changes: tuple[str, str, str]
) -> Path:
    """Write the ``changes`` (file, old, new) to ``pristine`` as a patch file."""
    tree = scratch / f"{name}-tree"
    shutil.copytree(pristine, tree)
    git(tree, "init", "--quiet")
    git(tree, "add", "--all", "--force")
    git(tree, "commit", "--quiet", "--message", "before")
    for file, old, new in changes:
        change(tree, file, old, new)
    git(tree, "commit", "--quiet", "--all", "--message", name)
    path = scratch / f"{name}.patch"
    path.write_text(git(tree, "format-patch", "-1", "--stdout") + "\n")
    return path
