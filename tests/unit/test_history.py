"""How prices and outcomes of a feature went from run to run."""

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest
from samples import STARTED, changed, price_run
from test_diff import of_variant, price, slower
from test_proof_report import CONSTANT, GOOD, RANDOM, boot, records, stored
from typer.testing import CliRunner

from temper.analysis.history import HistoryReport, history_report
from temper.cli import app
from temper.errors import InputError, StoreError
from temper.record.boot import StoredBoot, StoredRun
from temper.record.outcome import Outcome
from temper.record.plan import Kind
from temper.report.document import Section, Table, Tone
from temper.report.history_document import history_document
from temper.report.markdown import to_markdown
from temper.store import Store


def history(*runs: StoredRun, kind: Kind = Kind.PRICE) -> HistoryReport:
    loads = {run.id: partial(StoredRun.model_copy, run) for run in runs}
    return history_report("kstack", "x86_64", "", kind, loads)


def rows(report: HistoryReport) -> list[list[str]]:
    """Return the cells of all lines of the tables."""
    lines = to_markdown([history_document(report)]).splitlines()
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in lines
        if line.startswith("|")
    ]


def proof(number: int, boots: Mapping[str, StoredBoot] = GOOD) -> StoredRun:
    return stored(boots).model_copy(update={"id": number, "finished": STARTED})


def test_a_row_for_each_run_has_its_kernel_and_medians_oldest_first() -> None:
    later = price(
        of_variant(
            "stock",
            lambda boot: slower(
                changed(boot, key="0" * 64, release="6.12.118"), "syscall/getpid", 3
            ),
        ),
        number=9,
    )
    report = history(later, price(number=7))
    assert [(run.run, run.good) for run in report.runs] == [(7, True), (9, True)]
    stock = [
        (x.run, x.kernel_release, x.p50, x.price)
        for x in report.prices
        if (x.variant, x.workload) == ("stock", "syscall/getpid")
    ]
    assert stock == [(7, "6.12.117", 220, 14), (9, "6.12.118", 223, 17)]
    assert ["7 6.12.117 3f9c2b7d", "206", "210", "144"] in rows(report)
    assert ["7 6.12.117 3f9c2b7d", "+14", "+14", "+14"] in rows(report)
    assert ["9 6.12.118 00000000", "+17", "+14", "+14"] in rows(report)


def test_runs_with_another_baseline_are_told_apart() -> None:
    usual = price(number=7)
    plan = usual.plan.model_copy(update={"baseline": "stock"})
    report = history(usual, usual.model_copy(update={"id": 8, "plan": plan}))
    assert [run.baseline for run in report.runs] == ["off", "stock"]
    assert [[row[0], row[3]] for row in rows(report) if row[0] in ("7", "8")] == [
        ["7", "off"],
        ["8", "stock"],
    ]
    assert ["7 6.12.117 3f9c2b7d", "+14", "+14", "+14"] in rows(report)
    assert ["8 6.12.117 3f9c2b7d", "220", "224", "158"] in rows(report)
    assert ["8 6.12.117 3f9c2b7d", "-14", "-14", "-14"] in rows(report)
    text = " ".join(to_markdown([history_document(report)]).split())
    assert "without a sign, it is the baseline" in text


def test_counts_that_did_not_repeat_are_marked() -> None:
    def torn(boot: StoredBoot) -> StoredBoot:
        return slower(boot, "ctx/pipe", 2) if boot.facts.repeat else boot

    report = history(price(torn))
    assert not report.runs[0].good
    assert ["8 6.12.117 3f9c2b7d", "+14 (?)", "+14 (?)", "+14 (?)"] in rows(report)
    assert tones(report) == {Tone.DOUBT}
    assert tones(history(price())) == {Tone.PLAIN}


def test_a_program_that_failed_leaves_the_other_prices_as_good() -> None:
    def failing(boot: StoredBoot) -> StoredBoot:
        exited = {"n": 99, "type": "exit", "program": "real ctx/pipe 5 2", "status": 1}
        return boot.model_copy(update={"records": [*boot.records, exited]})

    report = history(price(failing))
    assert report.runs[0].good
    assert {each.workload for each in report.prices} == {
        *("syscall/getpid", "syscall/getppid", "syscall/invalid")
    }
    assert tones(report) == {Tone.PLAIN}


def tones(report: HistoryReport) -> set[Tone]:
    """Return the tones of all prices."""
    _, *variants = history_document(report).blocks
    return {
        cell.tone
        for section in variants
        if isinstance(section, Section)
        for table in section.blocks
        if isinstance(table, Table)
        for row in table.rows
        for cell in row.cells
    }


def test_a_kernel_that_was_given_is_known_by_its_hash() -> None:
    report = history(price(lambda boot: changed(boot, key="file:0123456789")))
    assert ["8 6.12.117 01234567", "206", "210", "144"] in rows(report)


def test_a_refused_price_is_told_and_leaves_the_others() -> None:
    def fails(boot: StoredBoot) -> StoredBoot:
        return changed(boot, status="boot_error", error="it hung")

    report = history(price(number=7), price(of_variant("stock", fails)))
    assert report.runs[1].refused == {"stock": "its kernel failed in boot 1: it hung"}
    assert [x.run for x in report.prices if x.variant == "stock"] == [7] * 4
    text = " ".join(to_markdown([history_document(report)]).split())
    assert "run 8: no price of stock: its kernel failed in boot 1: it hung" in text


