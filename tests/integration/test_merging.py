"""Shards, each with a store of its own, merge to what a plain run reports."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from lab import ONE_LAYOUT, ask
from slurm import cluster
from typer.testing import CliRunner

from temper.cli import app
from temper.paths import REPOSITORY
from temper.process import call

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1800)]

PRICE = ("price", "kstack", "--variants", "stock", "--calls", "1000", *ONE_LAYOUT)
COUNT = 3
# What differs between any two runs.
OF_A_RUN = ("run", "started", "host")


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What a plain run reports."""
    answer = ask(tmp_path_factory.mktemp("plain"), *PRICE)
    assert answer.status == 0, answer.output
    return without_what_differs(answer.report)


def temper(data: Path, *words: str) -> str:
    environment = {"TEMPER_DATA": str(data), "TEMPER_STORE": None}
    done = CliRunner().invoke(app, words, env=environment, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def without_what_differs(report: dict[str, Any]) -> str:
    """Return a report as text, without what belongs to one run."""
    return json.dumps({k: v for k, v in report.items() if k not in OF_A_RUN}, indent=1)


def merged(folder: Path) -> str:
    """Merge the shards in the folder ``shards``; return what that reports."""
    out = folder / "merged.json"
    temper(folder / "own", "merge", str(folder / "shards"), "--json", str(out))
    report = json.loads(out.read_text())
    assert report["exact"] is True
    return without_what_differs(report)


def test_three_shards_give_the_report_of_a_plain_run(
    tmp_path: Path, plain: str
) -> None:
    for number in range(1, COUNT + 1):
        host = tmp_path / "shards" / str(number)
        said = temper(host, *PRICE, "--shard", f"{number}/{COUNT}")
        assert str(host) in said
        assert len(list(host.rglob("*.jsonl.gz"))) in (1, 2)
    assert merged(tmp_path) == plain


@pytest.mark.check_all
def test_an_array_of_slurms_jobs_gives_it(tmp_path: Path, plain: str) -> None:
    (tmp_path / "slurm").mkdir()
    task = "$SLURM_ARRAY_TASK_ID"
    words = (REPOSITORY / "temper", *PRICE, "--shard")
    command = f"TEMPER_DATA={tmp_path}/shards/{task} {shlex.join(map(str, words))}"
    with cluster(tmp_path / "slurm") as environment:
        call(
            [
                *("sbatch", "--wait", f"--array=1-{COUNT}", "--output=/dev/null"),
                f"--wrap={command} {task}/{COUNT}",
            ],
            tmp_path,
            900,
            env=environment,
        )
    assert merged(tmp_path) == plain
