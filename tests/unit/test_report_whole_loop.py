"""The whole loop of a workload: what its samples must not hide."""

import io
from collections.abc import Sequence

import pytest
from rich.console import Console
from samples import CALLS, OFF, price_run

from temper.analysis.models import PriceReport
from temper.analysis.price import price_report
from temper.record.boot import StoredRun
from temper.report.as_csv import to_csv
from temper.report.html import to_html
from temper.report.markdown import to_markdown
from temper.report.price_document import price_document
from temper.report.summary import summaries
from temper.report.tables import price_table, summary_table
from temper.report.terminal import print_documents
from temper.report.whole_loop import moved_lines
from temper.report.words import headlines
from temper.stats.comparison import Mark

GETPID, PIPE = "syscall/getpid", "ctx/pipe"
LOOP = OFF[GETPID] + 9
"""Instructions of a whole loop on the baseline, per operation."""


def moved_work(
    more: float, variant: str = "temper", moves: Sequence[int] = ()
) -> StoredRun:
    """Return a run in which getpid leaves ``more`` per call to after the samples."""
    run = price_run(("off", "stock", "temper"), moves=moves)
    for boot in run.boots:
        for record in boot.records:
            if record["type"] == "classes" and record["region"] == 0:
                own = more if boot.facts.variant == variant else 0
                whole = dict(record["whole"])
                whole["kernel_instructions"] += round(own * CALLS)
                record["whole"] = whole
    return run


def marks(report: PriceReport, variant: str = "temper") -> dict[str, Mark]:
    return {
        row.result_class: row.mark
        for row in report.rows
        if (row.workload, row.variant) == (GETPID, variant)
    }


def test_the_whole_loop_is_a_class_beside_the_others() -> None:
    report = price_report(moved_work(100, moves=(2, 4)))
    [row] = [
        row
        for row in report.rows
        if (row.workload, row.variant, row.result_class)
        == (GETPID, "temper", "whole-loop")
    ]
    assert (row.value, row.baseline_value, row.delta) == (LOOP + 97, LOOP, 97)
    assert row.delta_percent == pytest.approx(100 * 97 / LOOP)
    assert (row.mark, row.without_ticks, row.spread) == (Mark.REGRESSION, False, 0)
    # A loop that layouts move is worth as little as a sample that they move.
    [pipe] = [
        row
        for row in report.rows
        if (row.workload, row.variant, row.result_class)
        == (PIPE, "temper", "whole-loop")
    ]
    assert (pipe.delta, pipe.spread, pipe.mark) == (-3, 4, Mark.UNKNOWN)


def test_it_is_in_every_form_of_a_report() -> None:
    report = price_report(moved_work(100))
    document = price_document(report)
    out = io.StringIO()
    print_documents(Console(file=out, width=80), [document], full=True)
    for text in (out.getvalue(), to_markdown([document], full=True)):
        [line] = [line for line in text.splitlines() if "+97 +45.1 % (R)" in line]
        assert "whole-loop" in line
    assert "whole-loop</th>" in to_html([document])
    assert f"{GETPID},whole-loop,instructions,temper,312.0,215.0,97.0" in to_csv(report)


@pytest.mark.parametrize(("more", "mark"), [(2.9, "(I)"), (3, "(M)"), (100, "(M)")])
def test_an_improvement_counts_only_if_the_whole_loop_is_cheaper(
    more: float, mark: str
) -> None:
    found = marks(price_report(moved_work(more, moves=(2, 4))))
    assert found["p50"].value == mark
    assert found["mean"].value == mark


@pytest.mark.parametrize(("more", "mark"), [(0.8, "(I)"), (0.9, "(M)")])
def test_with_one_layout_it_has_to_be_cheaper_by_a_hundredth(
    more: float, mark: str
) -> None:
    assert marks(price_report(moved_work(more)))["p50"].value == mark


def moved_by_layout(run: StoredRun, variant: str) -> StoredRun:
    """Let one layout of memory move the whole loop of getpid by 3 per call."""
    for boot in run.boots:
        moved = boot.facts.repeat == 2 and boot.facts.variant == variant
        for record in boot.records:
            if moved and record["type"] == "classes" and record["region"] == 0:
                record["whole"]["kernel_instructions"] += 3 * CALLS
    return run


