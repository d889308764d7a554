import base64
import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from page import Element, Page
from samples import (
    PROOFS,
    SWITCH,
    UNKEYED,
    WRITES,
    changed,
    price_run,
    priced,
    proof_report,
    proof_report_of_many,
    proof_report_of_writes,
)

from temper.analysis.models import PriceReport, ProofReport
from temper.analysis.price import price_report
from temper.record.outcome import Outcome
from temper.report.as_csv import to_csv
from temper.report.as_json import to_json
from temper.report.html import to_html
from temper.report.price_document import price_document
from temper.report.proof_document import proof_document

UNSUPPORTED = Outcome.UNSUPPORTED
FOUR = ("off", "stock", "lfsr", "temper")
TAIL = [(2_746, 9_000), (9_000, 1_000)]
"""Samples of ctx/pipe of which one in ten is expensive."""


def page_of(*reports: PriceReport | ProofReport) -> str:
    return to_html(
        price_document(report)
        if isinstance(report, PriceReport)
        else proof_document(report)
        for report in reports
    )


def both() -> str:
    return page_of(proof_report(), price_report(price_run()))


@pytest.fixture(scope="module")
def whole() -> str:
    """Return a page on which all is that pages have."""
    price = price_report(price_run(FOUR, switch=SWITCH))
    tail = priced("ctx/pipe", TAIL)
    return page_of(proof_report_of_many(), proof_report_of_writes(), price, tail)


@pytest.fixture(scope="module")
def page(whole: str) -> Page:
    """Return it as a tree."""
    return Page(whole)


def test_the_page_needs_nothing_else(whole: str) -> None:
    assert "http" not in whole
    assert "<script" not in whole
    assert "@import" not in whole
    assert "url(" not in re.sub(r"url\(#", "", whole)
    assert not re.search(r'(?:src|href)="(?!#|data:)', whole)


def test_every_link_leads_somewhere_in_the_page(page: Page) -> None:
    ids = page.ids
    links = [
        a.attributes["href"] for a in page.all("a") if "download" not in a.attributes
    ]
    assert len(links) > 30
    for link in links:
        assert link.removeprefix("#") in ids, link


def test_references_inside_the_plots_lead_somewhere(whole: str, page: Page) -> None:
    targets = re.findall(r'(?:href="#|url\(#|aria-labelledby=")([^")]+)', whole)
    assert [target for target in targets if target.startswith("plot")]
    assert set(targets) <= page.ids.keys()


def test_the_contents_name_every_heading_of_the_first_levels(page: Page) -> None:
    [nav] = page.all("nav")
    named = [a.text for a in nav.all("a")]
    [main] = page.all("main")
    assert named == [heading.text for heading in main.all("h2", "h3")]


def test_a_link_to_details_leads_inside_so_that_it_opens_them(page: Page) -> None:
    ids = page.ids
    [nav] = page.all("nav")
    targets = [ids[a.attributes["href"].removeprefix("#")] for a in nav.all("a")]
    folded = [each for each in targets if each.within("details")]
    assert len(folded) > 10
    assert not [each for each in folded if each.within("summary")]


def test_outcomes_link_to_their_evidence(page: Page) -> None:
    [table, *_] = [t for t in page.all("table") if "VULNERABLE" in t.text]
    row = next(row for row in table.all("tr") if row.text.startswith("clock"))
    targets = {a.attributes["href"] for a in row.all("a")}
    assert targets == {"#proof-of-kstack-clock"}
    evidence = page.ids["proof-of-kstack-clock"]
    assert evidence.parent
    assert evidence.parent.all("summary")[0].text == "clock: predict by clock"
    assert "lfsr is VULNERABLE" in evidence.text


def test_headings_leave_out_no_level(page: Page) -> None:
    levels = [int(each.tag[1]) for each in page.all(*(f"h{n}" for n in range(1, 7)))]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_tables_say_what_they_hold_and_what_their_headings_head(page: Page) -> None:
    tables = page.all("table")
    assert len(tables) > 20
    for table in tables:
        [caption] = table.all("caption")
        assert caption.text
        scopes = {each.attributes["scope"] for each in table.all("th")}
        assert scopes <= {"col", "row", "rowgroup"}
        # A group of rows is what its heading heads.
        for body in table.all("tbody"):
            headings = [
                th for th in body.all("th") if th.attributes["scope"] == "rowgroup"
            ]
            assert len(headings) <= 1


