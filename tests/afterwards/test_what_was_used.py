"""After all integration tests: what they used is what is listed.

`make integration` runs this last; by itself it looks at the last such run.
"""

from pathlib import Path

import pytest
from kernel_list import LIST, listed_kernels
from notes import noted
from packages import not_by_setup

pytestmark = pytest.mark.integration


def test_every_listed_kernel_was_asked_for(pytestconfig: pytest.Config) -> None:
    all_of_it = not pytestconfig.getoption("markexpr")
    asked = noted(pytestconfig, "kernels")
    unused = [
        str(each)
        for each in listed_kernels()
        if str(each) not in asked and (all_of_it or not each.check_all)
    ]
    assert unused == [], f"these are in {LIST} and nothing asks for them"


def test_setup_installs_the_programs_that_tests_start(
    pytestconfig: pytest.Config,
) -> None:
    programs = set(map(Path, noted(pytestconfig, "programs")))
    assert len(programs) > 10, "hardly anything was noted"
    word = "check" if pytestconfig.getoption("markexpr") else "check-all"
    assert not not_by_setup(programs, word)
