"""Where Temper keeps its files, whatever the environment says."""

from collections.abc import Callable
from pathlib import Path

import pytest

from temper.errors import InputError
from temper.paths import cache_home, data_home


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Be a user without a home, as in many containers."""

    def unknown(_number: int) -> None:
        raise KeyError

    monkeypatch.setattr("pwd.getpwuid", unknown)
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "TEMPER_DATA"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


@pytest.mark.parametrize("home", [None, "", "somewhere"])
@pytest.mark.parametrize(
    ("find", "variable"), [(cache_home, "XDG_CACHE_HOME"), (data_home, "TEMPER_DATA")]
)
def test_without_a_home_it_is_said_what_to_set(
    find: Callable[[], Path],
    variable: str,
    home: str | None,
    nobody: pytest.MonkeyPatch,
) -> None:
    if home is not None:
        nobody.setenv("HOME", home)
    with pytest.raises(InputError, match="there is no home directory") as caught:
        find()
    absolute = "to the absolute path of a folder"
    assert caught.value.hint == f"set HOME or {variable} {absolute}"
    nobody.setenv(variable, "/srv")
    assert find().is_relative_to("/srv")


def test_a_relative_cache_is_ignored(nobody: pytest.MonkeyPatch) -> None:
    """The XDG base directory specification wants it so."""
    nobody.setenv("HOME", "/home/somebody")
    nobody.setenv("XDG_CACHE_HOME", "cache")
    assert cache_home() == Path("/home/somebody/.cache/temper")
