"""Writes reports as one self-contained page."""

from base64 import b64encode
from collections.abc import Iterable
from itertools import count

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from temper.report.anchors import Anchors
from temper.report.document import Block, Cell, Chart, Document, Download, Plot


def to_html(documents: Iterable[Document]) -> str:
    """Return a page; the same data gives the same bytes."""
    documents = list(documents)
    environment = Environment(
        loader=PackageLoader("temper.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    numbers = count()

    def drawn(plot: Plot) -> Markup:
        return _titled(plot, f"plot{next(numbers)}")

    environment.filters.update(
        kind=_kind, drawn=drawn, aligned=_aligned, tied=_tied, bar=_bar, url=_url
    )
    template = environment.get_template("report.html.j2")
    return template.render(documents=documents, anchors=Anchors(documents))


def _kind(block: Block) -> str:
    return type(block).__name__


def _aligned(cell: Cell) -> str:
    """Join the parts of a cell so that lines cannot break inside it."""
    return " ".join(part for part in cell.parts if part).replace(
        " ", "\N{NO-BREAK SPACE}"
    )


def _tied(text: str) -> str:
    """Return a sentence in which no line starts with a percent sign."""
    return text.replace(" %", "\N{NO-BREAK SPACE}%")


def _titled(plot: Plot, name: str) -> Markup:
    """Return the drawing with a title, which screen readers read in its place."""
    svg = plot.draw(name)
    title = f'<title id="{name}-title">{escape(plot.says)}</title>'
    start, end = svg.split(">", 1)
    return Markup(f'{start} role="img" aria-labelledby="{name}-title">{title}{end}')


def _bar(value: float, chart: Chart) -> str:
    """Return the place of a bar as CSS, in percent of the chart's width."""
    low, high = chart.ends
    percent = 100 / ((high - low) or 1.0)
    left, right = sorted((0.0, value))
    start, width = percent * (left - low), percent * (right - left)
    return f"left:{start:.3f}%;width:{width:.3f}%"


def _url(download: Download) -> str:
    """Return the data as part of the link: a mailed page has no other files."""
    data = b64encode(download.write().encode()).decode()
    return f"data:{download.media};base64,{data}"
