"""Writes to memory that must not be writable."""

import re

import numpy as np
import pytest

from temper.extension import judge_named
from temper.paths import FEATURES
from temper.record.outcome import Outcome
from temper.stats.judging import Arrays, Verdict

writes = judge_named(FEATURES / "kpkeys", "writes", ("kind", "least"))

KIND, OTHER = 3, 4

Try = tuple[int, int, int, int]
LANDED, STOPPED = (KIND, 1, -1, 0), (KIND, 0, 0x23, 0)
READ_ONLY, NOT_THERE = (KIND, 0, 0x03, 0), (KIND, 0, 0x02, 0)
ELSEWHERE, UNCHANGED = (KIND, 0, 0x23, 8), (KIND, 0, -1, 0)


def samples(*tries: Try) -> Arrays:
    return {"tries": np.array(tries, dtype=np.int64).ravel()}


def judge(*tries: Try, least: float = 1, varies: float = 0) -> Verdict:
    return writes(samples(*tries), {}, kind=float(KIND), least=least, varies=varies)


def test_writes_that_the_key_stops_are_blocked() -> None:
    verdict = judge(STOPPED, STOPPED, STOPPED)
    assert verdict.outcome is Outcome.BLOCKED
    assert verdict.reasons == ["the key stopped all of 3 writes"]
    assert verdict.figures == {"tries": 3, "landed": 0}


@pytest.mark.parametrize(
    ("end", "why"),
    [
        (
            READ_ONLY,
            "faulted, but not by the key (the page is read-only: error code 0x3)",
        ),
        (
            NOT_THERE,
            "faulted, but not by the key (nothing is mapped there: error code 0x2)",
        ),
        (ELSEWHERE, "faulted at another address than the one written to"),
        (UNCHANGED, "did not fault, and yet did not land"),
    ],
)
@pytest.mark.parametrize("when", range(3))
def test_one_write_that_ends_otherwise_is_enough(end: Try, why: str, when: int) -> None:
    tries = [STOPPED] * 3
    tries[when] = end
    verdict = judge(*tries)
    assert verdict.outcome is Outcome.UNSUPPORTED
    assert verdict.reasons == [f"of 3 writes, 1 {why}"]


@pytest.mark.parametrize("code", sorted({*range(-1, 0x80), 0x8023} - {0x23}))
def test_no_other_error_code_is_the_keys(code: int) -> None:
    """A read, a user's access, a fetch, a shadow stack: each has a bit of its own."""
    verdict = judge(STOPPED, (KIND, 0, code, 0))
    assert verdict.outcome is Outcome.UNSUPPORTED
    assert f"{code:#x}" in verdict.reasons[0] or code == -1


def test_all_ends_are_told() -> None:
    verdict = judge(READ_ONLY, STOPPED, UNCHANGED, READ_ONLY, ELSEWHERE)
    assert verdict.reasons == [
        "of 5 writes, 1 did not fault, and yet did not land; "
        "2 faulted, but not by the key (the page is read-only: error code 0x3); "
        "1 faulted at another address than the one written to"
    ]


@pytest.mark.parametrize("when", range(3))
@pytest.mark.parametrize("others", [STOPPED, READ_ONLY, ELSEWHERE])
def test_one_write_that_lands_is_enough(when: int, others: Try) -> None:
    tries = [others] * 3
    tries[when] = LANDED
    verdict = judge(*tries)
    assert verdict.outcome is Outcome.VULNERABLE
    assert verdict.reasons == ["1 of 3 writes landed"]
    assert verdict.figures == {"tries": 3, "landed": 1}


@pytest.mark.parametrize(
    ("tries", "outcome"), [(7, Outcome.UNSUPPORTED), (8, Outcome.BLOCKED)]
)
def test_too_few_tries_show_nothing(tries: int, outcome: Outcome) -> None:
    assert judge(*[STOPPED] * tries, least=8).outcome is outcome


def test_one_that_lands_is_enough_however_few_there_were() -> None:
    assert judge(LANDED, least=8).outcome is Outcome.VULNERABLE


def test_tries_are_told_unless_chance_decides_how_many_there_are() -> None:
    for tries in [STOPPED] * 3, [STOPPED, LANDED, STOPPED]:
        assert judge(*tries).tries == 3
        assert judge(*tries, varies=1).tries is None


def test_a_kernel_without_the_occasion_is_not_judged() -> None:
    other = (OTHER, *STOPPED[1:])
    tried = {**samples(STOPPED, other), "inapplicable": np.array([KIND, KIND])}
    verdict = writes(tried, {}, kind=float(KIND), least=1)
    assert verdict.outcome is Outcome.UNSUPPORTED
    assert verdict.reasons == ["this kernel has no such section that may write"]
    assert writes(tried, {}, kind=float(OTHER), least=1).outcome is Outcome.BLOCKED
    landed = {**tried, **samples(LANDED)}
    assert writes(landed, {}, kind=float(KIND), least=1).outcome is Outcome.VULNERABLE


@pytest.mark.parametrize(
    ("counts", "end", "outcome"),
    [
        ([0], STOPPED, Outcome.BLOCKED),
        ([2], STOPPED, Outcome.UNSUPPORTED),
        ([2], LANDED, Outcome.VULNERABLE),
    ],
)
def test_a_kernel_that_warns_of_itself_holds_nothing(
    counts: list[int], end: Try, outcome: Outcome
) -> None:
    tried = {**samples(end), "warnings": np.array(counts)}
    verdict = writes(tried, {}, kind=float(KIND), least=1)
    assert verdict.outcome is outcome
    if outcome is Outcome.UNSUPPORTED:
        assert verdict.reasons == ["the kernel warned of itself: 2 times"]


def test_other_kinds_do_not_count() -> None:
    verdict = judge((OTHER, 1, -1, 0), STOPPED, (OTHER, 0, 0x03, 0))
    assert verdict.outcome is Outcome.BLOCKED
    assert verdict.figures["tries"] == 1


def test_what_was_not_tried_is_unsupported() -> None:
    verdict = judge((OTHER, 1, -1, 0), (OTHER, *STOPPED[1:]))
    assert verdict.outcome is Outcome.UNSUPPORTED
    assert verdict.reasons == ["nothing of this kind was found to write to"]


def test_no_samples_are_unsupported() -> None:
    verdict = writes({}, {}, kind=float(KIND), least=1)
    assert verdict.outcome is Outcome.UNSUPPORTED


def test_what_the_old_judge_judged_is_not_misread() -> None:
    """Pairs, of which two would look like a try."""
    pairs = {"writes": np.array([KIND, 0] * 8)}
    verdict = writes(pairs, {}, kind=float(KIND), least=1)
    assert verdict.reasons == ["nothing of this kind was found to write to"]


def test_every_figure_is_documented() -> None:
    text = (FEATURES / "kpkeys" / "judges" / "README.md").read_text()
    table = text.partition("Figures of the judge `writes`:\n\n")[2].partition("\n\n")[0]
    found = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert found == list(judge(STOPPED).figures)