def test_tables_that_scroll_can_be_scrolled_by_keys(page: Page) -> None:
    for table in page.all("table"):
        around = table.parent
        assert around
        if around.attributes.get("class") == "wide":
            assert around.attributes["tabindex"] == "0"
            assert around.attributes["aria-label"]


def test_plots_say_in_words_what_they_show(page: Page) -> None:
    plots = page.all("svg")
    assert len(plots) > 5
    for plot in plots:
        assert plot.attributes["role"] == "img"
        [title] = plot.all("title")
        assert title.attributes["id"] == plot.attributes["aria-labelledby"]
        assert len(title.text) > 20
    said = [plot.all("title")[0].text for plot in plots]
    assert (
        "ctx/pipe with stock: mean 1,685.70, p50 1,373, p99 4,500, p99.9 4,500, "
        "max 4,500; with off: mean 1,359.02, p50 1,359, p99 1,359, p99.9 1,359, "
        "max 1,377"
    ) in said


def test_the_title_says_what_the_page_is() -> None:
    [title] = Page(both()).all("title")[:1]
    assert title.text == (
        "Proof of kstack, Price of kstack: Kernel stack offset randomisation"
    )


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
        "instructions per context switch",
        "clock",
        "2026-01-01 00:00 UTC",
        "on lab (a CPU, x86_64, Linux 6.1.0), by Temper 0.1.0",
    ):
        assert part in page, part
    assert "kernel_invpcid" not in page


def data_of(page: Page, title: str) -> list[tuple[str, str]]:
    """Return the files that the links of this title hold, by their names."""
    links = [a for a in page.all("a") if a.text == title and "download" in a.attributes]
    return [
        (
            a.attributes["download"],
            base64.b64decode(a.attributes["href"].partition(",")[2]).decode(),
        )
        for a in links
    ]


def test_the_page_brings_its_data_along() -> None:
    proof, price = proof_report(), price_report(price_run())
    page = Page(page_of(proof, price))
    found = dict(data_of(page, "JSON"))
    assert list(found) == ["temper-prove-kstack-6.json", "temper-price-kstack-7.json"]
    wanted = [to_json(proof), to_json(price)]
    assert list(map(json.loads, found.values())) == list(map(json.loads, wanted))
    tables = dict(data_of(page, "CSV"))
    assert tables["temper-price-kstack-7.csv"] == to_csv(price)


OUTCOME = re.compile(
    r'<td class="\w+">(?:<a [^>]*>)?(?:VULNERABLE|BLOCKED|UNSUPPORTED)'
)


def test_every_proof_is_on_the_page_for_every_variant() -> None:
    page = page_of(proof_report_of_many())
    assert len(OUTCOME.findall(page)) == 4 * 6
    for proof in PROOFS:
        assert f"<summary><h3>{proof}: predict by {proof}</h3></summary>" in page
    assert page.count("BLOCKED was expected") == 1


def test_what_the_feature_draws_is_on_the_page() -> None:
    report = proof_report()
    assert "bytes below the highest" in to_html([proof_document(report)])
    elsewhere = report.model_copy(update={"feature": "kpkeys"})
    assert "bytes below the highest" not in to_html([proof_document(elsewhere)])


def test_of_many_proofs_only_expected_outcomes_are_in_the_tables() -> None:
    page = page_of(proof_report_of_writes())
    # Those that ended alike share a row; the details have a row for each.
    assert len(OUTCOME.findall(page)) == 3 * (1 + len(WRITES)) + 2 * len(UNKEYED)
    assert "omit outcomes for which none was expected" in page
    for proof in WRITES:
        assert f"<h4>{proof}: write to a table: {proof}</h4>" in page
    assert "Not as expected" not in page


