"""Mutants of the code that judges: which there are, and which tests they are for."""

from pathlib import Path

import judge_mutants
import pytest
from coverage import CoverageData
from judge_mutants import changed, covering, mutants_of, read_lines

FILE = "features/one/judges/limit.py"
JUDGE = '''\
"""Judges limits."""

LEVEL = 7


def judge(value: int) -> bool:
    """Say whether 1 + 1 is enough."""
    if value < LEVEL:
        return True
    return (
        not value
    )
'''


@pytest.fixture(autouse=True)
def _checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / FILE
    path.parent.mkdir(parents=True)
    path.write_text(JUDGE)
    monkeypatch.setattr(judge_mutants, "REPOSITORY", tmp_path)


def test_all_mutants_are_other_programs() -> None:
    found = list(mutants_of(FILE))
    assert {mutant.line for mutant in found} == {3, 8, 9, 11}
    texts = [mutant.applied(JUDGE) for mutant in found]
    assert len(set(texts)) == len(texts)
    assert any("value <= LEVEL" in text for text in texts)
    assert any("LEVEL = (7+1)" in text for text in texts)


def test_only_files_of_judges_statistics_and_analysis_are_mutated() -> None:
    assert judge_mutants.files() == [FILE]


def test_a_mutant_has_an_id_of_its_own_wherever_its_line_is() -> None:
    before, after = "    if value < LEVEL:", "    if value > LEVEL:"
    mutant = changed(FILE, 8, before, after)
    assert changed(FILE, 80, before, after).id == mutant.id
    assert changed(FILE, 8, before, "    if value == LEVEL:").id != mutant.id


@pytest.mark.parametrize(
    ("number", "wanted"),
    [(9, {"b"}), (11, {"c"}), (8, {"a", "b"}), (3, {"a", "b", "c"})],
    ids=["a statement", "one of several lines", "a branch", "read at import"],
)
def test_tests_that_ran_the_statement_are_for_it(number: int, wanted: set[str]) -> None:
    ran = {8: "a", 9: "b", 10: "c"}
    lines = {(FILE, at): frozenset({name}) for at, name in ran.items()}
    assert covering(changed(FILE, number, "", ""), lines) == wanted


def test_a_file_that_no_test_runs_has_none() -> None:
    assert covering(changed(FILE, 9, "", ""), {}) == frozenset()


def test_coverage_says_which_tests_ran_a_line(tmp_path: Path) -> None:
    data = CoverageData(str(tmp_path / "coverage.db"))
    data.set_context("test_limit.test_it")
    data.add_lines({str(tmp_path / FILE): [8, 9]})
    data.set_context("")
    data.add_lines({str(tmp_path / FILE): [3]})
    data.write()
    node = "tests/unit/test_limit.py::test_it"
    found = read_lines(CoverageData(str(tmp_path / "coverage.db")), tmp_path)
    assert found[FILE, 8] == found[FILE, 9] == frozenset({node})
    assert found[FILE, 3] == frozenset()
