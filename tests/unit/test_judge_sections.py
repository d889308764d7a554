"""Exceptions at every instruction of functions that write to page tables."""

import re

import numpy as np
import pytest

from temper.extension import judge_named
from temper.paths import FEATURES
from temper.record.outcome import Outcome
from temper.stats.judging import Arrays, Verdict

sections = judge_named(FEATURES / "kpkeys", "sections", ("functions", "least"))

HANDLED, NOT_LOOKED, LOST, KEPT, DIED = 1, 2, 4, 8, 16
RUN = [0, 4, 12, 16]
Row = tuple[int, int, int, int, int, int]


def rows(*, wrong: int = 0, at: int = 1) -> list[Row]:
    """Return those of a function whose second and third instruction are a section."""
    return [
        (number, offset, 0, 1, int(number in (1, 2)), wrong * (number == at))
        for number, offset in enumerate(RUN)
    ]


def samples(*functions: list[Row], run: list[int] = RUN) -> Arrays:
    found = {}
    for number, function in enumerate(functions):
        found[f"f{number}"] = np.array(function, dtype=np.int64).ravel()
        found[f"f{number} runs"] = np.array(run)
    return found


def judge(found: Arrays, functions: float = 1, least: float = 2) -> Verdict:
    return sections(found, {}, functions=functions, least=least)


def test_a_table_that_nobody_else_can_write_is_blocked() -> None:
    verdict = judge(samples(rows(), rows()), functions=2)
    assert verdict.outcome is Outcome.BLOCKED
    assert verdict.reasons == [
        "8 exceptions at all instructions of 2 functions found the table closed, 4 of "
        "them in a section"
    ]
    assert verdict.figures == {"exceptions": 8, "in a section": 4}


@pytest.mark.parametrize(
    ("bit", "what"),
    [
        (HANDLED, "the handler could write to the table"),
        (LOST, "the function went on with other rights than it had"),
        (KEPT, "the caller could write to the table"),
        (DIED, "the kernel died"),
    ],
)
def test_each_thing_that_is_wrong_is_told(bit: int, what: str) -> None:
    verdict = judge(samples(rows(wrong=bit)))
    assert verdict.outcome is Outcome.VULNERABLE
    assert verdict.reasons == [f"f0: {what} at 1 of 4 instructions"]


def test_an_attack_that_ended_early_may_have_landed() -> None:
    assert judge(samples(rows(wrong=DIED)[:2])).outcome is Outcome.VULNERABLE


MASKED = [(n, at, 1, 0, -1, 0) for n, at in enumerate(RUN)]


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (samples(), "0 functions instead of 1 were attacked"),
        (samples(rows(), rows()), "2 functions instead of 1 were attacked"),
        (samples(rows()[:3]), "f0: not all instructions were attacked"),
        (samples(rows(), run=[0, 4, 8, 16]), "f0: not all instructions were attacked"),
        ({**samples(rows()), "f0 runs": np.array([])}, "f0: not all instructions were"),
        (
            samples(rows(wrong=NOT_LOOKED)),
            "f0: nobody looked at the handlers of 1 exceptions",
        ),
        (
            samples([*rows()[:3], (3, 16, 0, 0, -1, 0)]),
            "f0: 1 exceptions were not taken where nothing masked them",
        ),
        (samples(MASKED), "f0: 0 exceptions came in a section, but 2 are needed"),
    ],
)
def test_an_attack_that_was_not_made_whole_shows_nothing(
    found: Arrays, why: str
) -> None:
    verdict = judge(found)
    assert verdict.outcome is Outcome.UNSUPPORTED
    assert verdict.reasons[0].startswith(why)


def test_each_instruction_may_be_attacked_several_times() -> None:
    assert judge(samples([*rows(), *rows()])).outcome is Outcome.BLOCKED


def test_every_figure_is_documented() -> None:
    text = (FEATURES / "kpkeys" / "judges" / "README.md").read_text()
    table = text.partition("Figures of the judge `sections`:\n\n")[2]
    found = re.findall(r"^\| `([\w ]+)` \|", table, re.MULTILINE)
    assert found == list(judge(samples(rows())).figures)
