"""Writes reports as one self-contained page."""

from collections.abc import Iterable
from itertools import count

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from temper.report.document import Block, Cell, Document, Plot


def to_html(documents: Iterable[Document]) -> str:
    """Return a page; the same data gives the same bytes."""
    environment = Environment(
        loader=PackageLoader("temper.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    numbers = count()

    def drawn(plot: Plot) -> Markup:
        return Markup(plot.draw(f"plot{next(numbers)}"))

    environment.filters.update(kind=_kind, drawn=drawn, aligned=_aligned)
    template = environment.get_template("report.html.j2")
    return template.render(documents=list(documents))


def _kind(block: Block) -> str:
    return type(block).__name__


def _aligned(cell: Cell) -> str:
    """Join the parts of a cell so that lines cannot break inside it."""
    return "\N{NO-BREAK SPACE}\N{NO-BREAK SPACE}".join(
        part.replace(" ", "\N{NO-BREAK SPACE}") for part in cell.parts if part
    )