def test_only_some_variants_and_workloads() -> None:
    report = history(price(variants=("off", "stock", "lfsr")))
    assert report.variants == ["off", "stock", "lfsr"]
    part = report.only(["lfsr"], ["ctx/pipe"])
    assert [(x.variant, x.workload) for x in part.prices] == [("lfsr", "ctx/pipe")]
    assert report.only([], []) == report


def test_a_baseline_comes_first_and_one_run_is_not_compared() -> None:
    report = history(price(variants=("off", "stock", "lfsr")))
    backwards = report.model_copy(update={"prices": report.prices[::-1]})
    assert backwards.variants == ["off", "lfsr", "stock"]
    one, two = history(price()), history(price(), price(number=9))
    assert "1 finished run.**" in to_markdown([history_document(one)])
    assert "2 finished runs. 'temper diff RUN RUN'" in to_markdown(
        [history_document(two)]
    )


def test_a_run_that_cannot_be_read_is_left_out_and_told() -> None:
    def damaged() -> StoredRun:
        raise StoreError("the raw file is damaged")

    runs = {9: damaged, 7: lambda: price(number=7)}
    report = history_report("kstack", "x86_64", "", Kind.PRICE, runs)
    assert [run.run for run in report.runs] == [7]
    assert report.left_out == {9: "the raw file is damaged"}
    text = to_markdown([history_document(report)])
    assert "- run 9: the raw file is damaged" in text


def test_outcomes_of_proofs_are_told_by_variant_and_proof() -> None:
    fallen = {**GOOD, **dict([boot("stock", records(CONSTANT, on=True))])}
    report = history(proof(7), proof(8, fallen), kind=Kind.PROVE)
    assert [(run.run, run.good) for run in report.runs] == [(7, True), (8, False)]
    assert [(x.run, x.proof, x.outcome) for x in report.outcomes[2:]] == [
        (8, "prediction", Outcome.VULNERABLE),
        (8, "prediction", Outcome.VULNERABLE),
    ]
    assert ["7 6.12.117 3f9c2b7d", "BLOCKED"] in rows(report)
    assert ["8 6.12.117 3f9c2b7d", "VULNERABLE"] in rows(report)


def test_a_proof_with_a_surprise_is_not_good() -> None:
    missed = {**GOOD, **dict([boot("constant", records(RANDOM, on=False))])}
    assert not history(proof(7, missed), kind=Kind.PROVE).runs[0].good


def test_of_many_proofs_the_worst_is_told() -> None:
    report = history(proof(7), kind=Kind.PROVE)
    (off, stock) = report.outcomes
    many = [stock.model_copy(update={"proof": f"proof-{n}"}) for n in range(13)]
    one = many[5].model_copy(update={"outcome": Outcome.VULNERABLE})
    outcomes = [off, *many[:5], one, *many[6:]]
    told = rows(report.model_copy(update={"outcomes": outcomes}))
    assert ["", "worst of 13 proofs"] in told
    assert told[-1] == ["7 6.12.117 3f9c2b7d", "VULNERABLE"]


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Store prices: two, one not finished, one with a setting, on another CPU, base."""
    monkeypatch.setenv("TEMPER_DATA", str(tmp_path))
    monkeypatch.delenv("TEMPER_STORE", raising=False)
    made = price_run()
    with Store.open() as store:
        for chosen, done in (
            ({}, True),
            ({}, True),
            ({}, False),
            ({"setting": "x"}, True),
            ({"cpu": "EPYC"}, True),
            ({"base": "cloud"}, True),
        ):
            plan = made.plan.model_copy(update=chosen)
            number = store.create_run(plan)
            for each in made.boots:
                store.save_boot(number, each)
            if done:
                store.finish(number)


def temper(*words: str) -> str:
    done = CliRunner().invoke(app, ["history", *words], catch_exceptions=False)
    assert done.exit_code == 0
    return done.output


@pytest.mark.usefixtures("runs")
def test_the_command_lists_finished_runs_of_one_kind_and_setting() -> None:
    data = json.loads(temper("kstack", "--json", "-"))
    assert [run["run"] for run in data["runs"]] == [1, 2]
    assert max(map(len, temper("kstack").splitlines())) <= 78
    data = json.loads(temper("kstack", "--base", "cloud", "--json", "-"))
    assert [run["run"] for run in data["runs"]] == [6]
    few = ("--variants", "stock", "--workloads", "ctx/pipe,syscall/getpid")
    data = json.loads(temper("kstack", *few, "--json", "-"))
    assert len(data["prices"]) == 4


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("kstack", "--arch", "arm64"), "there are no prices of kstack on arm64"),
        (("kstack", "--outcomes"), "there are no outcomes of kstack on x86_64"),
        (("kpkeys",), "there are no prices of kpkeys on x86_64"),
        (("compare",), "there are no prices of compare on x86_64"),
        (("kstak",), "unknown feature 'kstak'"),
        (("kstack", "--variants", "lfsr"), "unknown variant 'lfsr'"),
        (("kstack", "--workloads", ""), "the name of a workload is missing"),
        (("kstack", "--arch", "mips"), "unknown architecture 'mips'"),
        (("kstack", "--outcomes", "--workloads", "ctx/pipe"), "proofs have no work"),
    ],
)
def test_what_is_not_there_is_told(words: tuple[str, ...], why: str) -> None:
    with pytest.raises(InputError, match=why):
        temper(*words)
