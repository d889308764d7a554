"""Reports as one HTML file that needs nothing else."""

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from temper.analysis.in_force import on_off
from temper.analysis.models import PriceReport, ProofReport
from temper.report import attacks, outcomes, words
from temper.report.configuration import own_settings, shared_settings
from temper.report.numbers import absolute, percent, signed, span
from temper.report.plots import distribution_svg, positions_svg
from temper.report.tables import counted_classes
from temper.report.verdict import verdict

_COLUMNS = 7
"""Outcomes that a page has room for side by side."""


def render_html(price: PriceReport | None, proof: ProofReport | None) -> str:
    """Return a page on a price, a proof, or both; the same data, the same bytes."""
    template = _environment().get_template("report.html.j2")
    return template.render(
        price=price,
        proof=proof,
        price_view=_price_view(price) if price else None,
        outcome_tables=_outcome_tables(proof) if proof else [],
        proof_plots=_proof_plots(proof) if proof else {},
        proof_figures=_proof_figures(proof) if proof else {},
    )


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("temper.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        absolute=absolute, signed=signed, percent=percent, on_off=on_off
    )
    environment.globals.update(
        words=words,
        attacks=attacks,
        verdict=verdict,
        outcomes=outcomes,
        shared_settings=shared_settings,
        own_settings=own_settings,
        span=span,
    )
    return environment


def _price_view(report: PriceReport) -> dict[str, Any]:
    """Index what the template looks up, and draw the plots."""
    return {
        "variants": list(dict.fromkeys(row.variant for row in report.rows)),
        "rows": {
            (row.workload, row.result_class, row.variant, row.without_ticks): row
            for row in report.rows
        },
        "result_classes": list(dict.fromkeys(r.result_class for r in report.rows)),
        "workloads": list(dict.fromkeys(row.workload for row in report.rows)),
        "classes": {
            (row.workload, row.instruction_class, row.variant): row
            for row in report.classes
        },
        "switches": {
            (row.workload, row.variant): row
            for row in (report.switches.rows if report.switches else [])
        },
        "instruction_classes": counted_classes(report),
        "ticks": {(count.workload, count.variant): count for count in report.ticks},
        "plots": _distribution_plots(report),
    }


def _distribution_plots(report: PriceReport) -> dict[str, Markup]:
    workloads = dict.fromkeys(one.workload for one in report.distributions)
    plots = {}
    for number, workload in enumerate(workloads):
        ours = [one for one in report.distributions if one.workload == workload]
        plots[workload] = Markup(distribution_svg(f"distribution{number}", ours))
    return plots


def _outcome_tables(report: ProofReport) -> list[list[str]]:
    """Return the variants of each table that has them side by side, proofs below.

    None where proofs stand side by side, in one table.
    """
    if len(report.proofs) <= _COLUMNS:
        return []
    sound = [name for name in report.evidence if name not in report.sabotages]
    return [
        variants[first : first + _COLUMNS]
        for variants in (sound, report.sabotages)
        for first in range(0, len(variants), _COLUMNS)
    ]


def _proof_plots(report: ProofReport) -> dict[str, dict[str, Markup]]:
    """Return proof -> variant -> plot, for what has positions to draw."""
    plots: dict[str, dict[str, Markup]] = {}
    for number, proof in enumerate(report.proofs):
        drawn = {
            variant: found[proof]
            for variant, found in report.evidence.items()
            if proof in found and found[proof].bins
        }
        reach = max((e.bins[-1][0] for e in drawn.values()), default=0)
        plots[proof] = {
            variant: Markup(
                positions_svg(f"proof{number}-{index}", evidence, index, max(reach, 1))
            )
            for index, (variant, evidence) in enumerate(drawn.items())
        }
    return plots


def _proof_figures(report: ProofReport) -> dict[str, list[str]]:
    """Return proof -> names of all measures that any variant has."""
    return {
        proof: list(
            dict.fromkeys(
                figure
                for found in report.evidence.values()
                if proof in found
                for figure in found[proof].figures
            )
        )
        for proof in report.proofs
    }
