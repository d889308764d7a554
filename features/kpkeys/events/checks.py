"""What must hold after every event."""

import re

from temper.errors import BootError
from temper.machine import Guest

PROC = "/proc/kpkeys_events"
_KUNIT = "/sys/kernel/debug/kunit/kpkeys"
_FOUND = re.compile(
    r"cpus (\d+) closed (\d+) tables (\d+) writable (\d+) records (\d+) open (\d+)"
)
_FEWEST_TABLES = 50


def check(guest: Guest, cpus: int) -> dict[str, int]:
    """Raise BootError unless all is protected; return how much was looked at.

    After our own look the KUnit tests of the series run once more.
    """
    return {"tables": _tables(guest, cpus), "KUnit tests": _kunit_tests(guest)}


def _tables(guest: Guest, cpus: int) -> int:
    told = guest.do(f"read {PROC}")
    if not (found := _FOUND.match(told)):
        raise BootError(f"no check: {told}")
    online, closed, tables, writable, records, unprotected = map(int, found.groups())
    if online != cpus or closed != cpus or writable or unprotected:
        raise BootError(f"not protected: {told}")
    if tables < _FEWEST_TABLES or not records:
        raise BootError(f"no check: only few tables were found: {told}")
    return tables


def _kunit_tests(guest: Guest) -> int:
    guest.do(f"write {_KUNIT}/run 1")
    results = guest.do(f"read {_KUNIT}/results")
    passed = len(re.findall(r"; *ok \d+ test_", results))
    if "not ok" in results or not passed:
        raise BootError(f"KUnit: {results}")
    return passed
