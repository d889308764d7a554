"""The benchmark of libvgetrandom: its figures, its judgement and its output."""

import io
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from vgetrandom_bench import paths, published, tables
from vgetrandom_bench.as_json import to_json
from vgetrandom_bench.builds import LIBRARY
from vgetrandom_bench.cells import CELLS, SIZES, THREADS, Cell, size_text
from vgetrandom_bench.debian import derived_source
from vgetrandom_bench.estimates import median_of, speed_ratio
from vgetrandom_bench.goals import GOALS, ROBUSTNESS, Goal, Verdict, judge, judge_all
from vgetrandom_bench.host import InfraError, Progress, call
from vgetrandom_bench.machine import Machine
from vgetrandom_bench.measure import calibrated, measure, turns
from vgetrandom_bench.published import MANY, SINGLE, Published
from vgetrandom_bench.results import Results

MACHINE = Machine(
    cpu="Z80",
    cpus=1,
    hypervisor="",
    governor="",
    kernel="6.18.0",
    libc="glibc 2.36",
    compiler="cc 12",
    load=0.0,
)
ROUNDS = 9
PATHS = {
    name
    for goal in GOALS
    for name in (goal.path, goal.against, *goal.ceilings)
    if name is not None
} | set(published.PATHS)


NO_GLIBC = {paths.GLIBC: "needs libc6 of Debian 13"}


def results(ns: Callable[[str, Cell], float], missing: dict[str, str]) -> Results:
    """What a run without noise would have found, where glibc 2.41 is missing."""
    missing = {**NO_GLIBC, **missing}
    order = tuple(sorted(PATHS))
    samples = {
        (path, cell): [ns(path, cell)] * ROUNDS
        for path in order
        if path not in missing
        for cell in CELLS
    }
    return Results(samples, missing, order)


def splendid(path: str, cell: Cell) -> float:
    """Times in which each goal is met."""
    each = {
        paths.SYSTEM_CALL: 300.0,
        paths.VDSO: 300.0,
        paths.LIBRARY: 20.0,
        paths.GO_CHACHA8: 5.0,
        paths.THREAD_RNG: 3.0,
    }
    if path == paths.VDSO and cell.size == 4:
        return 20.0
    if path.startswith(paths.BATCH):
        return 3.0
    return each.get(path, 10.0)


PUBLISHED = Published(
    calls={SINGLE: 1000, MANY: 10},
    ns={
        (path, cell): each * cell.threads
        for path, each in {
            paths.VDSO: 20.0,
            paths.HOST_LIBC: 310.0,
            paths.SYSTEM_CALL: 300.0,
            paths.LIBRARY: 24.0,
        }.items()
        for cell in (SINGLE, MANY)
    },
)


def test_an_interval_holds_the_median_as_often_as_it_says() -> None:
    generator = np.random.default_rng(1)
    draws = generator.exponential(size=(2000, 15))
    found = [median_of(list(row)) for row in draws]
    held = np.mean([one.low <= np.log(2) <= one.high for one in found])
    # 96.5 % by theory for 15 samples; 2000 trials stray by less than 2 %.
    assert 0.945 < held < 0.985


def test_few_samples_have_no_interval() -> None:
    median_of([1.0] * 6)
    with pytest.raises(ValueError, match="too few"):
        median_of([1.0] * 5)


def test_a_ratio_above_one_is_faster() -> None:
    assert speed_ratio([10.0] * 6, [30.0] * 6).median == 3.0


def test_what_slows_a_whole_round_drops_out() -> None:
    slow = np.array([1, 9, 1, 5, 70, 1, 2.0])
    found = speed_ratio(list(10 * slow), list(20 * slow))
    assert (found.low, found.high) == (2.0, 2.0)


@pytest.mark.parametrize("each", [0.3, 17.0, 240.0, 1e5, 1.9e6])
def test_a_sample_takes_its_time(each: float) -> None:
    def clock(count: int) -> float:
        """A first call that costs, and a clock that ticks every 40 ns."""
        return (count * each + 500) // 40 * 40 / count

    took = calibrated(clock, 2e6) * each
    assert 1.5e6 < took < 4e6


def test_a_run_that_was_disturbed_does_not_count() -> None:
    disturbed = iter([True, False, False] * 100)

    def clock(count: int) -> float:
        return 17.0 + (4e6 / count if next(disturbed) else 0)

    assert 1.5e6 < calibrated(clock, 2e6) * 17 < 4e6


def test_a_call_longer_than_a_sample_is_made_once() -> None:
    assert calibrated(lambda count: 5e6, 2e6) == 1


