"""What a report says on one page, and what it leaves to ``--full``."""

import io

import pytest
from rich.console import Console
from samples import (
    changed,
    price_run,
    price_run_of_many,
    priced,
    proof_report_of_many,
)

from temper.analysis.models import PriceReport
from temper.analysis.price import price_report
from temper.report.brief import (
    brief_legend,
    brief_title,
    other_lines,
    trust_lines,
)
from temper.report.document import (
    Bullets,
    Cell,
    Detail,
    Document,
    PageOnly,
    Paragraph,
    Row,
    Section,
    Table,
)
from temper.report.layout import grids
from temper.report.markdown import to_markdown
from temper.report.price_document import price_document
from temper.report.proof_document import proof_document
from temper.report.summary import Summary, leading, summaries
from temper.report.tables import price_table, summary_table
from temper.report.terminal import print_documents

GETPID, PIPE = "syscall/getpid", "ctx/pipe"


def summary(report: PriceReport, workload: str) -> Summary:
    [found] = [each for each in summaries(report) if each.workload == workload]
    return found


@pytest.mark.parametrize(
    ("bins", "remark"),
    [
        ([(220, 10_000)], "every call"),
        # One sample in 10,000 decides the largest one, and nothing else.
        ([(220, 9_999), (9_000, 1)], "about the same"),
        ([(220, 9_800), (221, 200)], "about the same"),
        ([(220, 9_800), (3_000, 200)], "mean +69.60; p99, p99.9 +2,794"),
        ([(220, 9_985), (300, 15)], "p99.9 +94"),
    ],
)
def test_the_remark_says_where_other_classes_differ(
    bins: list[tuple[int, int]], remark: str
) -> None:
    assert summary(priced(GETPID, bins), GETPID).remark == remark


def test_classes_that_differ_in_the_largest_sample_only_are_the_same() -> None:
    # The mean is as much above 220 by one sample as it is below by others.
    report = priced(GETPID, [(210, 4), (220, 9_995), (260, 1)])
    assert summary(report, GETPID).remark == "the same"


