"""The KUnit tests of the kstack series: what they find, and what they notice.

They run in the sabotage kernel, so that they can be seen to fail as well.
"""

import pytest
from kunit import kunit_results
from lab import planner, prepared

from temper.catalog import feature_named
from temper.run.prepare import Prepared

pytestmark = [
    pytest.mark.integration,
    pytest.mark.check_all,
    pytest.mark.timeout(3600),
]

TESTS = {"test_even", "test_tasks", "test_keys", "test_keys_differ"}
ON = "randomize_kstack_offset=on"


@pytest.fixture(scope="module")
def whole() -> Prepared:
    """Prepare boots of the sabotage kernel."""
    return prepared(planner().prove(feature_named("kstack"), ["none"], ["early"]))


def results(whole: Prepared, cmdline: str) -> dict[str, str]:
    return kunit_results(whole, "randomize_kstack", cmdline)


def test_all_pass(whole: Prepared) -> None:
    assert results(whole, ON) == dict.fromkeys(TESTS, "ok")


def test_all_skip_without_offsets(whole: Prepared) -> None:
    skipped = dict.fromkeys(TESTS, "skip")
    assert results(whole, "randomize_kstack_offset=off") == skipped


@pytest.mark.parametrize(
    ("sabotage", "test"),
    [
        ("seed-constant", "test_tasks"),
        ("no-new-key", "test_keys"),
        ("slow-key", "test_keys"),
        ("waking-key", "test_keys"),
        ("shared-key", "test_keys_differ"),
        ("zero-at-boot", "test_even"),
    ],
)
def test_they_notice_a_sabotage(whole: Prepared, sabotage: str, test: str) -> None:
    assert results(whole, f"{ON} kstack_sabotage={sabotage}")[test] == "not ok"
