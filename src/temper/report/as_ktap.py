"""Reports as test results for kernel CI: the Kernel Test Anything Protocol.

The kernel's Documentation/dev-tools/ktap.rst describes it.
"""

import re
from collections.abc import Iterable, Sequence

from temper.analysis.checks import Check, Checked, Result, Suite, suites

_VERSION = "KTAP version 1"
_INDENT = "  "


def to_ktap(reports: Sequence[Checked]) -> str:
    """Return reports as KTAP: a test for each suite, with its checks as subtests."""
    found = [suite for report in reports for suite in suites(report)]
    lines = [_VERSION, f"1..{len(found)}"]
    for number, suite in enumerate(found, 1):
        lines += [_INDENT + line for line in _suite(suite)]
        lines.append(_result(number, suite.name, suite.result))
    return "\n".join(lines) + "\n"


def _suite(suite: Suite) -> Iterable[str]:
    yield _VERSION
    yield f"# Subtest: {_plain(suite.name)}"
    yield f"1..{len(suite.checks)}"
    for number, check in enumerate(suite.checks, 1):
        yield from _check(number, check)


def _check(number: int, check: Check) -> Iterable[str]:
    skipped = check.result is Result.SKIPPED
    # The reason of a skip has its place in the result line.
    for line in check.why[skipped:]:
        yield f"# {_plain(line)}"
    yield _result(number, check.name, check.result, *check.why[:skipped])


def _result(number: int, name: str, result: Result, *why: str) -> str:
    status = "not ok" if result is Result.FAILED else "ok"
    skip = " ".join((" # SKIP", *map(_plain, why))) if result is Result.SKIPPED else ""
    return f"{status} {number} {_plain(name)}{skip}"


def _plain(text: str) -> str:
    """Return text that neither ends its line nor begins a directive."""
    return re.sub(r"[#\s\x00-\x1f\x7f-\x9f\ud800-\udfff]+", " ", text).strip()
