import re
from html.parser import HTMLParser

from samples import (
    PROOFS,
    SWITCH,
    UNKEYED,
    WRITES,
    price_run,
    proof_report,
    proof_report_of_many,
    proof_report_of_writes,
)

from temper.analysis.models import PriceReport, ProofReport
from temper.analysis.price import price_report
from temper.record.outcome import Outcome
from temper.report.html import to_html
from temper.report.price_document import price_document
from temper.report.proof_document import proof_document

UNSUPPORTED = Outcome.UNSUPPORTED
VOID = {"meta", "br", "link", "img", "input", "hr"}


class Balance(HTMLParser):
    """Checks that every element is closed, and ids are unique."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self.ids += [value or "" for name, value in attrs if name == "id"]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids += [value or "" for name, value in attrs if name == "id"]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def page_of(*reports: PriceReport | ProofReport) -> str:
    return to_html(
        price_document(report)
        if isinstance(report, PriceReport)
        else proof_document(report)
        for report in reports
    )


def both() -> str:
    return page_of(proof_report(), price_report(price_run()))


def test_the_page_needs_nothing_else() -> None:
    page = both()
    assert "http" not in page
    assert "<script" not in page
    assert "@import" not in page
    assert not re.search(r'(?:src|href)="(?!#|data:)', page)


def test_the_page_is_well_formed_and_its_ids_are_unique() -> None:
    balance = Balance()
    balance.feed(both())
    assert balance.open == []
    assert len(set(balance.ids)) == len(balance.ids)


def test_references_inside_the_plots_lead_somewhere() -> None:
    page = both()
    targets = re.findall(r'(?:href="#|url\(#)([^")]+)', page)
    assert targets
    assert all(f'id="{target}"' in page for target in targets)


def test_the_same_data_gives_the_same_bytes() -> None:
    assert both() == both()


def test_the_page_holds_the_whole_answer() -> None:
    page = both()
    for part in (
        "kstack is PROVEN: off is VULNERABLE, stock is BLOCKED.",
        "At the median, stock costs +14 instructions",
        "10 of 10",
        "kernel_rdtsc",
        "6.12.117",
        "3f9c2b7d1e6a",
        "81d0aa42c9b3",
        "randomize_kstack_offset=off",
        "gcc (Debian 12.2.0-14+deb12u1) 12.2.0",
        "7.2.22",
        "Exact: 2 boots of each variant gave identical histograms",
        "Timing a sample costs 6 instructions",
        "temper price kstack",
        "instructions per call",
        "clock",
    ):
        assert part in page, part
    assert "kernel_invpcid" not in page


OUTCOME = re.compile(r"<td class=\"\w+\">(?:VULNERABLE|BLOCKED|UNSUPPORTED)")


def test_every_proof_is_on_the_page_for_every_variant() -> None:
    page = page_of(proof_report_of_many())
    assert len(OUTCOME.findall(page)) == 4 * 6
    for proof in PROOFS:
        assert f"<summary>{proof}: predict by {proof}</summary>" in page
    assert page.count("BLOCKED was expected") == 1


def test_what_the_feature_draws_is_on_the_page() -> None:
    report = proof_report()
    assert "bytes below the highest position" in to_html([proof_document(report)])
    elsewhere = report.model_copy(update={"feature": "kpkeys"})
    assert "bytes below the highest position" not in to_html(
        [proof_document(elsewhere)]
    )


def test_of_many_proofs_only_expected_outcomes_are_in_the_tables() -> None:
    page = page_of(proof_report_of_writes())
    # Those that ended alike share a row; the details have a row for each.
    assert len(OUTCOME.findall(page)) == 3 * (1 + len(WRITES)) + 2 * len(UNKEYED)
    assert "omit outcomes for which none was expected" in page
    for proof in WRITES:
        assert f"<summary>{proof}: write to a table: {proof}</summary>" in page
    assert "Not as expected" not in page
    balance = Balance()
    balance.feed(page)
    assert balance.open == []


def test_of_many_proofs_what_was_not_expected_is_told_first() -> None:
    page = page_of(
        proof_report_of_writes({"stock": dict.fromkeys(WRITES, UNSUPPORTED)})
    )
    line = "and 32 more, but BLOCKED was expected: the kernel failed: it hung</li>"
    assert page.count(line) == 1
    assert page.index(line) < page.index("<h3>The attacks</h3>")


def test_the_model_of_a_switch_stands_in_a_frame_with_its_source() -> None:
    page = page_of(price_report(price_run(switch=SWITCH)))
    before, _, model = page.partition('<div class="framed">')
    assert "Level switches per operation" in before
    assert "A stated model, not measured: cycles for the level switches" in model
    assert "Source: A Manual, chapter 3." in model
    assert model.count("+20\N{NO-BREAK SPACE}to\N{NO-BREAK SPACE}+200.50") == 4
    assert "A Manual" not in both()


def test_each_half_stands_alone() -> None:
    assert "<h2>Proof" not in page_of(price_report(price_run()))
    assert "<h2>Price" not in page_of(proof_report())


def test_what_a_kernel_says_is_escaped() -> None:
    run = price_run()
    boot = run.boots[1]
    facts = boot.facts.model_copy(
        update={"status": "boot_error", "error": "<script>alert(1)</script>"}
    )
    run.boots[1] = boot.model_copy(update={"facts": facts})
    page = page_of(price_report(run))
    assert "REFUSED: no price of stock" in page
    assert "<script" not in page


def test_a_refused_run_draws_no_prices() -> None:
    run = price_run()
    run.boots[1].records = [r for r in run.boots[1].records if r["type"] != "in_force"]
    page = page_of(price_report(run))
    assert "REFUSED: no price of stock: no in-force check was made" in page
    assert "(R)" not in page


def test_a_workload_that_ticks_hit_in_every_sample_is_drawn() -> None:
    run = price_run()
    for boot in run.boots:
        for record in boot.records:
            if record["type"] == "histogram" and record["workload"] == "ctx/pipe":
                record["tick"] = True
    report: PriceReport = price_report(run)
    assert "ctx/pipe" in page_of(report)
