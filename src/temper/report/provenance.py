"""Where a report comes from: its run, and its data for other programs."""

from collections.abc import Sequence
from functools import partial

from temper.report.as_csv import to_csv
from temper.report.as_json import Report, to_json
from temper.report.document import Download


def made(report: Report, ran_on: str = "") -> str:
    """Say when, where and by what a report's run was made.

    ``ran_on``: what its boots have in common, such as kernel and machine.
    """
    when = f"{report.started:%Y-%m-%d %H:%M} UTC"
    parts = [f"Run {report.run}", when, *(f"on {host}" for host in report.hosts)]
    line = f"{', '.join(parts)}, by Temper {report.temper_version}"
    return f"{line}: {ran_on}." if ran_on else f"{line}."


def file_name(report: Report) -> str:
    """Return what a report's files are called, without a suffix."""
    return f"temper-{report.kind}-{report.feature}-{report.run}"


def downloads(report: Report) -> Sequence[Download]:
    """Return the data of a report in each form."""
    name = file_name(report)
    # Indented, a few megabytes of distributions would be ten.
    as_json = partial(to_json, report, indent=None)
    return (
        Download("JSON", f"{name}.json", "application/json", as_json),
        Download("CSV", f"{name}.csv", "text/csv", partial(to_csv, report)),
    )
