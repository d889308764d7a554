"""The page in a browser: nothing is cut off, and no text is too small to read."""

import html
import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from samples import (
    SWITCH,
    price_run,
    price_run_of_many,
    priced,
    proof_report_of_many,
    proof_report_of_writes,
)

from temper.analysis.price import price_report
from temper.process import call
from temper.report.html import to_html
from temper.report.price_document import price_document
from temper.report.proof_document import proof_document

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

WIDTHS = (420, 1000, 1600)
VARIANTS = ("off", "stock", "lfsr", "temper", "sabotage-three-bits")
TAIL = [(2_746, 9_000), (9_000, 1_000)]
# A window of Chromium has a least width; a frame in it has not.
FRAMES = """<!DOCTYPE html><body>
{frames}
<script>
function cutOff(element, width) {{
  return element.getBoundingClientRect().right > width + 1
    && !element.closest(".wide");
}}
function smallest(page) {{
  return Math.min(...[...page.querySelectorAll("svg text")].map((text) => {{
    const svg = text.ownerSVGElement;
    const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
    return scale * parseFloat(getComputedStyle(text).fontSize);
  }}));
}}
function measure(frame) {{
  const page = frame.contentDocument, root = page.documentElement;
  page.querySelectorAll("details").forEach((each) => {{ each.open = true; }});
  return {{
    width: root.clientWidth,
    needed: root.scrollWidth,
    text: smallest(page),
    cut_off: [...page.querySelectorAll("main *, header *")]
      .filter((each) => cutOff(each, root.clientWidth))
      .map((each) => each.outerHTML.slice(0, 200)),
    bars: [...page.querySelectorAll(".chart .bar div")]
      .map((bar) => bar.getBoundingClientRect().width),
    rows: [...page.querySelectorAll(".chart tr")]
      .map((row) => row.getBoundingClientRect().height),
  }};
}}
window.onload = () => {{
  const frames = [...document.querySelectorAll("iframe")];
  document.body.textContent = JSON.stringify(frames.map(measure));
}};
</script>"""


@dataclass(frozen=True)
class Seen:
    """What a page is like at one width, with all details open; all in CSS pixels."""

    width: int
    needed: int
    text: float
    """The height of the smallest text in a plot."""
    cut_off: list[str]
    """What is beyond the right edge and cannot be scrolled to."""
    bars: list[float]
    rows: list[float]
    """The heights of the rows of bars."""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Seen]:
    """Open a page at all widths."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "report.html").write_text(report(), encoding="utf-8")
    frames = "\n".join(
        f'<iframe src="report.html" width="{width}" height="900"></iframe>'
        for width in WIDTHS
    )
    (folder / "frames.html").write_text(FRAMES.format(frames=frames))
    measured = json.loads(body_of(folder / "frames.html"))
    return dict(zip(WIDTHS, (Seen(**each) for each in measured), strict=True))


def report() -> str:
    """Return a page on which all is that pages have, with many variants."""
    price = price_report(price_run(VARIANTS, scale=1_000, switch=SWITCH))
    return to_html(
        [
            proof_document(proof_report_of_many()),
            proof_document(proof_report_of_writes()),
            price_document(price),
            price_document(price_report(price_run_of_many(VARIANTS[:4]))),
            price_document(priced("ctx/pipe", TAIL)),
        ]
    )


def body_of(page: Path) -> str:
    """Return the text of a page after its scripts have run."""
    done = call(
        [
            *("chromium", "--headless", "--no-sandbox", "--disable-gpu"),
            *("--hide-scrollbars", "--allow-file-access-from-files"),
            *(f"--user-data-dir={page.parent / 'profile'}", "--dump-dom"),
            page.as_uri(),
        ],
        page.parent,
        timeout=200,
    )
    found = re.search(r"<body>(.*?)</body>", "\n".join(done.lines), re.DOTALL)
    assert found, done.tail(20)
    return html.unescape(found[1])


@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_fits_its_width(seen: dict[int, Seen], width: int) -> None:
    assert seen[width].width == width
    assert seen[width].needed <= width
    assert seen[width].cut_off == []


@pytest.mark.parametrize("width", WIDTHS)
def test_text_in_plots_can_be_read(seen: dict[int, Seen], width: int) -> None:
    assert seen[width].text >= 11


@pytest.mark.parametrize("width", WIDTHS)
def test_bars_have_room(seen: dict[int, Seen], width: int) -> None:
    # Of the last, 75 on the picture of all.
    assert len(seen[width].bars) > 16 + 15 + 75
    assert min(seen[width].bars) > width / 5


@pytest.mark.parametrize("width", WIDTHS)
def test_names_and_remarks_beside_bars_take_few_lines(
    seen: dict[int, Seen], width: int
) -> None:
    assert max(seen[width].rows) < 60
