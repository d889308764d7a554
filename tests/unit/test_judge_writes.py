"""Writes to memory that must not be writable."""

import re

import numpy as np
import pytest

from temper.extension import judge_named
from temper.paths import FEATURES
from temper.record.outcome import Outcome
from temper.stats.judging import Verdict

writes = judge_named(FEATURES / "kpkeys", "writes", ("kind", "least"))

KIND, OTHER = 3, 4


def judge(*pairs: tuple[int, int]) -> Verdict:
    samples = {"writes": np.array(pairs, dtype=np.int64).ravel()}
    return writes(samples, {}, kind=float(KIND), least=1)


def test_writes_that_all_fault_are_blocked() -> None:
    verdict = judge((KIND, 0), (KIND, 0), (KIND, 0))
    assert verdict.outcome is Outcome.BLOCKED
    assert verdict.reasons == ["all of 3 writes faulted"]
    assert verdict.figures == {"tries": 3, "landed": 0}


@pytest.mark.parametrize("when", range(3))
def test_one_write_that_lands_is_enough(when: int) -> None:
    verdict = judge(*((KIND, int(i == when)) for i in range(3)))
    assert verdict.outcome is Outcome.VULNERABLE
    assert verdict.reasons == ["1 of 3 writes landed"]
    assert verdict.figures == {"tries": 3, "landed": 1}


@pytest.mark.parametrize(
    ("tries", "outcome"), [(7, Outcome.UNSUPPORTED), (8, Outcome.BLOCKED)]
)
def test_too_few_tries_show_nothing(tries: int, outcome: Outcome) -> None:
    samples = {"writes": np.array([KIND, 0] * tries)}
    assert writes(samples, {}, kind=float(KIND), least=8).outcome is outcome


def test_one_that_lands_is_enough_however_few_there_were() -> None:
    samples = {"writes": np.array([KIND, 1])}
    assert writes(samples, {}, kind=float(KIND), least=8).outcome is Outcome.VULNERABLE


def test_a_kernel_without_the_occasion_is_not_judged() -> None:
    samples = {
        "writes": np.array([KIND, 0, OTHER, 0]),
        "inapplicable": np.array([KIND, KIND]),
    }
    verdict = writes(samples, {}, kind=float(KIND), least=1)
    assert verdict.outcome is Outcome.UNSUPPORTED
    assert verdict.reasons == ["this kernel has no such section that may write"]
    assert writes(samples, {}, kind=float(OTHER), least=1).outcome is Outcome.BLOCKED
    landed = {**samples, "writes": np.array([KIND, 1])}
    assert writes(landed, {}, kind=float(KIND), least=1).outcome is Outcome.VULNERABLE


def test_other_kinds_do_not_count() -> None:
    verdict = judge((OTHER, 1), (KIND, 0), (OTHER, 1))
    assert verdict.outcome is Outcome.BLOCKED
    assert verdict.figures["tries"] == 1


def test_what_was_not_tried_is_unsupported() -> None:
    verdict = judge((OTHER, 1), (OTHER, 0))
    assert verdict.outcome is Outcome.UNSUPPORTED
    assert verdict.reasons == ["nothing of this kind was found to write to"]


def test_no_samples_are_unsupported() -> None:
    verdict = writes({}, {}, kind=float(KIND), least=1)
    assert verdict.outcome is Outcome.UNSUPPORTED


def test_every_figure_is_documented() -> None:
    text = (FEATURES / "kpkeys" / "judges" / "README.md").read_text()
    table = text.partition("Figures of the judge `writes`")[2].partition("\n## ")[0]
    found = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert found == list(judge((KIND, 0)).figures)
