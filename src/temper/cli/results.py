"""The command that shows stored runs: report."""

from collections.abc import Iterable
from typing import Annotated

import typer

from temper.analysis.models import PriceReport
from temper.cli.files import (
    CsvPath,
    Files,
    JsonPath,
    JunitPath,
    KtapPath,
    check_apart,
)
from temper.cli.options import LARGEST_RUN, Full
from temper.cli.output import check_output, show_documents, write
from temper.cli.reports import document_of, report_of
from temper.cli.stored import runs_like, with_strength
from temper.errors import InputError
from temper.invocation import as_typed
from temper.record.plan import Kind
from temper.report.as_json import Report
from temper.report.html import to_html
from temper.report.markdown import to_markdown
from temper.report.price_document import price_svg
from temper.report.progress import on_stderr
from temper.store import Store

app = typer.Typer()


@app.command()
def report(
    run: Annotated[
        int | None,
        typer.Argument(
            help="The run's number; default: the newest price and proof.",
            min=1,
            max=LARGEST_RUN,
        ),
    ] = None,
    html: Annotated[
        str | None,
        typer.Option(
            help="Write a page with plots.", metavar="FILE", callback=check_output
        ),
    ] = None,
    md: Annotated[
        str | None,
        typer.Option(
            help="Write Markdown for mail.", metavar="FILE", callback=check_output
        ),
    ] = None,
    svg: Annotated[
        str | None,
        typer.Option(
            help="Write the picture of a price.", metavar="FILE", callback=check_output
        ),
    ] = None,
    full: Full = False,
    json: JsonPath = None,
    csv: CsvPath = None,
    ktap: KtapPath = None,
    junit: JunitPath = None,
) -> None:
    """Show a stored run again: as tables, a page, Markdown, or data for programs."""
    files = Files(json=json, csv=csv, ktap=ktap, junit=junit)
    check_apart(**vars(files), html=html, md=md, svg=svg)
    with Store.open_to_read(progress=on_stderr()) as store:
        found = _reports(store, run)
    files.write(*found)
    documents = [document_of(each) for each in found]
    if md:
        write(md, to_markdown(documents, full=full))
    if html:
        write(html, to_html(documents))
    if svg:
        write(svg, _picture(found))
    if not (files or md or html or svg):
        show_documents(*documents, full=full)


def _picture(reports: Iterable[Report]) -> str:
    """Return the picture of the prices among reports; raise InputError without any."""
    for each in reports:
        if isinstance(each, PriceReport) and each.rows:
            return price_svg(each)
    raise InputError("there is no price to draw", as_typed("temper price FEATURE"))


def _reports(store: Store, number: int | None) -> list[Report]:
    """Return one run's report, or the newest proof and the price that goes with it."""
    if number is not None:
        return [_report(store, number)]
    newest = store.latest(_BY_DEFAULT)
    if newest is None:
        raise InputError(
            "there is no finished run yet", as_typed("temper price kstack")
        )
    plan = store.plan(newest)
    kind = Kind.PRICE if plan.kind is Kind.PROVE else Kind.PROVE
    other = next(runs_like(store, plan, kind), None)
    numbers = [newest] if other is None else [newest, other]
    found = [_report(store, each) for each in numbers]
    return sorted(found, key=lambda report: isinstance(report, PriceReport))


_BY_DEFAULT = (Kind.PRICE, Kind.PROVE, Kind.COMPARE)


def _report(store: Store, number: int) -> Report:
    run = store.load(number)
    return with_strength(report_of(run), run.plan, store)
