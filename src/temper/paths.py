"""Where Temper keeps its files, by the XDG base directory rules."""

import os
from pathlib import Path

import platformdirs

REPOSITORY = Path(__file__).resolve().parents[2]
"""The checkout: features/, kernel/, target/ and plugin/ stand in it."""
FEATURES = REPOSITORY / "features"


def cache_home() -> Path:
    """Return the folder of kernels, sources and target programs."""
    return platformdirs.user_cache_path("temper", appauthor=False)


def data_home() -> Path:
    """Return the folder of results; ``TEMPER_DATA`` overrides it."""
    given = os.environ.get("TEMPER_DATA")
    if given:
        return Path(given)
    return platformdirs.user_data_path("temper", appauthor=False)


def portable(path: Path) -> str:
    """Name a file in the checkout relative to it; any other by its absolute path."""
    whole = path.absolute()
    inside = whole.is_relative_to(REPOSITORY)
    return str(whole.relative_to(REPOSITORY) if inside else whole)


def absolute(name: str) -> Path:
    """Return the path in this checkout of a name from ``portable``."""
    return REPOSITORY / name