def test_of_many_proofs_what_was_not_expected_is_told_first() -> None:
    page = page_of(
        proof_report_of_writes({"stock": dict.fromkeys(WRITES, UNSUPPORTED)})
    )
    line = "and 32 more, but BLOCKED was expected: the kernel failed: it hung</li>"
    assert page.count(line) == 1
    assert page.index(line) < page.index("<h3>The evidence of each attack</h3>")


def test_the_model_of_a_switch_stands_in_a_frame_with_its_source() -> None:
    page = page_of(price_report(price_run(switch=SWITCH)))
    before, _, model = page.partition('<div class="framed">')
    assert "Level switches per operation" in before
    assert "A stated model, not measured: cycles for the level switches" in model
    assert "Source: A Manual, chapter 3." in model
    assert model.count("+20\N{NO-BREAK SPACE}to\N{NO-BREAK SPACE}+200.50") == 4
    assert "A Manual" not in both()


def test_each_half_stands_alone() -> None:
    assert "Proof of" not in page_of(price_report(price_run()))
    assert "Price of" not in page_of(proof_report())


def test_what_a_kernel_says_is_escaped() -> None:
    run = price_run()
    run.boots[1] = changed(
        run.boots[1], status="boot_error", error="<script>alert(1)</script>"
    )
    page = page_of(price_report(run))
    assert "REFUSED: no price of stock" in page
    assert "<script" not in page


def test_a_refused_run_draws_no_prices() -> None:
    run = price_run()
    run.boots[1].records = [r for r in run.boots[1].records if r["type"] != "in_force"]
    page = page_of(price_report(run))
    assert "REFUSED: no price of stock: no in-force check was made" in page
    assert "(R)" not in page


def bars(page: Page) -> list[tuple[str, str, float, float]]:
    """Return the workload, the variant, and where the bar starts and how long it is."""
    found = []
    [chart] = [f for f in page.all("figure") if f.attributes.get("class") == "chart"]
    for body in chart.all("tbody"):
        workload, *_ = body.all("tr")[0].text.split()
        for row in body.all("tr")[1:]:
            [_zero, bar] = row.all("span")
            place = re.findall(r"[\d.]+", bar.attributes["style"])
            start, width = map(float, place)
            found.append((workload, row.all("th")[0].text, start, width))
    return found


def test_the_page_opens_with_a_picture_of_the_price() -> None:
    text = page_of(proof_report(), price_report(price_run(FOUR)))
    assert text.index('<figure class="chart">') < text.index("kstack is PROVEN")
    found = bars(Page(text))
    assert [name for name, *_ in found[::3]] == [
        *("syscall/invalid", "syscall/getpid", "syscall/getppid", "ctx/pipe")
    ]
    assert [variant for _, variant, *_ in found[:3]] == ["stock", "lfsr", "temper"]
    # On invalid, off takes 144: stock 14 more, lfsr 11 more, temper 3 less.
    low, high = -300 / 144, 1400 / 144
    zero = 100 * -low / (high - low)
    (_, _, start, width), (_, _, other, less), (_, _, left, cheap) = found[:3]
    assert start == other == pytest.approx(zero, abs=0.01)
    assert start + width == pytest.approx(100, abs=0.01)
    assert less / width == pytest.approx(11 / 14, abs=0.001)
    assert left == pytest.approx(0, abs=0.01)
    assert left + cheap == pytest.approx(zero, abs=0.01)
    # One scale: ctx/pipe takes 1,359.
    assert found[9][3] / width == pytest.approx(144 / 1359, abs=0.001)


def test_the_picture_names_unit_direction_and_baseline() -> None:
    [chart] = [
        figure
        for figure in Page(both()).all("figure")
        if figure.attributes.get("class") == "chart"
    ]
    assert "Price in instructions per operation at the median" in chart.text
    assert "← cheaper than off" in chart.text
    assert "more expensive than off →" in chart.text
    assert "syscall/invalid 144 with off" in chart.text


def test_bars_start_at_zero_though_all_prices_are_above() -> None:
    found = bars(Page(page_of(price_report(price_run()))))
    assert {start for _, _, start, _ in found} == {0.0}
    widths = [width for *_, width in found]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] == pytest.approx(100 * 144 / 1359, abs=0.01)


