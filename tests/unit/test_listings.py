"""Lists for the terminal."""

from datetime import UTC, datetime
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from temper.report.layout import WIDTH
from temper.report.listings import print_runs
from temper.store import RunSummary

NOON = datetime(2026, 12, 31, 12, tzinfo=UTC)


def summary(**changes: object) -> RunSummary:
    given: dict[str, Any] = {
        "id": 7,
        "kind": "price",
        "feature": "kstack",
        "machine": "tcg",
        "arch": "x86_64",
        "setting": "",
        "cpu": "",
        "base": "small",
        "started": NOON,
        "finished": NOON,
        "boots_done": 12,
        "boots_planned": 12,
        "current": True,
    }
    return RunSummary(**{**given, **changes})


def listed(*runs: RunSummary) -> list[str]:
    """Return the lines of a list of runs on a terminal of 80 columns."""
    text = StringIO()
    print_runs(Console(file=text, width=80), runs)
    return text.getvalue().splitlines()


WIDEST = summary(
    id=12345,
    kind="compare",
    feature="vdso-getrandom-of-the-vdso",
    setting="pseudo-nmi",
    finished=None,
    boots_done=100,
    boots_planned=120,
)


def test_a_row_fits_whatever_is_in_it() -> None:
    lines = listed(WIDEST, summary(current=False))
    assert max(map(len, lines)) <= WIDTH
    (first,) = [line.split() for line in lines if "12345" in line]
    assert first[:2] == ["12345", "compare"]
    assert " ".join(first[-8:]) == "tcg x86_64 2026-12-31 12:00 100 of 120 boots"
    assert any("pseudo-nmi" in line for line in lines)


def test_an_audit_is_named_by_its_kernel() -> None:
    kernel = "linux-image-6.12.117+deb12-cloud-amd64 6.12.117-1~deb12u1"
    audit = summary(kind="audit", feature="audit", title=kernel)
    lines = listed(audit, summary(title="Kernel stack offset randomisation"))
    assert max(map(len, lines)) <= WIDTH
    text = "".join("".join(lines).split())
    assert "6.12.117+deb12-cloud" in text
    assert "linux-image" not in text
    assert any("kstack" in line for line in lines)
    unknown = summary(kind="audit", feature="audit")
    assert any(line.split()[1:3] == ["audit", "audit"] for line in listed(unknown))


@pytest.mark.parametrize(
    ("run", "state"),
    [
        (summary(), "finished"),
        (summary(finished=None, boots_done=4), "4 of 12 boots"),
        (summary(current=False), "other version"),
        (summary(finished=None, damaged=True), "damaged"),
    ],
)
def test_what_became_of_a_run_is_told(run: RunSummary, state: str) -> None:
    (line,) = [line for line in listed(run) if "2026-12-31" in line]
    assert line.rstrip().endswith(f"12:00  {state}")
