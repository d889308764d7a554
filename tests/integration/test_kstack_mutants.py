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

SAMPLE = 2
"""Both survived once; one of them is a weakness."""


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


def test_a_copy_that_keeps_its_keys_is_noticed(report: Mapping[str, Any]) -> None:
    kept = mutant_with("/*ret = register_random_vmfork_notifier", report)
    assert kept["noticed"]["by"] == "seeds"


def test_what_only_takes_time_is_accepted(report: Mapping[str, Any]) -> None:
    slow = mutant_with("+       if (0==1)", report)
    assert slow["noticed"] is None
    assert slow["accepted"].startswith("performance: An interrupt of the CPU")


def mutant_with(change: str, report: Mapping[str, Any]) -> Mapping[str, Any]:
    found: list[Mapping[str, Any]] = report["mutants"]
    (mutant,) = (each for each in found if change in each["hunk"])
    return mutant
