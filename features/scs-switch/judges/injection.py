"""Judges of the proofs that no instruction of a switch of stacks can be interrupted."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from temper.assembly import arm64_assembly, arm64_branch
from temper.stats.judging import (
    Arrays,
    Ints,
    Series,
    Verdict,
    concluded,
    unsupported,
)

_COLUMNS = 6
_OFFSET, _WORD, _MASKED, _TAKEN_AT, _TAKEN, _WRONG = range(_COLUMNS)
_UNSEEN = -2
_INTERRUPT = " for an interrupt "
_RETURN = 0xD65F_03C0
_CALL_HANDLER = 0xD63F_0020  # blr x1
# Bits and values of instructions that go on elsewhere: bl; by a register; to another
# exception level.
_ELSEWHERE = (
    (0xFC00_0000, 0x9400_0000),
    (0xFE00_0000, 0xD600_0000),
    (0xFF00_0000, 0xD400_0000),
)

_WRONG_WORDS = (
    "SCS pointer",
    "stack pointer",
    "saved SCS pointer of the previous task",
    "saved registers of the previous task",
    "current task",
    "registers that a function keeps",
    "everything: the kernel died",
    "frames of callers",
    "exception masks",
)


def interrupts(samples: Arrays, _definitions: Arrays, *, functions: float) -> Verdict:
    """Judge interrupts at every instruction of functions.

    Each array of ``samples`` is of one function in one kind of call, with rows of six:
    the offset of an instruction; its code; 1 if an interrupt was masked there, or else
    0; the offset of the instruction before which it was taken first, -1 if that was
    elsewhere, -2 if nobody saw it; 1 if it was taken by the time that the function
    returned, or else 0; and what was wrong then, a bit for each of ``_WRONG_WORDS``.

    VULNERABLE if anything was wrong. UNSUPPORTED if there are not as many arrays as
    ``functions``, one does not have all instructions, goes on elsewhere or comes to an
    instruction twice, or an interrupt was not taken in time, or unseen, or not where
    nothing masked it: those were not attacked. BLOCKED otherwise.
    """
    return _judged(samples, functions, _interrupts_missed, "interrupts", "unmasked")


def breakpoints(samples: Arrays, _definitions: Arrays, *, functions: float) -> Verdict:
    """Judge breakpoints at every instruction of functions, by rows as of interrupts.

    One that is masked does not come later, so it may be unseen. UNSUPPORTED if all are:
    nothing shows that they come at all.
    """
    return _judged(samples, functions, _breakpoints_missed, "breakpoints", "")


_Missed = Callable[[str, Ints], str]
"""Says of a function's rows which events did not come that had to; empty: none."""


def _judged(
    samples: Arrays, functions: float, missed: _Missed, events: str, later: str
) -> Verdict:
    """Judge events; ``later``: when those come that are masked, if they do."""
    tables = {name: values.reshape(-1, _COLUMNS) for name, values in samples.items()}
    landed = [
        _told(name, rows) for name, rows in tables.items() if rows[:, _WRONG].any()
    ]
    if not landed and (why := _incomplete(tables, functions, missed)):
        return unsupported(why)
    visits = sum(map(len, tables.values()))
    wrong = sum(int(np.count_nonzero(rows[:, _WRONG])) for rows in tables.values())
    at_once = sum(int(_taken_at_once(rows).sum()) for rows in tables.values())
    others = f"when they were {later}" if later else "never, for they were masked"
    rest = f", the others {others}" if at_once < visits else ""
    found = concluded(
        landed,
        [],
        f"{visits} {events} at all instructions left all as it must be; "
        f"{at_once} were taken at once{rest}",
        {events: visits, "at once": at_once, "wrong": wrong},
    )
    return replace(found, series=_series(tables))


def _incomplete(tables: Arrays, functions: float, missed: _Missed) -> str:
    """Return why not everything was attacked; empty: it was."""
    if not tables:
        return "the kernel has no shadow call stacks, or the CPU no such events"
    if len(tables) != functions:
        return f"{len(tables)} kinds of calls instead of {functions:.0f} were attacked"
    gaps = ((name, _gap(rows) or missed(name, rows)) for name, rows in tables.items())
    return next((f"{name}: {gap}" for name, gap in gaps if gap), "")


