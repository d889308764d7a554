"""What KUnit said on a console."""

import re

from temper.analysis.console import bare

_TEST = re.compile(r"(not ok|ok) \d+ (\w+)(?!.*# SKIP)")


def kunit_results(console: str) -> dict[str, bool]:
    """Return suite, or test of one, -> whether it passed; skipped ones are left out."""
    found = map(_TEST.match, map(bare, console.splitlines()))
    return {each[2]: each[1] == "ok" for each in found if each}
