"""kpkeys on debug kernels under stress, and through machine events.

Three kernels that nothing else needs, and boots that take long.
"""

from pathlib import Path

import pytest
from lab import Answer, ask

pytestmark = [
    pytest.mark.integration,
    pytest.mark.check_all,
    pytest.mark.timeout(14400),
]


def check_clean(answer: Answer) -> None:
    assert answer.report["missing"] == []
    for boot in answer.report["boots"]:
        assert boot["wrong"] == [], boot["variant"]
        assert boot["never_done"] == [], boot["variant"]
    assert answer.status == 0


def test_page_tables_are_protected_after_every_event(tmp_path: Path) -> None:
    check_clean(ask(tmp_path, "events", "kpkeys"))


@pytest.mark.parametrize("kernel", ["lockdep", "kasan"])
def test_under_stress_no_bug_is_found(kernel: str, tmp_path: Path) -> None:
    check_clean(ask(tmp_path, "stress", "kpkeys", "--kernels", kernel))
