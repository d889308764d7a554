"""Where Temper keeps its files, by the XDG base directory rules."""

import os
from collections.abc import Callable
from pathlib import Path

import platformdirs

from temper.errors import InputError

_PACKAGE = Path(__file__).resolve().parent
_INSTALLED = _PACKAGE / "data"
REPOSITORY = _INSTALLED if _INSTALLED.is_dir() else _PACKAGE.parents[1]
"""features/, kernel/, target/ and plugin/ stand in it: the checkout, or what a wheel
has in its place."""
IN_CHECKOUT = REPOSITORY != _INSTALLED
FEATURES = REPOSITORY / "features"


def cache_home() -> Path:
    """Return the folder of kernels, sources and target programs.

    Raises InputError if nothing says where it is.
    """
    return _home(platformdirs.user_cache_path, "XDG_CACHE_HOME")


def data_home() -> Path:
    """Return the folder of results; ``TEMPER_DATA`` overrides it.

    Raises InputError if nothing says where it is.
    """
    given = os.environ.get("TEMPER_DATA")
    if given:
        return Path(given)
    return _home(platformdirs.user_data_path, "TEMPER_DATA")


def _home(find: Callable[..., Path], variable: str) -> Path:
    hint = f"set HOME or {variable} to the absolute path of a folder"
    try:
        path = find("temper", appauthor=False)
    except RuntimeError:
        path = Path()
    # Older versions of platformdirs return a folder of the name "~".
    if not path.is_absolute():
        raise InputError("there is no home directory for Temper's files", hint)
    return path


def portable(path: Path) -> str:
    """Name a file in the checkout relative to it; any other by its absolute path."""
    whole = path.absolute()
    inside = whole.is_relative_to(REPOSITORY)
    return str(whole.relative_to(REPOSITORY) if inside else whole)


def absolute(name: str) -> Path:
    """Return the path in this checkout of a name from ``portable``."""
    return REPOSITORY / name
