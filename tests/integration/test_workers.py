"""Boots on workers of Dask give what a plain run gives."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from lab import ask
from slurm import cluster
from test_merging import PRICE, without_what_differs

from temper.paths import REPOSITORY
from temper.process import call

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1800)]

PATIENCE = 600.0


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What a plain run reports."""
    answer = ask(tmp_path_factory.mktemp("plain"), *PRICE)
    assert answer.status == 0, answer.output
    return without_what_differs(answer.report)


class Command:
    """A ``./temper`` of its own, and whatever it starts."""

    def __init__(self, folder: Path, *words: str, **environment: str) -> None:
        self.out = folder / "report.json"
        self._log = folder / "log"
        self._process = subprocess.Popen(
            [REPOSITORY / "temper", *words, "--json", self.out],
            env={
                **os.environ,
                **environment,
                "TEMPER_DATA": str(folder),
                "TERM": "dumb",
            },
            stdout=subprocess.DEVNULL,
            stderr=self._log.open("w"),
            start_new_session=True,
        )

    def wait(self) -> int:
        return self._process.wait(PATIENCE)

    def ctrl_c(self) -> None:
        """Do as a terminal does: signal all of its processes."""
        os.killpg(self._process.pid, signal.SIGINT)

    @property
    def said(self) -> str:
        return self._log.read_text()

    def report(self) -> str:
        return without_what_differs(json.loads(self.out.read_text()))


def wait_for(ready: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not ready():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_local_workers_give_the_report_of_a_plain_run(
    tmp_path: Path, plain: str
) -> None:
    command = Command(tmp_path, *PRICE, "--on", "local")
    assert command.wait() == 0, command.said
    assert "local-1 (1)" in command.said
    assert command.report() == plain


def test_ctrl_c_loses_no_boot(tmp_path: Path, plain: str) -> None:
    command = Command(tmp_path, *PRICE, "--on", "local")
    wait_for(lambda: list(tmp_path.rglob("*.jsonl.gz")))
    command.ctrl_c()
    assert command.wait() == 130, command.said
    assert "--resume 1 --on local" in command.said
    assert "Traceback" not in command.said
    kept = len(list(tmp_path.rglob("*.jsonl.gz")))
    assert 1 <= kept < 4
    again = Command(tmp_path, *PRICE, "--on", "local", "--resume", "1")
    assert again.wait() == 0, again.said
    assert again.report() == plain


@pytest.mark.check_all
def test_jobs_of_slurm_give_it(tmp_path: Path, plain: str) -> None:
    """With keys that Temper makes, and pages that nobody sees from elsewhere."""
    (tmp_path / "slurm").mkdir()
    job = {
        "CORES": "1",
        "MEMORY": "2GB",
        # Nodes of this Slurm do not share out their memory.
        "JOB_DIRECTIVES_SKIP": "['--mem']",
        "LOG_DIRECTORY": str(tmp_path),
    }
    settings = {f"DASK_JOBQUEUE__SLURM__{name}": value for name, value in job.items()}
    with cluster(tmp_path / "slurm") as environment:
        command = Command(tmp_path, *PRICE, "--on", "slurm", **environment, **settings)
        assert command.wait() == 0, command.said
        done = call(["squeue", "--noheader"], tmp_path, 60, env=environment)
        assert done.lines == []
    assert command.report() == plain
    assert "dashboard: http://127.0.0.1:" in command.said
