"""What is said of the instructions that operations and prices consist of."""

from collections.abc import Mapping

from samples import price_run

from temper.analysis.models import ClassRow, PriceReport
from temper.analysis.price import price_report
from temper.report.brief import trust_lines
from temper.report.instructions import instruction_lines

REDIS, FORK, ZSTD = "db/redis-get", "micromm/fork-p1", "compress/zstd"


def counted(
    counts: Mapping[tuple[str, str], tuple[float, float]], **changes: object
) -> PriceReport:
    """Return a report of counts: workload, class -> off's, how many more stock has."""
    rows = [
        ClassRow(
            workload=workload,
            instruction_class=name,
            variant="stock",
            baseline_per_operation=before,
            per_operation=before + more,
        )
        for (workload, name), (before, more) in counts.items()
    ]
    return price_report(price_run()).model_copy(update={"classes": rows, **changes})


def line(report: PriceReport, word: str) -> str:
    """Return the line with ``word``, or nothing if there is none."""
    found = [each for each in instruction_lines(report) if word in each]
    assert len(found) < 2
    return found[0] if found else ""


def test_of_real_programs_the_part_of_the_kernel_is_told() -> None:
    counts = {
        (REDIS, "kernel_instructions"): (12_000.0, 9.0),
        (REDIS, "user_instructions"): (8_000.0, 0.0),
    }
    assert line(counted(counts), "kernel's part") == ""
    real = counted(counts, real_programs=[REDIS])
    said = "The kernel's part of off's instructions: db/redis-get 60 %."
    assert line(real, "kernel's part") == said
    assert said in trust_lines(real)


def test_iterations_of_string_instructions_are_told_apart() -> None:
    report = counted(
        {
            (FORK, "kernel_instructions"): (900.0, 40.0),
            (FORK, "user_instructions"): (100.0, 0.0),
            (FORK, "kernel_rep_string"): (410.0, 30.0),
            (FORK, "user_rep_string"): (20.0, 0.0),
            (REDIS, "kernel_instructions"): (1000.0, 300.0),
            (REDIS, "kernel_rep_string"): (99.0, 29.0),
        }
    )
    assert line(report, "rep-string") == (
        "Counted as one instruction each, but cheaper on hardware: iterations of "
        "rep-string instructions, with off 43 % of micromm/fork-p1; stock +30 of +40 "
        "on micromm/fork-p1, per operation."
    )
    # They are no reason to call a price higher than its count.
    assert line(report, "slower on hardware") == ""


def test_what_is_slower_on_hardware_is_still_told() -> None:
    report = counted(
        {
            (FORK, "kernel_instructions"): (900.0, 40.0),
            (FORK, "kernel_rep_string"): (410.0, 30.0),
            (FORK, "kernel_wrmsr"): (0.0, 2.0),
        }
    )
    assert line(report, "slower on hardware").endswith("stock +2 kernel_wrmsr.")


def test_lines_of_memory_cleared_by_one_instruction_are_told() -> None:
    report = counted(
        {
            (FORK, "kernel_instructions"): (600.0, 0.0),
            (FORK, "kernel_dc_zva"): (64.0, 0.0),
        }
    )
    assert line(report, "dc_zva") == (
        "Counted as one instruction each, but each clears a cache line: dc_zva, with "
        "off 11 % of micromm/fork-p1, per operation."
    )


def test_few_of_them_are_not_told() -> None:
    report = counted(
        {
            (FORK, "kernel_instructions"): (10_000.0, 90.0),
            (FORK, "kernel_rep_string"): (900.0, 8.0),
        }
    )
    assert line(report, "rep-string") == ""


def test_only_the_largest_shares_are_named() -> None:
    counts = {}
    for number in range(8):
        counts[f"it/{number}", "kernel_instructions"] = (100.0, 0.0)
        counts[f"it/{number}", "kernel_rep_string"] = (20.0 + number, 0.0)
    told = line(counted(counts), "rep-string")
    assert "27 % of it/7, 26 % of it/6, 25 % of it/5" in told
    assert "it/2 and" not in told
    assert "23 % of it/3 and 3 more, per operation." in told


def test_what_a_program_does_of_its_own_is_told() -> None:
    report = counted(
        {
            (REDIS, "kernel_instructions"): (12_000.0, 208.0),
            (REDIS, "user_instructions"): (8_000.0, 812.0),
            # A thousandth of the operation, and no more.
            (ZSTD, "kernel_instructions"): (1_000.0, 5.0),
            (ZSTD, "user_instructions"): (9_000.0, -10.0),
        }
    )
    assert line(report, "program's own") == (
        "Part of the difference is the program's own, in user space, since what it "
        "does depends on timing: stock +812 of +1,020 on db/redis-get, per operation."
    )


def test_a_program_that_does_the_same_has_no_part_of_its_own() -> None:
    assert line(price_report(price_run()), "program's own") == ""
