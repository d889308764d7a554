"""The events of kpkeys: what a check after one of them lets pass."""

import sys
from collections.abc import Callable, Mapping

import pytest

from temper.catalog import feature_named
from temper.errors import BootError
from temper.events import events_of
from temper.extension import script_named

EVENTS = events_of(feature_named("kpkeys"))
SOUND = "cpus 2 closed 2 tables 105 writable 0 records 2 open 0 section none"
PASSED = "KTAP version 1;1..2;    ok 1 test_level;    ok 2 test_nested;ok 1 kpkeys;"


class Init:
    """Answers as the init of a guest does."""

    def __init__(self, found: str = SOUND, results: str = PASSED) -> None:
        self._found = found
        self._results = results
        self.ran_kunit = False

    def do(self, order: str) -> str:
        if order == "read /proc/kpkeys_events":
            return self._found
        if order.startswith("write ") and order.endswith("/kunit/kpkeys/run 1"):
            self.ran_kunit = True
            return ""
        assert order.endswith("/kunit/kpkeys/results")
        assert self.ran_kunit
        return self._results


def check(init: Init, cpus: int = 2) -> Mapping[str, int]:
    script = script_named(EVENTS.folder, "reboot")
    found: Callable[[Init, int], Mapping[str, int]]
    found = vars(sys.modules[script.__module__])["check"]
    return found(init, cpus)


def test_a_protected_machine_passes() -> None:
    assert check(Init()) == {"tables": 105, "KUnit tests": 2}
    assert set(EVENTS.used) == set(check(Init()))


@pytest.mark.parametrize(
    ("there", "instead"),
    [
        ("cpus 2", "cpus 1"),
        ("closed 2", "closed 1"),
        ("tables 105", "tables 3"),
        ("writable 0", "writable 1"),
        ("records 2", "records 0"),
        ("open 0", "open 1"),
        ("cpus", ""),
    ],
)
def test_less_than_all_protection_does_not(there: str, instead: str) -> None:
    with pytest.raises(BootError):
        check(Init(SOUND.replace(there, instead)))


@pytest.mark.parametrize(
    "results", ["", PASSED.replace("ok 2", "not ok 2")], ids=["none", "one fails"]
)
def test_nor_does_a_test_of_the_series_that_fails(results: str) -> None:
    with pytest.raises(BootError):
        check(Init(results=results))


def test_a_crash_kernel_has_one_cpu() -> None:
    alone = SOUND.replace("cpus 2 closed 2", "cpus 1 closed 1")
    assert check(Init(alone), cpus=1)
    with pytest.raises(BootError):
        check(Init(), cpus=1)