def test_a_clock_that_stands_still_at_first_is_no_trouble() -> None:
    counts: list[int] = []

    def clock(count: int) -> float:
        counts.append(count)
        return 0.0 if count < 100 else 20.0

    assert calibrated(clock, 2e6) == 100_000
    assert len(set(counts)) < 10


def test_a_round_has_each_path_in_each_cell_once_side_by_side() -> None:
    order = turns(["a", "b", "c"], CELLS, random.Random(1))
    assert sorted(order) == sorted((path, cell) for path in "abc" for cell in CELLS)
    blocks = [{cell for _, cell in order[i : i + 3]} for i in range(0, len(order), 3)]
    assert all(len(block) == 1 for block in blocks)
    firsts = {path for path, _ in order[::3]}
    assert firsts == {"a", "b", "c"}
    assert [cell for _, cell in order[::3]] != list(CELLS)


class Steady:
    """Takes as long for every call."""

    def __init__(self, ns: float) -> None:
        self.ns = ns

    def time(self, cell: Cell, count: int) -> float:
        return self.ns * cell.size


def test_each_round_gives_each_cell_a_sample() -> None:
    cells = [Cell(4, 1), Cell(8, 2)]
    samples = measure({"a": Steady(1), "b": Steady(2)}, cells, 7, 1e6, Progress(None))
    assert samples["b", Cell(8, 2)] == [16.0] * 7
    assert len(samples) == 4


def judged(found: Results, start: str) -> Verdict:
    (verdict,) = [one for one in judge_all(found) if one.goal.text.startswith(start)]
    return verdict


def test_goals_are_met_by_who_is_fast_enough() -> None:
    assert {one.met for one in judge_all(results(splendid, {}))} == {True}


@pytest.mark.parametrize("goal", GOALS, ids=lambda goal: goal.text)
def test_each_goal_is_missed_by_who_is_too_slow(goal: Goal) -> None:
    just = goal.limit if goal.against is None else 100 / goal.limit

    def ns(factor: float) -> Results:
        return results(
            lambda path, cell: (
                100.0 if path == goal.against else just * factor / 1.0001
            ),
            {},
        )

    assert judge(goal, ns(1.0)).met is True
    assert judge(goal, ns(1.01)).met is False


def test_the_worst_size_decides() -> None:
    def slow_once(path: str, cell: Cell) -> float:
        slow = path == paths.LIBRARY and cell == Cell(64, 2)
        return 400.0 if slow else splendid(path, cell)

    verdict = judged(results(slow_once, {}), "any size")
    assert verdict.met is False
    assert verdict.seen == "0.75x (0.75 to 0.75), 64 B, 2 threads"
    assert [cell for cell, met in verdict.met_at.items() if not met] == [Cell(64, 2)]


def test_a_goal_says_what_bounds_it_on_this_cpu() -> None:
    def ns(path: str, cell: Cell) -> float:
        bound = path == paths.with_simd(paths.CEILING, "avx512")
        return 0.14 * cell.size if bound else splendid(path, cell)

    verdict = judged(results(ns, {}), "AVX-512, 64 KiB")
    vdso = splendid(paths.VDSO, Cell(65536, 1)) / (0.14 * 65536)
    assert verdict.notes == (
        f"ChaCha20 alone on this CPU: 0.140 ns per byte, {vdso:.1f}x vDSO",
    )
    assert judged(results(ns, {}), "any size").notes == ()


@pytest.mark.parametrize(
    ("floor", "what", "size", "goal"),
    [
        (paths.FLOOR, "", 4, "4 B: <= 1.06x"),
        (paths.FLOOR_LTO, "", 4, "4 B: <= 1.03x"),
        (paths.MARKED, ", with marks", 4, "4 B: <= 1.06x"),
        (paths.MARKED_LTO, ", with marks", 4, "4 B: <= 1.03x"),
        (paths.FLOOR_BATCH, "", 8, ">= 45x"),
        (paths.MARKED_BATCH, ", with marks", 8, ">= 45x"),
        (paths.MARKED_LTO_BATCH, ", with marks", 8, "<= 1.05x ThreadRng"),
        (paths.with_simd(paths.FLOOR_BATCH, "avx2"), "", 8, "AVX2: <= 5.5 ns"),
    ],
)
def test_a_goal_of_calls_says_what_they_cost_at_least(
    floor: str, what: str, size: int, goal: str
) -> None:
    def ns(path: str, cell: Cell) -> float:
        return 2.5 if path == floor else splendid(path, cell)

    faster = splendid(paths.VDSO, Cell(size, 1)) / 2.5
    assert (
        f"the least for such a call{what}: 2.50 ns, {faster:.2f}x vDSO"
        in judged(results(ns, {}), goal).notes
    )


