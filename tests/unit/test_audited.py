"""A job whose attacks end kernels: nothing is lost, and the rest goes on."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from temper.errors import BootError, InfraError
from temper.machine import BootResult
from temper.record.wire import Died, Exit, Samples, parse_record
from temper.run.audited import boot_on

JOB = (
    "run attack module lkdtm",
    "run attack lkdtm A",
    "run attack lkdtm B",
    "run attack lkdtm C",
)


def fields(*lines: str, last: str = "") -> list[dict[str, Any]]:
    """Return the records of programs that ended, and of one that did not."""
    found: list[dict[str, Any]] = []
    for line in lines:
        program = line.removeprefix("run ")
        name = program.split()[2]
        found += [
            {"type": "start", "program": program},
            {"type": "samples", "name": name, "values": [1, 0, 0, 0]},
            {"type": "exit", "program": program, "status": 0},
        ]
    if last:
        found.append({"type": "start", "program": last.removeprefix("run ")})
    return [{"n": n, **each} for n, each in enumerate(found)]


class Kernel:
    """Ends at some lines of a job."""

    def __init__(self, *deadly: str) -> None:
        self.deadly = deadly
        self.jobs: list[Sequence[str]] = []
        self.numbers: list[int] = []

    def boot(self, lines: Sequence[str], number: int) -> BootResult:
        self.jobs.append(lines)
        self.numbers.append(number)
        console = f"console {number}\n"
        for at, line in enumerate(lines):
            if line in self.deadly:
                error = BootError("the job did not end: panic", console=console)
                records = fields(*lines[:at], last=line)
                error.records = [*map(parse_record, records)]
                raise error
        sent = [parse_record(each) for each in fields(*lines)]
        return BootResult([*sent, end(len(sent))], console)


def end(number: int) -> Any:  # noqa: ANN401 (any record)
    return parse_record({"n": number, "type": "end"})


def died(result: BootResult) -> list[str]:
    return [each.program for each in result.records if isinstance(each, Died)]


def sent(result: BootResult) -> list[str]:
    return [each.name for each in result.records if isinstance(each, Samples)]


def test_a_kernel_that_lives_boots_once() -> None:
    kernel = Kernel()
    result = boot_on(kernel.boot, JOB)
    assert kernel.jobs == [list(JOB)]
    assert (died(result), sent(result)) == ([], ["lkdtm", "A", "B", "C"])


def test_the_next_boot_goes_on_after_the_attack_that_ended_the_last() -> None:
    kernel = Kernel(JOB[1], JOB[2])
    result = boot_on(kernel.boot, JOB)
    assert kernel.jobs[1:] == [[JOB[0], *JOB[2:]], [JOB[0], JOB[3]]]
    assert kernel.numbers == [0, 1, 2]
    assert died(result) == ["attack lkdtm A", "attack lkdtm B"]
    assert sent(result) == ["lkdtm", "lkdtm", "lkdtm", "C"]
    assert result.console == "console 0\nconsole 1\nconsole 2\n"


def test_records_are_numbered_as_of_one_boot() -> None:
    result = boot_on(Kernel(JOB[1]).boot, JOB)
    assert [each.n for each in result.records] == list(range(len(result.records)))


def test_after_the_last_attack_there_is_no_boot() -> None:
    kernel = Kernel(JOB[3])
    result = boot_on(kernel.boot, JOB)
    assert len(kernel.jobs) == 1
    assert died(result) == ["attack lkdtm C"]
    assert sent(result) == ["lkdtm", "A", "B"]


def raising(records: list[dict[str, Any]]) -> Callable[..., BootResult]:
    def boot(_lines: Sequence[str], _number: int) -> BootResult:
        error = BootError("it hung")
        error.records = [*map(parse_record, records)]
        raise error

    return boot


@pytest.mark.parametrize(
    "records",
    [[], fields(JOB[0]), fields(last=JOB[0])],
    ids=["nothing", "between programs", "while it loads a module"],
)
def test_a_kernel_that_ends_before_any_attack_is_an_error(
    records: list[dict[str, Any]],
) -> None:
    with pytest.raises(BootError, match="it hung"):
        boot_on(raising(records), JOB)


def test_an_attack_that_nobody_asked_for_is_our_fault() -> None:
    with pytest.raises(InfraError, match="'attack lkdtm Z', which its job does not"):
        boot_on(raising(fields(last="run attack lkdtm Z")), JOB)


def test_how_an_attack_ended_is_part_of_the_records() -> None:
    result = boot_on(Kernel(JOB[2]).boot, JOB)
    ended = [each for each in result.records if isinstance(each, Died | Exit)]
    assert [each.type for each in ended] == ["exit", "exit", "died", "exit", "exit"]
    assert [each.how for each in ended if isinstance(each, Died)] == [
        "the job did not end: panic"
    ]
