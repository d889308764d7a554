# SPDX-License-Identifier: MIT OR Apache-2.0
"""The results as text that fits a mail: at most 78 columns."""

import textwrap
from collections.abc import Iterator, Sequence

from vgetrandom_bench import paths
from vgetrandom_bench.cells import Cell, cell_text
from vgetrandom_bench.estimates import Estimate
from vgetrandom_bench.goals import ROBUSTNESS, Verdict
from vgetrandom_bench.published import CALLS, MANY, PATHS, SINGLE, Published
from vgetrandom_bench.results import Results

WIDTH = 78
_NAME = 18
"""Columns of a path's name."""
_DEEP = 16 * " "
_WORDS = {True: "met", False: "MISSED", None: "not judged"}


def full_table(results: Results) -> Iterator[str]:
    """Yield the lines of all tables, one for each size and number of threads."""
    for cell in results.cells():
        yield cell_text(cell)
        yield (
            f"  {'path':{_NAME}} {'ns/call':>9} {'95 % interval':>22}"
            f" {'MB/s':>7} {'x vDSO':>7} {'x call':>7}"
        )
        yield from (_row(results, path, cell) for path in results.order)
        yield ""


def legend() -> Iterator[str]:
    """Yield what the columns of the full table mean."""
    yield from _paragraph(
        "ns/call: from the first thread's start to the last thread's end, divided by"
        " the calls of one thread; median; less is better. MB/s: million bytes per"
        " second by all threads together; more is better. x vDSO, x call: how many"
        " times as fast as the kernel's raw vDSO function and as the system call;"
        " median of the ratios within each round; more is better, above 1 is faster."
    )


def missing_list(results: Results) -> Iterator[str]:
    """Yield which paths did not run, and how to get them."""
    if results.missing:
        yield "Not measured:"
    for path, why in results.missing.items():
        yield from _paragraph(f"{path}: {why}", "  ")


def goals_table(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield whether each goal is met."""
    yield "Goals (x: times as fast; the median decides; 95 % interval in brackets;"
    yield "the worst of several sizes is shown; one thread unless a row says more)"
    group = ""
    for verdict in verdicts:
        if verdict.goal.group != group:
            group = verdict.goal.group
            yield f"  {group}"
        yield from _goal_lines(verdict)
    yield "  Kernel vDSO"
    yield f"    {_WORDS[None]:10}  needs a kernel patch, not this library"
    yield "  Robustness, which the named tests judge"
    for text, tests in ROBUSTNESS.items():
        yield f"    {_WORDS[None]:10}  {text:31}{', '.join(tests)}"


def _goal_lines(verdict: Verdict) -> Iterator[str]:
    line = f"    {_WORDS[verdict.met]:10}  {verdict.goal.text}"
    if verdict.met is None:
        yield line
        yield from _paragraph(f"cannot be judged here: {verdict.seen}", _DEEP)
    elif len(line) + 2 + len(verdict.seen) <= WIDTH:
        yield f"{line}{verdict.seen:>{WIDTH - len(line)}}"
    else:
        yield line
        yield f"{verdict.seen:>{WIDTH}}"
    yield from (f"{note:>{WIDTH}}" for note in verdict.notes)


def published_table(published: Published, results: Results) -> Iterator[str]:
    """Yield the published form: seconds, and how many times as fast."""
    calls = published.calls
    yield from _paragraph(
        f"The published form: {calls[SINGLE]:,} calls of 4 bytes by one thread, and"
        f" {calls[MANY]:,} by each of {MANY.threads}. The published runs made"
        f" {CALLS:,} by each, which would take long; fewer calls give the same"
        " comparison."
        " Seconds are for all calls, less is better; x call: how many times as fast as"
        " the system call, above 1 is faster."
    )
    yield (
        f"  {'path':{_NAME}} {'1 thread, s':>13} {'x call':>7}"
        f" {f'{MANY.threads} threads, s':>15} {'x call':>7}"
    )
    for path in PATHS:
        if (path, SINGLE) not in published.ns:
            yield f"  {path:{_NAME}} {_not_here(results, path)}"[:WIDTH]
            continue
        yield (
            f"  {path:{_NAME}} {published.seconds(path, SINGLE):13.3f}"
            f" {_times(published, path, SINGLE):>7}"
            f" {published.seconds(path, MANY):15.3f}"
            f" {_times(published, path, MANY):>7}"
        )


def _row(results: Results, path: str, cell: Cell) -> str:
    if path in results.missing:
        return f"  {path:{_NAME}} {_not_here(results, path)}"[:WIDTH]
    ns = results.ns(path, cell)
    speed = cell.size * cell.threads * 1000 / ns.median
    return (
        f"  {path:{_NAME}} {_figure(ns.median):>9} {_interval(ns):>22}"
        f" {_figure(speed):>7} {_ratio(results, path, paths.VDSO, cell):>7}"
        f" {_ratio(results, path, paths.SYSTEM_CALL, cell):>7}"
    )


def _not_here(results: Results, path: str) -> str:
    return f"missing: {results.missing[path]}"


def _ratio(results: Results, path: str, against: str, cell: Cell) -> str:
    if against in results.missing:
        return "-"
    return _figure(results.ratio(path, against, cell).median)


def _times(published: Published, path: str, cell: Cell) -> str:
    return _figure(published.ns[paths.SYSTEM_CALL, cell] / published.ns[path, cell])


def _interval(one: Estimate) -> str:
    return f"{_figure(one.low)} to {_figure(one.high)}"


def _figure(value: float) -> str:
    """Write three digits, or all before the point."""
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{digits}f}"


def _paragraph(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=indent, subsequent_indent=f"{indent}  "
    )
