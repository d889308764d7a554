"""What the integration tests used, noted by each of their processes.

tests/afterwards reads it, when all of them have ended.
"""

import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest


def clear_notes(config: pytest.Config) -> None:
    """Forget what an earlier run noted."""
    shutil.rmtree(_folder(config))


def note(config: pytest.Config, name: str, lines: Iterable[str]) -> None:
    """Note lines under a name that no other process has."""
    (_folder(config) / name).write_text("".join(f"{line}\n" for line in lines))


def noted(config: pytest.Config, kind: str) -> set[str]:
    """Return what all processes noted under names that begin with ``kind``."""
    files = list(_folder(config).glob(f"{kind}-*"))
    assert files, "run the integration tests first"
    return {line for file in files for line in file.read_text().splitlines()}


def _folder(config: pytest.Config) -> Path:
    assert config.cache
    return config.cache.mkdir("used")
