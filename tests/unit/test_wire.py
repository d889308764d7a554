"""What comes over the channel, whole and corrupt."""

import json

import pytest

from temper.record.wire import (
    Boot,
    End,
    Histogram,
    WireError,
    parse_line,
    parse_record,
    unended,
    whole_records,
)

BOOT = (
    '{"n":0,"type":"boot","protocol":1,"release":"6.12.117","clocksource":"tsc",'
    '"cpus":1}'
)


def test_a_record() -> None:
    record = parse_line(BOOT, 0)
    assert isinstance(record, Boot)
    assert record.release == "6.12.117"
    assert parse_line('{"n":7,"type":"end"}', 7) == End(n=7, type="end")


def test_bins_are_pairs() -> None:
    fields = {"n": 0, "type": "histogram", "workload": "ctx/pipe", "tick": False}
    record = parse_record({**fields, "bins": [[206, 5], [207, 1]]})
    assert isinstance(record, Histogram)
    assert record.bins == [(206, 5), (207, 1)]
    with pytest.raises(WireError, match="bins"):
        parse_record({**fields, "bins": [[206, 5, 1]]})


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1])
def test_numbers_fit_64_bits(value: int) -> None:
    histogram = {"type": "histogram", "workload": "getpid", "tick": False}
    samples = {"n": 3, "type": "samples", "name": "position"}
    assert parse_record({**samples, "values": [2**64 - 1, -(2**63)]})
    for fields in (
        {**samples, "values": [value]},
        {**samples, "type": "definition", "values": [value]},
        {"n": 3, **histogram, "bins": [[value, 1]]},
        {"n": 3, **histogram, "bins": [[1, value]]},
    ):
        with pytest.raises(WireError):
            parse_record(fields)


def test_a_sample_has_an_operation_at_least() -> None:
    workload: dict[str, object] = {
        **{"n": 3, "type": "workload", "workload": "getpid", "unit": "instructions"},
        **{"samples": 5, "warmup": 1, "operations": 1, "overhead": 0},
        **{"sequence": "0", "elapsed": 9, "interrupts": 0, "region": 0},
    }
    assert parse_record(workload)
    with pytest.raises(WireError, match="operations"):
        parse_record({**workload, "operations": 0})


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("Segmentation fault", "record 3 is not JSON: 'Segmentation fault'"),
        (BOOT[:40], "record 3 is not JSON: '" + BOOT[:40] + "'"),
        ("", "record 3 is not JSON: ''"),
        ("\x00\ufffd" * 99, "record 3 is not JSON: "),
        ("9" * 5000, "record 3 is not JSON: "),
        ("[" * 100_000, "record 3 is not JSON: "),
        ('["n",3]', "record 3 is not an object: "),
        ("3", "record 3 is not an object: '3'"),
        ('{"n":4,"type":"end"}', "record 3 is missing; 4 came instead"),
        ('{"n":2,"type":"end"}', "record 3 is missing; 2 came instead"),
        ('{"type":"end"}', "not a record: end.n: Field required"),
        ('{"n":3}', "not a record: type: Unable to extract tag"),
        ('{"n":3,"type":"fin"}', "not a record: type: Input tag 'fin' found"),
        ('{"n":3,"type":"end","more":1}', "not a record: end.more: Extra inputs"),
        (BOOT.replace(":1", ":2"), "not a record: boot.protocol: Input should be 1"),
    ],
)
def test_anything_else_is_refused(line: str, why: str) -> None:
    with pytest.raises(WireError) as caught:
        parse_line(line, 3)
    said = str(caught.value)
    assert why in said
    assert "\n" not in said
    assert len(said) < 400


@pytest.mark.parametrize("length", range(1, len(BOOT)))
def test_a_torn_line_never_passes(length: int) -> None:
    with pytest.raises(WireError):
        parse_line(BOOT[:length], 0)


def test_records_are_dumped_as_they_came() -> None:
    assert parse_line(BOOT, 0).model_dump(mode="json") == json.loads(BOOT)


START = '{"n":1,"type":"start","program":"attack 3"}'
EXIT = '{"n":2,"type":"exit","program":"attack 3","status":1}'


@pytest.mark.parametrize(
    "line", [EXIT[:-1], "", "BUG: odd", EXIT.replace(":2", ":3", 1)]
)
def test_what_comes_before_a_torn_line_is_kept(line: str) -> None:
    kept = whole_records([BOOT, START, line, EXIT])
    assert kept == [parse_line(BOOT, 0), parse_line(START, 1)]
    assert whole_records([BOOT, START, EXIT])[2:] == [parse_line(EXIT, 2)]


def test_the_program_that_has_not_ended_is_told() -> None:
    whole = whole_records([BOOT, START, EXIT])
    assert [unended(whole[:n]) for n in range(4)] == [None, None, "attack 3", None]
