"""Judges exceptions at every instruction of functions that write to page tables."""

import numpy as np

from temper.stats.judging import Arrays, Ints, Verdict, concluded, unsupported

_COLUMNS = 6
_NUMBER, _OFFSET, _MASKED, _AT_ONCE, _OPEN, _WRONG = range(_COLUMNS)
_NOT_LOOKED = 2
_WRONG_WORDS = {
    1: "the handler could write to the table",
    4: "the function went on with other rights than it had",
    8: "the caller could write to the table",
    16: "the kernel died",
}
_RUNS = " runs"
_NONE = np.array([], np.int64)


def sections(
    samples: Arrays, _definitions: Arrays, *, functions: float, least: float
) -> Verdict:
    """Judge exceptions at every instruction that a call of a function runs.

    ``samples[NAME + " runs"]`` are the offsets of these instructions.
    ``samples[NAME]`` are rows of six: the number of an instruction among them; its
    offset; 1 if an exception was masked there, or else 0; 1 if it was taken before that
    very instruction, or else 0; 1 if the CPU could write to the table where it took it,
    0 if not, -1 if it took none; and what was wrong, see README.md.

    VULNERABLE if anything was wrong. UNSUPPORTED if not exactly ``functions`` functions
    were attacked, or one not at all its instructions, or fewer than ``least`` times
    where it could write to the table; if an exception was not taken where nothing
    masked it, or nobody looked at its handler. BLOCKED otherwise.
    """
    tables = {
        name: values.reshape(-1, _COLUMNS)
        for name, values in samples.items()
        if not name.endswith(_RUNS)
    }
    landed = [told for name, rows in tables.items() if (told := _wrong(name, rows))]
    if not landed and (why := _incomplete(tables, samples, functions, least)):
        return unsupported(why)
    rows = np.concatenate([_NONE.reshape(-1, _COLUMNS), *tables.values()])
    within = int(np.count_nonzero(rows[:, _OPEN] == 1))
    return concluded(
        landed,
        [],
        f"{len(rows)} exceptions at all instructions of {len(tables)} functions found "
        f"the table closed, {within} of them in a section",
        {"exceptions": len(rows), "in a section": within},
    )


def _wrong(name: str, rows: Ints) -> str:
    """Say what was wrong with a function; empty: nothing."""
    found = [
        f"{word} at {times} of {len(rows)} instructions"
        for bit, word in _WRONG_WORDS.items()
        if (times := int(np.count_nonzero(rows[:, _WRONG] & bit)))
    ]
    return f"{name}: {'; '.join(found)}" if found else ""


def _incomplete(tables: Arrays, samples: Arrays, functions: float, least: float) -> str:
    """Return why not everything was attacked; empty: it was."""
    if len(tables) != functions:
        return f"{len(tables)} functions instead of {functions:.0f} were attacked"
    gaps = (
        (name, _gap(rows, samples.get(name + _RUNS, _NONE), least))
        for name, rows in tables.items()
    )
    return next((f"{name}: {gap}" for name, gap in gaps if gap), "")


def _gap(rows: Ints, run: Ints, least: float) -> str:
    """Return which instructions of a function were not attacked; empty: none."""
    within = int(np.count_nonzero(rows[:, _OPEN] == 1))
    ignored = int(np.count_nonzero((rows[:, _MASKED] == 0) & (rows[:, _AT_ONCE] == 0)))
    unseen = int(np.count_nonzero(rows[:, _WRONG] & _NOT_LOOKED))
    attacked = np.unique(rows[:, [_NUMBER, _OFFSET]], axis=0)[:, 1]
    gaps = {
        "not all instructions were attacked": not np.array_equal(attacked, run),
        f"{ignored} exceptions were not taken where nothing masked them": ignored,
        f"nobody looked at the handlers of {unseen} exceptions": unseen,
        f"{within} exceptions came in a section, but {least:.0f} are needed": within
        < least,
    }
    return next((gap for gap, there in gaps.items() if there), "")
