"""Shards, each with a store of its own, merge to what a plain run reports."""

import json
from pathlib import Path
from typing import Any

import pytest
from lab import ONE_LAYOUT, ask
from typer.testing import CliRunner

from temper.cli import app

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1800)]

PRICE = ("price", "kstack", "--variants", "stock", "--calls", "1000", *ONE_LAYOUT)
COUNT = 3
# What differs between any two runs.
OF_A_RUN = ("run", "started", "host")


def temper(data: Path, *words: str) -> str:
    environment = {"TEMPER_DATA": str(data), "TEMPER_STORE": None}
    done = CliRunner().invoke(app, words, env=environment, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def without_what_differs(report: dict[str, Any]) -> str:
    """Return a report as text, without what belongs to one run."""
    return json.dumps({k: v for k, v in report.items() if k not in OF_A_RUN}, indent=1)


def test_three_shards_give_the_report_of_a_plain_run(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    plain = ask(tmp_path / "plain", *PRICE)
    assert plain.status == 0, plain.output
    for number in range(1, COUNT + 1):
        host = tmp_path / "shards" / str(number)
        said = temper(host, *PRICE, "--shard", f"{number}/{COUNT}")
        assert str(host) in said
        assert len(list(host.rglob("*.jsonl.gz"))) in (1, 2)
    out = tmp_path / "merged.json"
    temper(tmp_path / "own", "merge", str(tmp_path / "shards"), "--json", str(out))
    merged = json.loads(out.read_text())
    assert merged["exact"] is True
    assert without_what_differs(merged) == without_what_differs(plain.report)