def test_a_loop_within_its_spread_confirms_nothing() -> None:
    report = price_report(moved_by_layout(moved_work(0, moves=(2, 4)), "temper"))
    assert marks(report)["p50"] is Mark.MOVED
    assert moved_lines(report) == [
        "No improvement (M), since the whole loop is cheaper by no more than the "
        "layout of memory makes: syscall/getpid temper -3 (-1.4 %)."
    ]


def test_a_loop_within_its_spread_has_no_other_price() -> None:
    run = moved_work(3, "stock", moves=(2, 4))
    assert summaries_with_loop(run) == [(GETPID, "stock")]
    assert summaries_with_loop(moved_by_layout(run, "stock")) == []


def summaries_with_loop(run: StoredRun) -> list[tuple[str, str]]:
    found = summaries(price_report(run))
    return [(each.workload, each.variant) for each in found if each.whole]


def test_the_reason_is_said() -> None:
    report = price_report(moved_work(100))
    assert moved_lines(report) == [
        "No improvement (M), since the whole loop is not cheaper: syscall/getpid "
        "temper +97 (+45.1 %).",
        "No improvement (M), since the whole loop is cheaper by less than 1 %, and how "
        "far another layout of memory would move it was not measured: ctx/pipe temper "
        "-3 (-0.22 %).",
    ]
    [_, temper] = headlines(report)
    assert temper.endswith(
        "on 4 workloads; on 2 of them, the whole loop does not confirm that it is "
        "cheaper."
    )
    text = " ".join(to_markdown([price_document(report)]).split())
    assert "(M) cheaper in the samples, not confirmed by the whole loop" in text
    assert "No improvement (M), since" in text


def test_what_is_dearer_is_marked_whatever_the_loop_does() -> None:
    found = marks(price_report(moved_work(-100, "stock")), "stock")
    assert found["p50"] is Mark.REGRESSION
    assert found["whole-loop"] is Mark.IMPROVEMENT


@pytest.mark.parametrize(("more", "told"), [(2, False), (3, True), (-100, True)])
def test_a_loop_with_another_price_is_told_beside_the_median(
    more: float, told: bool
) -> None:
    report = price_report(moved_work(more, "stock"))
    found = summaries(report)
    [one] = [x for x in found if (x.workload, x.variant) == (GETPID, "stock")]
    assert bool(one.whole) is told
    remarks = [row.cells[-1].parts for row in summary_table(report, found).rows]
    price = "-86 -40.0 % (I)" if more < 0 else "+17 +7.9 % (R)"
    assert ((f"every call; whole loop {price}",) in remarks) is told
    text = to_markdown([price_document(report)])
    assert ("Whole loop: all instructions" in " ".join(text.split())) is told


def test_what_the_loop_alone_shows_comes_first() -> None:
    assert summaries(price_report(moved_work(0)))[0].workload == "syscall/invalid"
    found = summaries(price_report(moved_work(100, "stock")))
    assert found[0].workload == GETPID


def test_boots_whose_loops_differ_are_not_exact() -> None:
    run = moved_work(0)
    for record in run.boots[-1].records:
        if record["type"] == "classes" and record["region"] == 0:
            record["whole"]["user_instructions"] += 1
    report = price_report(run)
    assert not report.exact
    assert report.exact_why == (
        "syscall/getpid: the whole loops differ between boot 1 of temper and its boot 2"
    )


def test_an_older_run_has_no_loop_and_keeps_its_marks() -> None:
    run = moved_work(100)
    for boot in run.boots:
        for record in boot.records:
            record.pop("whole", None)
    report = price_report(run)
    assert marks(report)["p50"] is Mark.IMPROVEMENT
    assert "whole-loop" not in {row.result_class for row in report.rows}
    table = price_table(report, without_ticks=True)
    assert table
    assert "whole-loop" not in [row.label for row in table.rows]