def test_a_goal_of_a_missing_path_is_not_judged() -> None:
    missing = {paths.with_simd(paths.BATCH, "avx512"): "this CPU has none"}
    verdict = judged(results(splendid, missing), "AVX-512: <= 4 ns")
    assert verdict.met is None
    assert "this CPU has none" in verdict.seen
    assert judged(results(splendid, missing), "AVX2: <= 5.5 ns").met is True


def test_a_goal_against_a_missing_path_is_not_judged() -> None:
    verdict = judged(results(splendid, {paths.GO_CHACHA8: "no Go"}), "faster than Go")
    assert verdict.met is None
    assert "no Go" in verdict.seen


def test_a_goal_of_another_architecture_is_not_judged() -> None:
    found = results(splendid, {})
    of_arm = Results(
        {key: each for key, each in found.samples.items() if "avx" not in key[0]},
        {},
        tuple(path for path in found.order if "avx" not in path),
    )
    assert judged(of_arm, "AVX2: <= 5.5 ns").met is None


def test_json_has_a_row_for_each_path_and_cell() -> None:
    found = results(splendid, {paths.GO_CHACHA8: "no Go"})
    data = to_json(MACHINE, found, judge_all(found), PUBLISHED)
    assert (data["cpu"], data["kernel"]) == ("Z80", "6.18.0")
    assert data.keys() == {"cpu", "kernel", "rows"}
    keys = [(row["path"], row["size"], row["threads"]) for row in data["rows"]]
    assert len(set(keys)) == len(keys)
    expected = {
        (path, size, threads) for path in PATHS for size in SIZES for threads in THREADS
    }
    assert set(keys) == expected | {
        (path, 4, 256) for path in published.PATHS if path != paths.GLIBC
    }
    for row in data["rows"]:
        assert list(row) == [
            *("path", "size", "threads", "ns"),
            *("ratio_to_vdso", "ratio_to_syscall", "goal", "met"),
        ]


def json_row(found: Results, *key: object) -> dict[str, object]:
    data = to_json(MACHINE, found, judge_all(found), PUBLISHED)
    rows: list[dict[str, object]] = data["rows"]
    (row,) = [row for row in rows if (row["path"], row["size"], row["threads"]) == key]
    return row


def test_json_ratios_above_one_are_faster() -> None:
    row = json_row(results(splendid, {}), paths.BATCH, 8, 1)
    assert row["ratio_to_syscall"] == row["ratio_to_vdso"] == 100
    many = json_row(results(splendid, {}), paths.VDSO, 4, 256)
    assert many["ratio_to_syscall"] == 15
    assert many["goal"] is many["met"] is None


def test_json_holds_a_goal_against_its_own_row() -> None:
    def slow_once(path: str, cell: Cell) -> float:
        slow = path == paths.LIBRARY and cell == Cell(64, 2)
        return 400.0 if slow else splendid(path, cell)

    found = results(slow_once, {})
    assert json_row(found, paths.LIBRARY, 64, 2)["met"] is False
    row = json_row(found, paths.LIBRARY, 64, 1)
    assert row["met"] is True
    assert row["goal"] == "any size: >= 1x system call"
    assert json_row(found, paths.VDSO, 64, 1)["goal"] is None


def test_json_misses_what_misses_one_goal_and_leaves_open_what_lacks_a_judge() -> None:
    missing = {paths.GO_CHACHA8: "no Go"}
    open_row = json_row(results(splendid, missing), paths.BATCH, 8, 1)
    assert open_row["met"] is None

    def slow_batch(path: str, cell: Cell) -> float:
        return 299.0 if path == paths.BATCH else splendid(path, cell)

    assert json_row(results(slow_batch, missing), paths.BATCH, 8, 1)["met"] is False


def test_json_of_a_missing_path_has_no_figures() -> None:
    row = json_row(results(splendid, {paths.VDSO: "old"}), paths.VDSO, 4, 1)
    assert row["ns"] is row["ratio_to_vdso"] is row["ratio_to_syscall"] is None
    row = json_row(results(splendid, {paths.VDSO: "old"}), paths.LIBRARY, 4, 1)
    assert row["ratio_to_vdso"] is None
    assert row["ratio_to_syscall"] == 15


def test_the_tests_that_judge_robustness_are_there() -> None:
    root = Path(__file__).parents[2]
    there = {file.stem for file in (root / "libvgetrandom" / "tests").glob("*.c")}
    there |= {file.stem for file in (root / "tests" / "integration").glob("test_*.py")}
    assert {name for names in ROBUSTNESS.values() for name in names} <= there


