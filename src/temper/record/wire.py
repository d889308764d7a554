"""The records that a target sends, one JSON object per line.

Every record has ``type`` and a sequence number ``n`` that starts at 0 and has no
gaps; the last record is ``end``. So a lost, torn or foreign line is noticed.
"""

import json
from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

Whole = Annotated[int, Field(ge=-(2**63), lt=2**64)]
"""A number that 64 bits hold, signed or not: programs of the target have no others."""
_Positive = Annotated[int, Field(gt=0, lt=2**63)]
_Signed = Annotated[int, Field(ge=-(2**63), lt=2**63)]

UNSUPPORTED = 77
"""Exit status of a program that cannot run on this kernel."""


class WireError(ValueError):
    """The channel carried something that is not our protocol."""


class Record(BaseModel):
    """The fields that all records have."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    n: Whole


class Boot(Record):
    """The first record: the target is up."""

    type: Literal["boot"]
    protocol: Literal[1]
    release: str
    """``uname -r``"""
    clocksource: str
    cpus: Whole


class Start(Record):
    """A program of the job starts."""

    type: Literal["start"]
    program: str
    """The words of its line, joined by spaces."""


class Histogram(Record):
    """Part of a workload's histogram: ``bins`` of [value, calls].

    A long histogram comes in several records with the same workload and
    ``tick``; values are of one sample, which holds ``operations`` operations
    (see Workload).
    """

    type: Literal["histogram"]
    workload: str
    tick: bool
    """True: a timer tick hit each sample, or the gap between it and the one before."""
    bins: list[tuple[_Signed, _Positive]]


class Workload(Record):
    """A workload is done; its histogram records came before this one."""

    type: Literal["workload"]
    workload: str
    unit: Literal["instructions", "ns", "cycles"]
    samples: _Positive
    warmup: Whole
    operations: _Positive
    """Operations per sample, such as 2 context switches per round."""
    overhead: Whole
    """What timing a sample costs, in ``unit``; every sample includes it."""
    sequence: str
    """Hash of the samples in the order they were taken, hexadecimal."""
    elapsed: Whole
    """Time in ``unit`` from the first marker to the last."""
    interrupts: Whole
    """Interrupts that the kernel counted in that time, on all CPUs."""
    region: Whole
    """The number of its marked region; the boot's first one is 0."""


class InForce(Record):
    """Whether the mitigation was on at this moment, judged by behaviour."""

    type: Literal["in_force"]
    feature: str
    on: bool
    evidence: dict[str, Whole]


class Samples(Record):
    """Raw values of a proof, in order; they may come in several records."""

    type: Literal["samples"]
    name: str
    values: list[Whole]


class Definition(Record):
    """A number or list that the running kernel itself defines."""

    type: Literal["definition"]
    name: str
    values: list[Whole]


class Exit(Record):
    """A program of the job ended; 77 means it could not run here."""

    type: Literal["exit"]
    program: str
    status: Whole


class Died(Record):
    """The kernel's end, by which a program of the job ended.

    The lab adds this record, where attacks may end a kernel.
    """

    type: Literal["died"]
    program: str
    how: str


class Startup(Record):
    """What a machine did before its first marked region, counted by the QEMU plugin.

    The machine adds this record; the target does not send it.
    """

    type: Literal["startup"]
    kernel_instructions: Whole
    """Those in the upper half of the address space, on all CPUs, since power-on."""


class Classes(Record):
    """Instructions of one marked region by class, counted by the QEMU plugin.

    The machine adds this record; the target does not send it.
    """

    type: Literal["classes"]
    region: Whole
    counts: dict[str, Whole]
    whole: dict[str, Whole] | None = None
    """All instructions of each ring from the first marker to the last, also those that
    ``counts`` leaves out: between samples and after them. None in older runs."""


class Exposure(Record):
    """How long a register was open in one marked region, and what ran meanwhile.

    The machine adds this record, from a QEMU plugin; the target does not send it.
    """

    type: Literal["exposure"]
    region: Whole
    opened: Whole
    """Writes that open the register; it may have been open."""
    closed: Whole
    """Writes that close it."""
    other: Whole
    """Writes of other registers of its kind."""
    untold: Whole
    """Writes of which nobody knows what they wrote, and to which register."""
    closed_again: Whole
    """Those of the writes that close it which found it closed."""
    open_at_marker: Whole
    """Times that it was open at a marker of the region, in user mode."""
    stretches: list[tuple[_Positive, _Positive]]
    """[instructions from an opening write to the closing one, stretches]."""
    functions: dict[str, Whole]
    """Function -> its instructions that ran while the register was open."""


class End(Record):
    """The last record."""

    type: Literal["end"]


AnyRecord = Annotated[
    Boot
    | Start
    | Histogram
    | Workload
    | InForce
    | Samples
    | Definition
    | Exit
    | Died
    | Startup
    | Classes
    | Exposure
    | End,
    Field(discriminator="type"),
]

_RECORD: TypeAdapter[AnyRecord] = TypeAdapter(AnyRecord)


def parse_record(fields: dict[str, Any]) -> AnyRecord:
    """Turn one decoded record into its typed form; raise WireError."""
    try:
        return _RECORD.validate_python(fields)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "type"
        raise WireError(f"not a record: {where}: {first['msg']}") from error


def parse_line(line: str, expected: int) -> AnyRecord:
    """Parse one line; ``expected`` is the sequence number it must have."""
    try:
        fields = json.loads(line)
    # Garbage may also have a number too long, or nesting too deep, for Python.
    except (ValueError, RecursionError) as error:
        raise WireError(f"record {expected} is not JSON: {line[:60]!r}") from error
    if not isinstance(fields, dict):
        raise WireError(f"record {expected} is not an object: {line[:60]!r}")
    record = parse_record(fields)
    if record.n != expected:
        raise WireError(f"record {expected} is missing; {record.n} came instead")
    return record


def whole_records(lines: Iterable[str]) -> list[AnyRecord]:
    """Return the records before the first line that is none."""
    found: list[AnyRecord] = []
    for line in lines:
        try:
            found.append(parse_line(line, len(found)))
        except WireError:
            break
    return found


def unended(records: Iterable[AnyRecord]) -> str | None:
    """Return the program that had started, but not ended; None if there is none."""
    started: str | None = None
    for record in records:
        if isinstance(record, Start):
            started = record.program
        elif isinstance(record, Exit):
            started = None
    return started
