"""Reports for mail: valid Markdown that reads well as plain text, 78 columns."""

import shlex
import textwrap
from collections.abc import Iterable, Mapping, Sequence

from temper.analysis.models import PriceReport, ProofReport, Switches, VariantInfo
from temper.report import words
from temper.report.attacks import clock_lines, sections
from temper.report.configuration import own_settings, shared_settings
from temper.report.outcomes import outcome_grids, outcome_notes
from temper.report.tables import (
    WIDTH,
    Grid,
    class_grids,
    model_grids,
    price_grids,
    switch_grids,
)
from temper.report.verdict import verdict


def render_markdown(price: PriceReport | None, proof: ProofReport | None) -> str:
    """Return a mail's worth of Markdown on a price, a proof, or both.

    No line is longer than 78 columns, except for a word of the reproducing
    command that is longer itself: breaking it would break the command.
    """
    parts: list[str] = []
    if proof:
        parts += _proof(proof)
    if price:
        parts += _price(price)
    return "\n\n".join(part for part in parts if part) + "\n"


def _proof(report: ProofReport) -> list[str]:
    return [
        f"# {words.heading(report)}",
        _wrap(f"{report.title}."),
        _wrap(f"**{verdict(report)}**"),
        *map(_table, outcome_grids(report)),
        *map(_wrap, outcome_notes(report)),
        *_attacks(report),
        *(_wrap(line) for line in clock_lines(report)),
        f"## {words.IN_FORCE_TITLE}",
        _bullets(words.in_force_lines(report)),
        *_configuration(report.variants, report.command),
    ]


def _attacks(report: ProofReport) -> Iterable[str]:
    for part in sections(report):
        yield f"## {part.heading}"
        yield _wrap(f"{part.subject}.")
        yield _bullets(part.lines)


def _price(report: PriceReport) -> list[str]:
    return [
        f"# {words.heading(report)}",
        _wrap(f"{report.title}."),
        *(_wrap(f"**{line}**") for line in words.warnings(report)),
        *map(_wrap, words.headlines(report)),
        *(_tables(report) if report.rows else []),
        f"## {words.IN_FORCE_TITLE}",
        _bullets(words.in_force_lines(report)),
        *_configuration(report.variants, report.command),
    ]


def _tables(report: PriceReport) -> list[str]:
    classes = class_grids(report)
    ticked = price_grids(report, without_ticks=False)
    return [
        _wrap(words.table_title(report, without_ticks=True)),
        *map(_table, price_grids(report, without_ticks=True)),
        _wrap(words.legend(report)),
        _wrap(words.reading(report)),
        _bullets(words.notes(report)),
        f"## {words.TICKED_TITLE}" if ticked else "",
        _wrap(words.TICKED_NOTE) if ticked else "",
        *map(_table, ticked),
        f"## {words.CLASS_TITLE}" if classes else "",
        _wrap(words.class_note(report)) if classes else "",
        *map(_table, classes),
        *(_switches(report, report.switches) if report.switches else []),
    ]


def _switches(report: PriceReport, switches: Switches) -> list[str]:
    return [
        f"## {words.switch_title(switches)}",
        _wrap(words.switch_note(report, switches)),
        *map(_table, switch_grids(report)),
        f"## {words.model_title(switches)}",
        _wrap(words.model_note(report, switches)),
        *map(_table, model_grids(report)),
    ]


def _table(grid: Grid) -> str:
    rule = [
        "-" * width if i == 0 else "-" * (width - 1) + ":"
        for i, width in enumerate(grid.widths)
    ]
    lines = [grid.header, rule, *grid.rows]
    return "\n".join(_line(line, grid.widths) for line in lines)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = zip(cells, widths, strict=True)
    padded = [first[0].ljust(first[1]), *(c.rjust(w) for c, w in others)]
    return "| " + " | ".join(padded) + " |"


def _configuration(variants: Mapping[str, VariantInfo], command: str) -> Iterable[str]:
    shared = _pairs(shared_settings(variants))
    own = [
        f"{variant}: " + "; ".join([variants[variant].title, *_pairs(settings)])
        for variant, settings in own_settings(variants).items()
    ]
    return (
        "## Configuration",
        _bullets([*shared, *own]),
        "To reproduce:",
        _command(command),
    )


def _pairs(settings: Mapping[str, str]) -> list[str]:
    return [f"{label}: {text}" for label, text in settings.items()]


def _command(command: str) -> str:
    """Return an indented code block; lines break between words, with ``\\``."""
    lines = [""]
    for word in map(shlex.quote, shlex.split(command)):
        if lines[-1] and len(lines[-1]) + len(word) > WIDTH - 8:
            lines.append("  " + word)
        else:
            lines[-1] = f"{lines[-1]} {word}".lstrip() if lines[-1] else word
    return " \\\n".join(f"    {line}" for line in lines)


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(_bullet(line) for line in lines if line)


def _bullet(text: str) -> str:
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent="- ",
        subsequent_indent="  ",
        break_on_hyphens=False,
    )


def _wrap(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_on_hyphens=False)