def all_text(found: Results) -> list[str]:
    return [
        *tables.full_table(found),
        *tables.legend(),
        *tables.missing_list(found),
        *tables.published_table(PUBLISHED, found),
        *tables.goals_table(judge_all(found)),
    ]


def test_tables_fit_a_mail() -> None:
    why = "needs Rust 1.85 and its crates, " * 5

    def slow(path: str, cell: Cell) -> float:
        return 123456789.0

    def fast(path: str, cell: Cell) -> float:
        """Five times as fast as memory is."""
        return max(0.1, cell.size / 50)

    for found in (
        results(fast, {paths.THREAD_RNG: why}),
        results(slow, {paths.VDSO: why}),
    ):
        assert max(map(len, all_text(found))) <= tables.WIDTH


def test_a_missing_path_stays_in_each_table() -> None:
    lines = all_text(results(splendid, {paths.THREAD_RNG: "apt-get install cargo"}))
    rows = [one for one in lines if one.startswith(f"  {paths.THREAD_RNG} ")]
    assert len(rows) == len(CELLS)
    assert all("missing: apt-get install cargo" in one for one in rows)


def test_a_table_row_has_speed_of_all_threads_and_ratios() -> None:
    lines = list(tables.full_table(results(splendid, {})))
    start = lines.index("8 B, 2 threads")
    (row,) = [
        line for line in lines[start : start + 20] if line.startswith("  batch  ")
    ]
    # 2 threads, 8 bytes each 3 ns: 5333 MB/s.
    assert row.split() == [
        *("batch", "3.00", "3.00", "to", "3.00"),
        *("5333", "100", "100"),
    ]


def test_the_published_form_has_seconds_and_ratios() -> None:
    lines = list(tables.published_table(PUBLISHED, results(splendid, {})))
    rows = {line[2:20].strip(): line[20:].split() for line in lines}
    assert rows[paths.LIBRARY] == ["0.000", "12.5", "0.000", "12.5"]
    assert PUBLISHED.seconds(paths.LIBRARY, SINGLE) == pytest.approx(24e-6)
    assert " ".join(rows[paths.GLIBC]) == "missing: needs libc6 of Debian 13"


def test_sizes_are_told_in_units() -> None:
    assert [size_text(size) for size in (4, 1024, 1500, 1 << 20)] == [
        *("4 B", "1 KiB", "1500 B", "1 MiB"),
    ]


TARGETS = """\
http://example.org/tool|bookworm|main|
http://mirror.example/security|bookworm-security|main|/usr/share/keyrings/d.gpg
http://mirror.example/contrib/|bookworm|contrib|/usr/share/keyrings/d.gpg
http://mirror.example/debian/|bookworm|main|/usr/share/keyrings/d.gpg
"""


def test_debian_13_is_fetched_from_the_source_of_this_debian() -> None:
    assert derived_source(TARGETS.partition("\n")[2], "bookworm", "trixie") == (
        "deb [signed-by=/usr/share/keyrings/d.gpg] http://mirror.example/debian/"
        " trixie main\n"
    )


def test_a_source_without_a_key_of_its_own_uses_apts() -> None:
    unsigned = "http://mirror.example/debian/|bookworm|main|$(SIGNED_BY)"
    assert derived_source(unsigned, "bookworm", "trixie") == (
        "deb http://mirror.example/debian/ trixie main\n"
    )


def test_no_source_of_debian_is_told() -> None:
    with pytest.raises(InfraError, match="no source"):
        derived_source(TARGETS, "bullseye", "trixie")


def test_it_does_not_need_the_lab() -> None:
    without = "import sys; sys.modules['temper'] = None"
    program = f"{without}; import vgetrandom_bench.__main__"
    path = {"PYTHONPATH": str(LIBRARY / "bench")}
    subprocess.run([sys.executable, "-c", program], env=path, check=True)


def test_a_task_is_told_of_now_and_then() -> None:
    told, seconds = io.StringIO(), iter([0.0, 0.0, 5.0, 11.0, 12.0])
    with Progress(told, lambda: next(seconds)).task("work") as task:
        task.update(1, 4, "a")
        task.update(2, 4, "b")
    assert told.getvalue() == "work: started\nwork: 50 %, b\nwork: done in 12 s\n"


def test_a_program_that_is_missing_or_late_is_our_fault(tmp_path: Path) -> None:
    with pytest.raises(InfraError, match="missing"):
        call(["no-such-program"], tmp_path, 1)
    with pytest.raises(InfraError, match="stopped"):
        call(["sleep", "9"], tmp_path, 0.1)
