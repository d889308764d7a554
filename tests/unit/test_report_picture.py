"""The picture of all workloads, on a page and as a file to paste."""

from itertools import groupby
from xml.etree import ElementTree

import pytest
from page import Page
from samples import MANY, price_run, price_run_of_many

from temper.analysis.models import PriceReport
from temper.analysis.price import price_report
from temper.report.bar_plot import bar_plot
from temper.report.document import Bar, BarGroup, Chart
from temper.report.html import to_html
from temper.report.picture import picture_of_all
from temper.report.price_document import price_document, price_svg

VARIANTS = ("off", "stock", "lfsr", "temper")
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def many() -> PriceReport:
    return price_report(price_run_of_many(VARIANTS))


def charts(report: PriceReport) -> list[list[str]]:
    """Return the workloads on each chart of a page, in their order."""
    figures = Page(to_html([price_document(report)])).all("figure")
    return [
        [body.all("tr")[0].text.split()[0] for body in figure.all("tbody")]
        for figure in figures
        if figure.attributes.get("class") == "chart"
    ]


def test_a_page_of_many_workloads_has_a_picture_of_all(many: PriceReport) -> None:
    first, every = charts(many)
    assert len(first) == 5
    assert sorted(every) == sorted(MANY)
    text = to_html([price_document(many)])
    assert "20 other workloads are in the picture of all." in text


def test_a_page_of_few_workloads_has_one_picture() -> None:
    [found] = charts(price_report(price_run(VARIANTS)))
    assert len(found) == 4


def test_all_are_sorted_by_cost(many: PriceReport) -> None:
    # Those that cost the same percentage are in any order.
    chart = picture_of_all(many)
    assert chart
    highest = [max(bar.value for bar in group.bars) for group in chart.groups]
    assert highest == sorted(highest, reverse=True)
    assert len(list(groupby(highest))) > 5


def test_a_tail_does_not_change_the_order_of_medians(many: PriceReport) -> None:
    last = list(MANY)[-1]
    rows = [
        row.model_copy(update={"delta": 1e9, "delta_percent": 1e6})
        if (row.workload, row.result_class) == (last, "mean")
        else row
        for row in many.rows
    ]
    chart = picture_of_all(many.model_copy(update={"rows": rows}))
    assert chart
    assert chart.groups[0].label != last


def test_the_file_has_every_workload_variant_and_price(many: PriceReport) -> None:
    text = price_svg(many)
    root = ElementTree.fromstring(text)
    said = [each.text for each in root.iter(f"{SVG}text")]
    assert set(said) >= {*MANY, "stock", "lfsr", "temper"}
    assert "off" not in said
    prices = [
        each for each in said if each and each.startswith(("+14 ", "+11 ", "-3 "))
    ]
    assert len(prices) == 3 * len(MANY)
    assert "← cheaper than off · more expensive than off →" in said
    assert "(R) regression, more expensive" in " ".join(filter(None, said))
    assert text == price_svg(many)


def test_a_page_offers_the_file(many: PriceReport) -> None:
    document = price_document(many)
    [svg] = [each for each in document.downloads if each.media == "image/svg+xml"]
    assert (svg.file, svg.write()) == ("temper-price-kstack-7.svg", price_svg(many))


def lengths(svg: str, colour: str) -> list[float]:
    """Return where each bar of a colour starts and ends, from the left."""
    root = ElementTree.fromstring(svg)
    found = []
    for path in root.iter(f"{SVG}path"):
        if (
            f"fill: {colour}" in path.attrib.get("style", "")
            and "clip-path" in path.attrib
        ):
            words = path.attrib["d"].split()
            found += [float(words[4]) - float(words[1])]
    return found


def test_bars_are_as_long_as_prices_and_to_their_side() -> None:
    groups = [
        BarGroup("a", "", [Bar("one", 8.0, "+8"), Bar("other", -2.0, "-2")]),
        # A variant that was not measured here has no bar.
        BarGroup("b", "", [Bar("other", 4.0, "+4")]),
    ]
    svg = bar_plot(Chart("", "less", "more", groups), "it")
    [eight] = lengths(svg, "#0072b2")
    less, four = lengths(svg, "#e69f00")
    assert eight == pytest.approx(2 * four, abs=0.01)
    assert less == pytest.approx(-four / 2, abs=0.01)


def test_without_prices_there_is_nothing_to_draw() -> None:
    report = price_report(price_run()).model_copy(update={"rows": []})
    assert price_svg(report) == ""
    media = [each.media for each in price_document(report).downloads]
    assert "image/svg+xml" not in media
