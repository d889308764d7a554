"""Mutants that once survived, or nearly did, really built, booted and attacked."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from lab import ask

pytestmark = [
    pytest.mark.integration,
    pytest.mark.check_all,
    pytest.mark.timeout(3 * 3600),
]

FIXED: Mapping[str, dict[str, Any]] = tomllib.loads(
    (Path(__file__).parent / "series_mutants.toml").read_text("utf-8")
)
"""Feature -> architecture; ids that are noticed and by what, accepted, unreached."""

Found = tuple[dict[str, Any], Mapping[str, Any]]


@pytest.fixture(scope="module", params=FIXED)
def found(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Found:
    fixed = FIXED[request.param]
    ids = ",".join([*fixed["noticed"], *fixed["accepted"], fixed["unreached"]])
    words = ("--arch", fixed["arch"], "--mutants", ids)
    folder = tmp_path_factory.mktemp("mutants")
    return fixed, ask(folder, "mutate", request.param, *words).report


def test_nothing_notices_the_series_as_it_is(found: Found) -> None:
    assert found[1]["unsound"] == ""


def test_all_that_were_chosen_are_judged(found: Found) -> None:
    fixed, report = found
    judged = {mutant["id"] for mutant in report["mutants"]}
    assert judged == {*fixed["noticed"], *fixed["accepted"]}
    assert report["pending"] == []
    assert (report["score"], report["chosen"]) == (None, True)


def test_a_line_that_nothing_compiles_is_named(found: Found) -> None:
    report = found[1]
    assert report["fates"]["unreached"] == len(report["unreached"]) == 1


def test_each_is_noticed_by_what_noticed_it_before(found: Found) -> None:
    fixed, report = found
    by = {each["id"]: each["noticed"]["by"] for each in noticed(report)}
    assert by == fixed["noticed"]


def test_those_that_need_not_be_noticed_are_not(found: Found) -> None:
    """Otherwise their reasons are wrong."""
    fixed, report = found
    left = [mutant for mutant in report["mutants"] if not mutant["noticed"]]
    assert {mutant["id"] for mutant in left} == set(fixed["accepted"])
    assert all(mutant["accepted"] for mutant in left)


def noticed(report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [mutant for mutant in report["mutants"] if mutant["noticed"]]