def test_equal_kernels_have_a_picture_without_bars() -> None:
    report = price_report(price_run(("stock", "sabotage-three-bits")))
    assert {width for *_, width in bars(Page(page_of(report)))} == {0.0}


def figures(page: Page) -> list[Element]:
    return [f for f in page.all("figure") if f.attributes.get("class") == "plots"]


def captions(page: Page) -> list[str]:
    return [figure.all("figcaption")[0].text for figure in figures(page)]


def test_distributions_are_drawn_where_they_say_something() -> None:
    page = Page(page_of(priced("ctx/pipe", TAIL)))
    [caption] = captions(page)
    assert caption.startswith("ctx/pipe: the share of samples that take at least")
    assert "Dashed: off." in caption
    # Where classes differ, they are not folded.
    assert not figures(page)[0].within("details")
    # Where they do not, they are; samples that are all the same are not drawn.
    page = Page(page_of(price_report(price_run())))
    [caption] = captions(page)
    assert caption.startswith("ctx/pipe")
    assert figures(page)[0].within("details")


def test_plots_of_a_workload_have_one_scale() -> None:
    report = price_report(price_run(FOUR))
    [figure] = figures(Page(page_of(report)))
    axes = [[text.text for text in plot.all("text")] for plot in figure.all("svg")]
    assert len(axes) == 3
    assert axes[0] == axes[1] == axes[2]
    assert axes[0][-3:] == ["all", "1 in 100", "1 in 10,000"]


def test_a_step_is_where_the_samples_are() -> None:
    [figure] = figures(Page(page_of(priced("ctx/pipe", TAIL))))
    [plot] = figure.all("svg")
    [variant] = [p for p in plot.all("path") if p.attributes["class"] == "variant"]
    every, hundredth = (
        float(line.attributes["y1"])
        for line in plot.all("line")[-3:-1]
        if line.attributes["y1"] == line.attributes["y2"]
    )
    levels = [float(y) for y in re.findall(r"V([\d.]+)H", variant.attributes["d"])]
    # All samples take at least 1,373, and one in ten takes 4,500.
    assert levels == pytest.approx([every, (every + hundredth) / 2], abs=0.1)


def test_a_workload_that_ticks_hit_in_every_sample_is_drawn() -> None:
    run = price_run()
    for boot in run.boots:
        for record in boot.records:
            if record["type"] == "histogram" and record["workload"] == "ctx/pipe":
                record["tick"] = True
    report: PriceReport = price_report(run)
    [caption] = captions(Page(page_of(report)))
    assert caption.startswith("ctx/pipe")
    assert "Ticks hit every sample of off, stock; these are drawn." in caption


def folded(elements: Iterable[Element]) -> set[str]:
    return {summary.text for each in elements for summary in each.all("summary")}


def test_what_short_text_leaves_out_is_folded(page: Page) -> None:
    assert folded([page.root]) >= {
        "All result classes",
        "Including samples hit by a timer tick",
        "Instructions by class",
        "Level switches",
        "In force, checked in the same boots",
        "Configuration and command lines",
        "The outcome of each proof",
        "All measures of this attack",
    }


def test_what_a_run_leaves_out_stands_outside_the_verdict() -> None:
    left_out = {"variants_left_out": ["lfsr"], "proofs_left_out": ["clock"]}
    page = Page(page_of(proof_report().model_copy(update=left_out)))
    banners = [
        div for div in page.all("div") if "banner" in div.attributes.get("class", "")
    ]
    assert [banner.text for banner in banners] == [
        "kstack is PROVEN for stock by prediction: off is VULNERABLE, stock is BLOCKED."
    ]
    [line] = [p for p in page.all("p") if p.text.startswith("Not in this run")]
    assert line.text == "Not in this run: the variants lfsr; the proofs clock."


def test_the_date_is_that_of_the_run() -> None:
    run = price_run().model_copy(
        update={"started": datetime(2027, 3, 4, 5, 6, 7, tzinfo=UTC)}
    )
    assert "Run 7, 2027-03-04 05:06 UTC" in page_of(price_report(run))
