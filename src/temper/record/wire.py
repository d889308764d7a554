"""The records that a target sends, one JSON object a line.

Every record has ``type`` and a sequence number ``n`` that starts at 0 and has no
gaps; the last is ``end``. So a lost, torn or foreign line is noticed.
"""

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

UNSUPPORTED = 77
"""Exit status of a program that cannot run on this kernel."""


class WireError(ValueError):
    """The channel carried something that is not our protocol."""


class Record(BaseModel):
    """What all records have."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    n: int


class Boot(Record):
    """First of all: the target is up."""

    type: Literal["boot"]
    protocol: Literal[1]
    release: str
    """``uname -r``"""
    clocksource: str
    cpus: int


class Start(Record):
    """A program of the job starts."""

    type: Literal["start"]
    program: str
    """Its words, joined by blanks."""


class Histogram(Record):
    """Part of a workload's histogram: ``bins`` of [value, calls].

    A long histogram comes in several records with the same workload and
    ``tick``; values are of one sample, which holds ``operations`` operations
    (see Workload).
    """

    type: Literal["histogram"]
    workload: str
    tick: bool
    """True: a timer tick fell into the sample, or between it and the one before."""
    bins: list[tuple[int, int]]


class Workload(Record):
    """A workload is done; its histogram records came before this."""

    type: Literal["workload"]
    workload: str
    unit: Literal["instructions", "ns", "cycles"]
    samples: int
    warmup: int
    operations: int
    """How many operations one sample holds (2 context switches a round)."""
    overhead: int
    """What the timing of a sample costs itself, in ``unit``, included in it."""
    sequence: str
    """Hash of the samples in the order they were taken, hexadecimal."""
    elapsed: int
    """``unit`` from the first marker to the last."""
    interrupts: int
    """Interrupts the kernel counted meanwhile, over all CPUs."""
    region: int
    """Which marked region, counted from 0 over the whole boot, held it."""


class InForce(Record):
    """Whether the mitigation was on at this moment, found by behaviour."""

    type: Literal["in_force"]
    feature: str
    on: bool
    evidence: dict[str, int]


class Samples(Record):
    """Raw values of a proof, in order; may come in several records."""

    type: Literal["samples"]
    name: str
    values: list[int]


class Definition(Record):
    """A number or list that the running kernel itself defines."""

    type: Literal["definition"]
    name: str
    values: list[int]


class Exit(Record):
    """A program of the job ended; 77 means it could not run here."""

    type: Literal["exit"]
    program: str
    status: int


class Classes(Record):
    """Instructions of one marked region by class, counted by the QEMU plugin.

    Sent by the machine, not by the target, after the fact.
    """

    type: Literal["classes"]
    region: int
    counts: dict[str, int]


class End(Record):
    """Nothing comes after this."""

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
    | Classes
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
    # Garbage can also hold a number, or a nesting, that Python will not take.
    except (ValueError, RecursionError) as error:
        raise WireError(f"record {expected} is not JSON: {line[:60]!r}") from error
    if not isinstance(fields, dict):
        raise WireError(f"record {expected} is not an object: {line[:60]!r}")
    record = parse_record(fields)
    if record.n != expected:
        raise WireError(f"record {expected} is missing; {record.n} came instead")
    return record