def _gap(rows: Ints) -> str:
    """Return which instructions of a function were not attacked; empty: none."""
    offsets = np.unique(rows[:, _OFFSET])
    # Those that nothing masked.
    ignored = np.count_nonzero((rows[:, _MASKED] == 0) & ~_taken_at_once(rows))
    gaps = {
        "not all instructions were attacked": not np.array_equal(
            offsets, np.arange(0, 4 * len(offsets), 4)
        ),
        "it was not attacked up to its return": _RETURN not in rows[:, _WORD],
        "it goes on in code that was not attacked": _leaves(rows),
        "it comes to instructions more than once, and was attacked there once": _loops(
            rows
        ),
        f"{ignored} events were not taken where nothing masked them": ignored,
    }
    return next((gap for gap, there in gaps.items() if there), "")


def _leaves(rows: Ints) -> bool:
    """Whether an instruction goes on elsewhere, and is no return."""
    known = set(rows[:, _OFFSET].tolist())
    words = set(rows[:, _WORD].tolist()) - {_RETURN, _CALL_HANDLER}
    elsewhere = any(
        word & bits == value for word in words for bits, value in _ELSEWHERE
    )
    return elsewhere or any(to not in known for _, to in _branches(rows))


def _loops(rows: Ints) -> bool:
    return any(to <= at for at, to in _branches(rows))


def _branches(rows: Ints) -> Iterator[tuple[int, int]]:
    """Yield the offset of each branch, and that of where it goes."""
    for at, word in rows[:, [_OFFSET, _WORD]].tolist():
        if (far := arm64_branch(word)) is not None:
            yield at, at + 4 * far


def _interrupts_missed(name: str, rows: Ints) -> str:
    if late := int(np.count_nonzero(rows[:, _TAKEN] == 0)):
        return f"{late} interrupts were not taken before it returned"
    unseen = rows[:, _TAKEN_AT] == _UNSEEN
    # The handler of an interrupt may get one more from the interrupt controller itself.
    blind = unseen.all() if _INTERRUPT in name else unseen.any()
    return f"nobody saw where {unseen.sum()} interrupts were taken" if blind else ""


def _breakpoints_missed(_name: str, rows: Ints) -> str:
    return "" if rows[:, _TAKEN].any() else "no breakpoint was ever taken"


def _taken_at_once(rows: Ints) -> NDArray[np.bool_]:
    at_once: NDArray[np.bool_] = rows[:, _TAKEN_AT] == rows[:, _OFFSET]
    return at_once


def _told(name: str, rows: Ints) -> str:
    """Say where a function is open, and what was wrong."""
    wrong = rows[rows[:, _WRONG] != 0]
    bits = int(np.bitwise_or.reduce(wrong[:, _WRONG]))
    what = [word for bit, word in enumerate(_WRONG_WORDS) if bits >> bit & 1]
    code = dict(zip(rows[:, _OFFSET].tolist(), rows[:, _WORD].tolist(), strict=True))
    offsets = np.unique(_open(rows))
    runs = np.split(offsets, np.flatnonzero(np.diff(offsets) != 4) + 1)
    places = [
        " to ".join(f"+{at:#x} ({arm64_assembly(code[at])})" for at in _ends(run))
        for run in runs
    ]
    return (
        f"{name}: open at {len(offsets)} of {len(code)} instructions, "
        f"{'; '.join(places)}: wrong {', '.join(what)}"
    )


def _open(rows: Ints) -> Ints:
    """Return the offsets where interrupts did harm.

    One that was masked did it where it was taken in the end.
    """
    wrong = rows[rows[:, _WRONG] != 0]
    taken_at = wrong[:, _TAKEN_AT]
    places: Ints = np.where(taken_at < 0, wrong[:, _OFFSET], taken_at)
    return places


def _ends(run: Ints) -> list[int]:
    """Return the first and the last of a run; one, if that is all."""
    return [int(each) for each in np.unique(run[[0, -1]])]


def _series(tables: Arrays) -> Series:
    """Return a table for each function: offset, code, a state for each kind of call.

    A state is 0 if all interrupts were masked, 1 if one was taken at once and 2 if
    one did harm.
    """
    found: Series = {}
    for name in dict.fromkeys(map(_function, tables)):
        kinds = [rows for full, rows in tables.items() if _function(full) == name]
        offsets, first = np.unique(kinds[0][:, _OFFSET], return_index=True)
        states = [_states(rows, offsets) for rows in kinds]
        columns = [offsets, kinds[0][first, _WORD], *states]
        found[name] = np.column_stack(columns).tolist()
    return found


def _function(name: str) -> str:
    return name.partition(" for ")[0]


def _states(rows: Ints, offsets: Ints) -> Ints:
    """Return the state of a function at each offset, in calls of one kind."""
    at_once = np.isin(offsets, rows[_taken_at_once(rows), _OFFSET])
    harmed = np.isin(offsets, _open(rows))
    states: Ints = np.where(harmed, 2, at_once.astype(np.int64))
    return states
