"""Mutants of the kstack series, really built, booted and attacked."""

from collections.abc import Mapping
from typing import Any

import pytest
from lab import ask

pytestmark = [
    pytest.mark.integration,
    pytest.mark.check_all,
    pytest.mark.timeout(7200),
]

SAMPLE = 4
"""So many that one is among them which the attacks must notice."""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    folder = tmp_path_factory.mktemp("mutants")
    return ask(folder, "mutate", "kstack", "--sample", str(SAMPLE)).report


def test_nothing_notices_the_series_as_it_is(report: Mapping[str, Any]) -> None:
    assert report["unsound"] == ""


def test_all_of_the_sample_is_judged(report: Mapping[str, Any]) -> None:
    assert len(report["mutants"]) == report["fates"]["distinct"] == SAMPLE
    assert report["pending"] == []
    assert report["score"] is not None


def test_lines_that_nothing_compiles_are_named(report: Mapping[str, Any]) -> None:
    """Such as the generator of other architectures."""
    files = {place["file"] for place in report["unreached"]}
    assert "include/linux/randomize_kstack.h" in files


def test_a_key_that_no_nap_replaces_is_noticed(report: Mapping[str, Any]) -> None:
    (negated,) = (
        mutant
        for mutant in report["mutants"]
        if "if (!(age < KSTACK_KEY_NS))" in mutant["hunk"]
    )
    assert negated["noticed"]["by"] == "leak"
