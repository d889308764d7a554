"""Files and context switches on real kernels of both architectures."""

import shutil
from fractions import Fraction
from pathlib import Path

import pytest
from lab import ARM64, ONE_LAYOUT, Answer, ask, boots_of, new_machine, planner, prepared

from temper import workloads as table
from temper.analysis.boots import BootResults, results_by_variant
from temper.catalog import feature_named
from temper.run import programs
from temper.stats.exact import merge, result_classes
from temper.workloads import TARGET

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1800)]

FILES = ("fs/create", "fs/stat", "fs/read")
SWITCHES = ("ctx/clock", "ctx/pipe")
CALL = "syscall/getppid"
WORKLOADS = (CALL, *SWITCHES, *FILES)

ADDRESS_SPACES = {"x86_64": "kernel_mov_cr3", "arm64": "kernel_msr_ttbr"}
"""The class of what loads the tables of another process."""
BYTES_PER_INSTRUCTION = {"x86_64": 1, "arm64": 8}
"""Of a copy to user space, at most: `rep movsb` counts per byte."""


@pytest.fixture(
    scope="module",
    params=[
        pytest.param((), id="x86_64"),
        pytest.param(ARM64, id="arm64", marks=pytest.mark.check_all),
    ],
)
def answer(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Answer:
    named = [word for name in WORKLOADS for word in ("--workload", name)]
    return ask(
        tmp_path_factory.mktemp("price"),
        *("price", "kstack", "--variants", "off,temper", *named),
        *("--calls", "1000", *ONE_LAYOUT, *request.param),
    )


def off(answer: Answer) -> BootResults:
    return results_by_variant(answer.run)["off"][0]


def cost(answer: Answer, workload: str, which: str = "mean") -> Fraction:
    """Return the instructions of an operation, ticks included."""
    boot = off(answer)
    bins = merge([boot.quiet[workload], boot.ticked[workload]])
    return result_classes(bins, boot.workloads[workload].operations)[which]


def test_all_are_priced_exactly(answer: Answer) -> None:
    assert answer.status == 0, answer.output
    assert answer.report["exact"], answer.report["exact_why"]
    assert {row["workload"] for row in answer.report["rows"]} == set(WORKLOADS)


def test_an_operation_costs_more_than_what_it_holds(answer: Answer) -> None:
    # A pipe takes a write or a read for each switch, beside what wakes the other.
    assert cost(answer, CALL) < cost(answer, "ctx/clock") < cost(answer, "ctx/pipe")
    # Each looks for a path; what is created must be allocated, too.
    assert cost(answer, CALL) < cost(answer, "fs/stat") < cost(answer, "fs/create")
    # Most creations find memory in a slab that is there.
    assert cost(answer, "fs/create", "p50") < cost(answer, "fs/create")
    copied = 4096 / BYTES_PER_INSTRUCTION[answer.report["arch"]]
    assert cost(answer, "fs/read") > cost(answer, CALL) + copied


def test_every_switch_is_one_between_processes(answer: Answer) -> None:
    boot, name = off(answer), ADDRESS_SPACES[answer.report["arch"]]

    def loads(workload: str) -> float:
        record = boot.workloads[workload]
        return boot.classes[workload][name] / (record.samples * record.operations)

    assert loads("ctx/clock") >= 1
    # Room for a switch to another task.
    assert loads("ctx/clock") == pytest.approx(loads("ctx/pipe"), rel=0.02)
    for workload in (CALL, *FILES):
        assert loads(workload) == 0


def test_each_makes_the_system_calls_that_it_says(answer: Answer) -> None:
    """kstack costs every call the same; on arm64 they are counted as well."""
    expected = {CALL: 1, "fs/create": 2, "fs/stat": 1, "fs/read": 1, "ctx/clock": 1}
    if answer.report["arch"] == "x86_64":
        per_call = answer.deltas(CALL, "temper")["p50"]
        assert per_call > 0
        for workload, calls in expected.items():
            delta = answer.deltas(workload, "temper")["p50"]
            assert delta == calls * per_call, workload
        return
    for workload, calls in expected.items():
        record, classes = (
            getattr(off(answer), name)[workload] for name in ("workloads", "classes")
        )
        assert classes["user_svc"] == calls * record.samples * record.operations


def test_what_is_made_ready_is_not_counted(answer: Answer) -> None:
    boot = off(answer)
    for workload in FILES:
        record, classes = boot.workloads[workload], boot.classes[workload]
        counted = classes["kernel_instructions"] + classes["user_instructions"]
        timed = cost(answer, workload) * record.samples
        assert abs(counted - timed) < timed / 100
    # A new file's unlink() costs about as much as the file.
    record = boot.workloads["fs/create"]
    assert record.elapsed > 1.5 * cost(answer, "fs/create") * record.samples


@pytest.mark.parametrize(
    ("workload", "instead", "by", "message"),
    [
        ("ctx/clock", "\tyield(-1)", "\tgetppid()", "this task took "),
        ("ctx/pipe", "O_DIRECT", "0", "this task took "),
        ("fs/create", "open(NEW_FILE, O_CREAT | O_EXCL", "open(OLD_FILE, 0", "inodes"),
        ("fs/stat", "stat(OLD_FILE", 'stat("one"', "size: "),
        ("fs/read", "(off_t)at", "0", "same content: 0, not 1"),
        ("fs/read", "pread(old_file, found, PAGE", "pread(old_file, found, 1", "bytes"),
    ],
)
def test_a_workload_notices_that_it_measures_something_else(
    workload: str,
    instead: str,
    by: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spoilt = tmp_path / "target"
    shutil.copytree(TARGET, spoilt)
    source = spoilt / f"{workload.partition('/')[0]}.c"
    text = source.read_text()
    assert text.count(instead) == 1
    source.write_text(text.replace(instead, by))
    for module in (programs, table):
        monkeypatch.setattr(module, "TARGET", spoilt)
    plan = planner().price(feature_named("kstack"), 1000, ["temper"], names=(workload,))
    (boot,) = boots_of(prepared(plan), new_machine(), "off")
    assert boot.workloads == {}
    assert "ended with status 1" in boot.facts.error
    assert message in boot.facts.error
