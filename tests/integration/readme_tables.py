"""Tables in a feature's README, between markers that name them.

Where ``TEMPER_REGENERATE`` is set, a test writes its table anew before it compares;
look at the difference before committing it.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path


def regenerating() -> bool:
    return bool(os.environ.get("TEMPER_REGENERATE"))


def as_number(cell: str) -> float:
    return float(cell.strip("± %").replace(",", ""))


@dataclass(frozen=True)
class Table:
    """A table of a README: a workload, a result class and figures in each row."""

    readme: Path
    kind: str
    """The word in its markers."""
    arch: str
    columns: tuple[str, ...]
    rows: dict[tuple[str, str], tuple[str, ...]]

    @property
    def place(self) -> re.Pattern[str]:
        """What finds, in three groups, the markers and the table inside."""
        begin, end = f"<!-- {self.kind} {self.arch} -->", f"<!-- /{self.kind} -->"
        return re.compile(rf"(^{begin}\n)(.*?)(^{end}$)", re.MULTILINE | re.DOTALL)

    @property
    def markdown(self) -> str:
        header = ("workload", "class", *self.columns)
        rule = ("---", "---", *("---:" for _ in self.columns))
        rows = [(*row, *cells) for row, cells in self.rows.items()]
        return "".join(f"| {' | '.join(row)} |\n" for row in (header, rule, *rows))

    def regenerate(self) -> None:
        text = self.readme.read_text(encoding="utf-8")
        new, times = self.place.subn(rf"\g<1>{self.markdown}\g<3>", text)
        assert times == 1, f"{self.readme} has no place for {self.kind} of {self.arch}"
        self.readme.write_text(new, encoding="utf-8")

    def written(self) -> dict[tuple[str, str], tuple[str, ...]]:
        """Return the rows in the README; fail if its columns are others."""
        found = self.place.search(self.readme.read_text(encoding="utf-8"))
        assert found, f"{self.readme} has no {self.kind} of {self.arch}"
        cells = [
            [cell.strip() for cell in line.strip("|").split("|")]
            for line in found[2].strip().splitlines()
        ]
        assert cells, f"{self.readme} has no {self.kind} of {self.arch}"
        header, _rule, *rows = cells
        assert tuple(header) == ("workload", "class", *self.columns)
        return {(row[0], row[1]): tuple(row[2:]) for row in rows}

    def beside_written(self) -> list[tuple[tuple[str, str], list[float], list[float]]]:
        """Return each row, what the README has in it, and what was measured.

        Where asked to, write the README first; fail if its rows are others.
        """
        if regenerating():
            self.regenerate()
        written = self.written()
        assert list(written) == list(self.rows)
        return [
            (row, list(map(as_number, written[row])), list(map(as_number, cells)))
            for row, cells in self.rows.items()
        ]
