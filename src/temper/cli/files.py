"""The files that reports go to, in the forms that programs read."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from temper.cli.options import JsonPath
from temper.cli.output import check_output, show_documents, write
from temper.errors import InputError
from temper.report.as_csv import to_csv
from temper.report.as_json import Report, to_json
from temper.report.as_junit import to_junit
from temper.report.as_ktap import to_ktap
from temper.report.document import Document

CsvPath = Annotated[
    str | None,
    typer.Option(
        "--csv",
        help="Write the figures as CSV; - is stdout.",
        metavar="FILE",
        callback=check_output,
    ),
]
KtapPath = Annotated[
    str | None,
    typer.Option(
        "--ktap",
        help="Write test results as KTAP; - is stdout.",
        metavar="FILE",
        callback=check_output,
    ),
]
JunitPath = Annotated[
    str | None,
    typer.Option(
        "--junit",
        help="Write test results as JUnit XML; - is stdout.",
        metavar="FILE",
        callback=check_output,
    ),
]

__all__ = ["CsvPath", "Files", "JsonPath", "JunitPath", "KtapPath"]


@dataclass(frozen=True)
class Files:
    """Form -> the file it goes to; ``-`` is stdout, None is nowhere.

    Raises what ``check_apart`` does.
    """

    json: str | None = None
    csv: str | None = None
    ktap: str | None = None
    junit: str | None = None

    def __post_init__(self) -> None:
        check_apart(**self._given)

    def __bool__(self) -> bool:
        return bool(self._given)

    def publish(
        self, report: Report, document: Document, *, full: bool = False
    ) -> None:
        """Write a report, and print it unless stdout is one of the files."""
        self.write(report)
        if not self.take_stdout:
            show_documents(document, full=full)

    @property
    def take_stdout(self) -> bool:
        """Whether stdout is one of the files, so that nothing else may go there."""
        return "-" in self._given.values()

    def write(self, *reports: Report) -> None:
        """Write reports; JSON and CSV hold only the last one."""
        for form, file in self._given.items():
            write(file, _WRITERS[form](reports))

    @property
    def _given(self) -> dict[str, str]:
        return {form: file for form, file in vars(self).items() if file}


def check_apart(**files: str | None) -> None:
    """Raise InputError if two forms, form=file, would go to one file or to stdout."""
    taken: dict[str, str] = {}
    for form, file in files.items():
        if file:
            place = "stdout" if file == "-" else os.path.realpath(file)
            other = taken.setdefault(place, form)
            if other != form:
                raise InputError(f"--{other} and --{form} cannot both be {place}")


_WRITERS: Mapping[str, Callable[[Sequence[Report]], str]] = {
    "json": lambda reports: to_json(reports[-1]),
    "csv": lambda reports: to_csv(reports[-1]),
    "ktap": to_ktap,
    "junit": to_junit,
}
