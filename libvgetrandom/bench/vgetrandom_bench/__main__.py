# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builds, measures, judges and prints: what ``make bench`` runs.

BUILD is the build folder. QUICK=1 takes a minute and has wide intervals. JSON and
PLOT name files to write.
"""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from vgetrandom_bench import tables
from vgetrandom_bench.as_json import to_json
from vgetrandom_bench.builds import build
from vgetrandom_bench.cells import CELLS
from vgetrandom_bench.goals import judge_all
from vgetrandom_bench.host import BenchError, InputError, InterruptError, Progress
from vgetrandom_bench.machine import this_machine
from vgetrandom_bench.measure import measure
from vgetrandom_bench.paths import RandomPath, random_paths
from vgetrandom_bench.plot import write_plot
from vgetrandom_bench.published import measure_published
from vgetrandom_bench.results import Results
from vgetrandom_bench.worker import Unavailable, Worker, started


@dataclass(frozen=True)
class Effort:
    """How much is measured."""

    rounds: int
    sample_ns: float
    published_share: int
    """Make one in this many of the published calls."""
    published_runs: int


FULL = Effort(rounds=100, sample_ns=2e6, published_share=1, published_runs=3)
QUICK = Effort(rounds=15, sample_ns=0.7e6, published_share=20, published_runs=1)


def main() -> int:
    """Run the benchmark as the environment says; return the exit status."""
    try:
        _bench(QUICK if os.environ.get("QUICK") else FULL, Progress.on_stderr())
    except KeyboardInterrupt:
        return _complain(InterruptError("stopped; nothing was kept"))
    except BenchError as error:
        return _complain(error)
    return 0


def _complain(error: BenchError) -> int:
    print(f"bench: {error.message}", file=sys.stderr)
    if error.hint:
        print(error.hint, file=sys.stderr)
    return error.exit_code


def _bench(effort: Effort, progress: Progress) -> None:
    json_file, plot_file = _output("JSON"), _output("PLOT")
    machine = this_machine()
    built = build(Path(os.environ.get("BUILD", "build")).resolve(), progress)
    with _workers(random_paths(built)) as (workers, missing, order):
        samples = measure(workers, CELLS, effort.rounds, effort.sample_ns, progress)
        published = measure_published(
            workers, effort.published_share, effort.published_runs, progress
        )
    results = Results(samples, missing, order)
    verdicts = judge_all(results)
    parts = (
        tables.full_table(results),
        tables.legend(),
        tables.missing_list(results),
        machine.lines(),
        tables.published_table(published, results),
        tables.goals_table(verdicts),
    )
    for part in filter(None, map(list, parts)):
        print(*part, sep="\n", end="\n\n")
    if json_file:
        data = to_json(machine, results, verdicts, published)
        json_file.write_text(json.dumps(data, indent=1) + "\n")
        progress.say(f"JSON: {json_file}")
    if plot_file:
        write_plot(results, f"{machine.cpu}, Linux {machine.kernel}", plot_file)
        progress.say(f"Plot: {plot_file}")


def _output(variable: str) -> Path | None:
    """Return the file to write; call this first, since measuring takes minutes.

    Raises InputError if its folder does not exist.
    """
    name = os.environ.get(variable)
    if not name:
        return None
    file = Path(name).resolve()
    if not file.parent.is_dir():
        raise InputError(f"{variable}: there is no folder {file.parent}")
    return file


@contextmanager
def _workers(
    paths: list[RandomPath],
) -> Iterator[tuple[dict[str, Worker], dict[str, str], tuple[str, ...]]]:
    """Start a worker per path; yield them, why others are missing, and the order."""
    workers: dict[str, Worker] = {}
    missing: dict[str, str] = {}
    with ExitStack() as stack:
        for path in paths:
            try:
                if path.missing:
                    raise Unavailable(path.missing)
                worker = started(path.name, path.command, path.env)
                workers[path.name] = stack.enter_context(worker)
            except Unavailable as why:
                missing[path.name] = str(why)
        yield workers, missing, tuple(path.name for path in paths)


if __name__ == "__main__":
    sys.exit(main())