@pytest.mark.parametrize(
    ("samples", "remark"),
    [
        (10_000, "mean +69.60; p99, p99.9 +2,794"),
        # One sample in 1,000 is beyond p99.9, and so are 9 of 9,000.
        (9_000, "mean +69.60; p99 +2,794"),
        (1_000, "mean +69.60; p99 +2,794"),
        (900, "too few samples"),
        (50, "too few samples"),
    ],
)
def test_classes_that_a_few_samples_decide_are_left_out(
    samples: int, remark: str
) -> None:
    report = priced(GETPID, [(220, samples * 98 // 100), (3_000, samples // 50)])
    assert summary(report, GETPID).remark == remark
    marks = {
        row.result_class: row.mark.value
        for row in report.rows
        if row.workload == GETPID and row.without_ticks
    }
    told = {name for name, mark in marks.items() if mark == "(R)"}
    assert told - {"mean", "p50"} == {
        name for name in ("p99", "p99.9") if name in remark
    }


def test_the_most_expensive_come_first() -> None:
    report = price_report(price_run(("off", "temper", "stock", "lfsr")))
    found = summaries(report)
    assert [each.variant for each in found[:3]] == ["stock", "lfsr", "temper"]
    workloads = list(dict.fromkeys(each.workload for each in found))
    assert workloads == ["syscall/invalid", GETPID, "syscall/getppid", PIPE]


def test_a_tail_makes_a_workload_expensive() -> None:
    found = summaries(priced(PIPE, [(2_746, 9_000), (9_000, 1_000)]))
    assert found[0].workload == PIPE
    # The largest sample does not.
    found = summaries(priced(PIPE, [(2_746, 9_999), (900_000, 1)]))
    assert found[-1].workload == PIPE


def many(count: int) -> list[Summary]:
    """Return the summaries of as many workloads, the first the most expensive.

    The 99th percentile costs 90 instructions more than the median.
    """
    report = priced(GETPID, [(220, 9_800), (310, 200)])
    rows = [row for row in report.rows if row.workload == GETPID and row.without_ticks]
    return [
        Summary(
            f"it/{number}",
            "stock",
            {
                row.result_class: row.model_copy(
                    update={
                        "workload": f"it/{number}",
                        "delta": row.delta - number,
                        "delta_percent": (row.delta - number) / 2,
                    }
                )
                for row in rows
            },
            samples=10_000,
        )
        for number in range(count)
    ]


def test_the_five_most_expensive_stand_for_many() -> None:
    first, others = leading(many(31))
    assert [each.workload for each in first] == [f"it/{n}" for n in range(5)]
    assert [each.workload for each in others] == [f"it/{n}" for n in range(5, 31)]
    [line] = other_lines(others)
    assert line == (
        "stock, 26 other workloads: -16 to +9 (-8.0 % to +4.5 %), p99 up to "
        "+49.5 % (it/5)."
    )


def test_a_percentile_is_told_only_where_it_costs_more_than_every_median() -> None:
    first, *others = many(31)
    rows = {
        name: row.model_copy(update={"delta": 190.0, "delta_percent": 95.0})
        for name, row in first.rows.items()
    }
    dear = Summary("it/dear", "stock", rows, samples=10_000)
    [line] = other_lines([*others, dear])
    assert line == "stock, 31 other workloads: -16 to +190 (-8.0 % to +95.0 %)."


def test_the_legend_says_what_the_remarks_leave_out() -> None:
    report = price_report(price_run())
    found = summaries(report)
    assert "Left out: the largest sample" in brief_legend(report, found)
    uniform = [each for each in found if each.is_uniform]
    assert "Left out" not in brief_legend(report, uniform)
    assert "About:" not in brief_legend(report, uniform)
    about = summary(priced(GETPID, [(220, 9_800), (221, 200)]), GETPID)
    assert "About: within 1 %" in brief_legend(report, [about])


def test_counts_that_are_not_exact_are_called_so_first() -> None:
    report = price_report(price_run())
    assert "EXACT" not in brief_title(report)
    torn = report.model_copy(update={"exact": False})
    assert brief_title(torn).startswith("NOT EXACT. Instructions per operation")


def test_what_a_variant_saves_is_told_as_well() -> None:
    report = price_report(price_run(("off", "stock", "temper")))
    saved = [
        row.model_copy(
            update={
                "per_operation": row.baseline_per_operation,
                "baseline_per_operation": row.per_operation,
            }
        )
        for row in report.classes
    ]
    told = "\n".join(trust_lines(report.model_copy(update={"classes": saved})))
    assert "stock -1 kernel_rdtsc." in told


def test_few_are_all_shown() -> None:
    first, others = leading(many(6))
    assert (len(first), others) == (6, [])


def test_a_report_of_many_workloads_is_a_page() -> None:
    run = price_run_of_many(("off", "stock", "lfsr", "temper"))
    document = price_document(price_report(run))
    assert len(printed(document, full=False)) < 100
    assert len(printed(document, full=True)) > 300


def printed(document: Document, *, full: bool) -> list[str]:
    out = io.StringIO()
    console = Console(file=out, width=80, color_system=None)
    print_documents(console, [document], full=full)
    return [line.rstrip() for line in out.getvalue().splitlines()]


def row_of(report: PriceReport, workload: str, name: str) -> list[str]:
    table = price_table(report, without_ticks=True)
    assert table
    labels = [row.label for row in table.rows]
    start = labels.index(workload)
    [found] = [row for row in table.rows[start:][:6] if row.label == name][:1]
    return [" ".join(cell.parts).strip() for cell in found.cells]


def test_the_largest_sample_is_neither_marked_nor_coloured() -> None:
    report = priced(PIPE, [(2_746, 9_999), (900_000, 1)])
    assert row_of(report, PIPE, "p99")[1].endswith("(R)")
    assert row_of(report, PIPE, "max") == [
        "1,377",
        "+448,623 >9999 %".replace(" >", " +>"),
    ]
    table = price_table(report, without_ticks=True)
    assert table
    tones = {row.label: row.cells[1].tone.name for row in table.rows if row.cells}
    assert (tones["p99"], tones["max"]) == ("BAD", "PLAIN")
    marks = {row.mark.value for row in report.rows if row.result_class == "max"}
    assert marks <= {"=", "(?)"}


def test_samples_that_are_all_the_same_have_one_row() -> None:
    table = price_table(price_report(price_run(("off", "stock", "lfsr"))), True)
    assert table
    labels = [row.label for row in table.rows]
    assert labels == [
        *(GETPID, "every sample", "whole-loop"),
        *("syscall/getppid", "every sample", "whole-loop"),
        *("syscall/invalid", "every sample", "whole-loop"),
        *(PIPE, "mean", "p50", "p99", "p99.9", "max", "whole-loop"),
    ]
    # One variant that differs is enough for all rows.
    table = price_table(priced(GETPID, [(220, 9_800), (221, 200)]), True)
    assert table
    assert [row.label for row in table.rows][1:6] == [
        *("mean", "p50", "p99", "p99.9", "max"),
    ]


def test_the_price_of_one_variant_stands_beside_its_workload() -> None:
    report = price_report(price_run())
    table = summary_table(report, summaries(report))
    assert table.columns == ("off", "stock", "other classes")
    assert next(row.label for row in table.rows) == "syscall/invalid"
    assert not any(row.is_heading for row in table.rows)


def test_what_a_count_cannot_weigh_is_told() -> None:
    lines = trust_lines(price_report(price_run(("off", "stock", "temper"))))
    [line] = [line for line in lines if "hardware" in line]
    assert line.endswith(": stock +1 kernel_rdtsc.")


def test_a_check_that_failed_is_told_in_short_text() -> None:
    run = price_run()
    next(r for r in run.boots[1].records if r["type"] == "in_force")["on"] = False
    lines = trust_lines(price_report(run))
    assert [line for line in lines if "stock: found on by 9 of 10 checks" in line]


def test_a_refusal_is_told_in_short_text() -> None:
    run = price_run()
    run.boots[1] = changed(run.boots[1], status="boot_error", error="it hung")
    text = " ".join(printed(price_document(price_report(run)), full=False))
    assert "REFUSED: no price of stock: its kernel failed in boot 1: it hung." in text


DETAILS = Document(
    heading="Price",
    feature="it",
    title="It",
    conclusion=[],
    blocks=[
        Section("Kept", [Paragraph("plain")]),
        Detail("Classes", [Paragraph("many")]),
        Detail("one", [Paragraph("why")], [Bullets(["gist"])], contents="evidence"),
        Detail("two", [Paragraph("because")], contents="evidence"),
        Section("Gone", [Detail("Within", [PageOnly([Paragraph("plot")])])]),
    ],
    made="Run 7, today.",
    full="temper report 7 --full",
)


def test_short_text_names_what_it_leaves_out_and_how_to_see_it() -> None:
    for text in ("\n".join(printed(DETAILS, full=False)), to_markdown([DETAILS])):
        assert "Left out: classes; evidence; within. To see it:" in text
        assert "temper report 7 --full" in text
        assert "gist" in text
        for hidden in ("many", "why", "because", "Gone", "plot", "two"):
            assert hidden not in text, hidden


def test_full_text_leaves_nothing_out() -> None:
    texts = ["\n".join(printed(DETAILS, full=True)), to_markdown([DETAILS], full=True)]
    for text in texts:
        for shown in ("Kept", "Classes", "many", "why", "two", "because"):
            assert shown in text, shown
        # The gist is what short text has in place of the rest; plots are no text.
        for hidden in ("Left out", "gist", "Gone", "plot"):
            assert hidden not in text, hidden


def test_short_evidence_is_what_the_verdict_depends_on() -> None:
    lines = printed(proof_document(proof_report_of_many()), full=False)
    start = lines.index("clock: predict by clock")
    told = " ".join(lines[start : lines.index("storm: predict by storm")])
    assert "off is VULNERABLE" in told
    assert "stock is BLOCKED" in told
    # It does not decide, but was not expected; 'none' is neither.
    assert "lfsr is VULNERABLE" in told
    assert "none is" not in told


def test_words_are_wrapped_and_figures_are_not() -> None:
    remark = "mean +1,234; p99.9 +123,456,789"
    cells = (Cell(("1,234,567,890", "+12.3 %", "(R)")), Cell((remark,)))
    table = Table(("off", "others"), (Row("workload", cells),), "it", words=True)
    [grid] = grids(table, 60)
    assert grid.width <= 60
    figures = [line.cells[0] for line in grid.lines]
    assert figures == ["1,234,567,890 +12.3 % (R)", "", ""]
    assert " ".join(line.cells[1] for line in grid.lines) == remark
    [wide] = grids(table)
    assert len(wide.lines) == 1
