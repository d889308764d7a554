"""What a variant costs over all real programs, in one sentence."""

import io

import pytest
from rich.console import Console
from samples import OFF, price_run

from temper.analysis.models import PriceReport
from temper.analysis.price import price_report
from temper.record.plan import Work
from temper.report.html import to_html
from temper.report.markdown import to_markdown
from temper.report.overall import overall_lines, overall_ratios
from temper.report.price_document import price_document
from temper.report.terminal import print_documents
from temper.stats.comparison import Mark
from temper.workloads import all_workloads, workloads

GETPID, GETPPID, INVALID, PIPE = OFF


def real(*programs: str) -> PriceReport:
    """Return a report in which these workloads pass for real programs."""
    report = price_report(price_run(("off", "stock", "temper"), moves=(2, 4)))
    return report.model_copy(update={"real_programs": list(programs)})


def test_the_mean_is_geometric_and_the_dearest_three_are_named() -> None:
    report = real(*OFF)
    ratios = (220 / 206, 224 / 210, 158 / 144, 1373 / 1359)
    mean = (ratios[0] * ratios[1] * ratios[2] * ratios[3]) ** (1 / 4)
    stock, temper = overall_lines(report)
    assert stock == (
        f"Over 4 real programs, stock costs +{100 * (mean - 1):.1f} % ±0.08 %: the "
        "geometric mean of their medians as ratios to off. The dearest: "
        "syscall/invalid +9.7 %, syscall/getpid +6.8 %, syscall/getppid +6.7 %."
    )
    assert temper.startswith("Over 4 real programs, temper costs -1.3 % ±0.07 %:")
    assert temper.endswith(
        "ctx/pipe -0.22 %, syscall/getppid -1.4 %, syscall/getpid -1.5 %."
    )


def test_without_other_layouts_nothing_is_said_of_its_spread() -> None:
    report = real(*OFF)
    rows = [
        row.model_copy(update={"spread": None}) if row.workload == GETPID else row
        for row in report.rows
    ]
    stock, _ = overall_lines(report.model_copy(update={"rows": rows}))
    assert stock.startswith("Over 4 real programs, stock costs +6.0 %: ")


@pytest.mark.parametrize(
    ("spread", "said"),
    [
        (12, "stock costs +6.0 % ±5.7 %: the"),
        (15, "stock costs +6.0 % ±7.1 %, no more than the layout of memory makes: the"),
        (10_000, "stock costs +6.0 % ±4762 %, no more than the layout of memory "),
    ],
)
def test_a_mean_within_its_spread_is_called_so(spread: float, said: str) -> None:
    report = real(*OFF)
    rows = [
        row.model_copy(update={"spread": spread * row.baseline_value / 210})
        for row in report.rows
    ]
    stock, _ = overall_lines(report.model_copy(update={"rows": rows}))
    assert said in stock


def test_it_is_in_every_form_of_a_report() -> None:
    document = price_document(real(*OFF))
    out = io.StringIO()
    print_documents(Console(file=out, width=80), [document], full=False)
    for text in (out.getvalue(), to_markdown([document]), to_html([document])):
        plain = " ".join(text.replace("\N{NO-BREAK SPACE}", " ").split())
        assert (
            "Over 4 real programs, stock costs +6.0 % ±0.08 %: the geometric mean"
            in plain
        )


def test_micro_benchmarks_are_not_mixed_in() -> None:
    stock, _ = overall_lines(real(GETPID, PIPE))
    mean = 100 * ((220 / 206 * 1373 / 1359) ** 0.5 - 1)
    assert stock == (
        f"Over 2 real programs, stock costs +{mean:.1f} % ±0.15 %: the geometric mean "
        "of their medians as ratios to off, without micro-benchmarks. The dearest: "
        "syscall/getpid +6.8 %, ctx/pipe +1.0 %."
    )


@pytest.mark.parametrize("names", [(), (GETPID,)])
def test_of_fewer_than_two_programs_there_is_no_mean(names: tuple[str, ...]) -> None:
    assert overall_lines(real(*names)) == []


def test_an_improvement_that_is_none_is_not_in_the_mean() -> None:
    report = real(*OFF)
    rows = [
        row.model_copy(
            update={
                "mark": Mark.MOVED,
                "value": row.value + 206 * (row.result_class == "whole-loop"),
            }
        )
        if (row.workload, row.variant) == (GETPID, "temper")
        else row
        for row in report.rows
    ]
    moved = report.model_copy(update={"rows": rows})
    assert overall_ratios(report)["temper"][GETPID].value == 203 / 206
    assert overall_ratios(moved)["temper"][GETPID].value == (212 + 206) / 215


def test_a_plan_knows_its_real_programs() -> None:
    sized = workloads(all_workloads(), 1000)
    work = Work(job=("settle 3", *(each.line for each in sized)), cpus=1, exact=True)
    assert work.real_programs == [each.name for each in sized if each.real]
    assert "db/redis-get" in work.real_programs
