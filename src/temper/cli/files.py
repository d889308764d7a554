"""The files that reports go to, in the forms that programs read."""

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

    Raises InputError if two forms would be mixed on stdout.
    """

    json: str | None = None
    csv: str | None = None
    ktap: str | None = None
    junit: str | None = None

    def __post_init__(self) -> None:
        mixed = [f"--{form}" for form, file in self._given.items() if file == "-"]
        if len(mixed) > 1:
            raise InputError(f"{' and '.join(mixed)} cannot both be stdout")

    def __bool__(self) -> bool:
        return bool(self._given)

    def publish(
        self, report: Report, document: Document, *, full: bool = False
    ) -> None:
        """Write a report, and print it unless stdout is one of the files."""
        self.write(report)
        if "-" not in self._given.values():
            show_documents(document, full=full)

    def write(self, *reports: Report) -> None:
        """Write reports; JSON and CSV hold only the last one."""
        for form, file in self._given.items():
            write(file, _WRITERS[form](reports))

    @property
    def _given(self) -> dict[str, str]:
        return {form: file for form, file in vars(self).items() if file}


_WRITERS: Mapping[str, Callable[[Sequence[Report]], str]] = {
    "json": lambda reports: to_json(reports[-1]),
    "csv": lambda reports: to_csv(reports[-1]),
    "ktap": to_ktap,
    "junit": to_junit,
}
