"""Judge of the proofs that memory of one kind cannot be written."""

from dataclasses import replace

import numpy as np

from temper.stats.judging import Arrays, Ints, Verdict, concluded, unsupported

_NOTHING = np.array([], dtype=np.int64)
_NO_FAULT = -1
_PRESENT, _WRITE, _KEY = 0x1, 0x2, 0x20
_BY_KEY = _PRESENT | _WRITE | _KEY


def writes(
    samples: Arrays,
    _definitions: Arrays,
    *,
    kind: float,
    least: float,
    varies: float = 0,
) -> Verdict:
    """Judge tries to write to one kind of memory.

    ``samples["tries"]`` are groups of four: the number of a kind; 1 if the write
    landed, or else 0; the error code of the page fault that ended it, or -1 if there
    was none; and how far the address of the fault is from the one written to.
    ``samples["inapplicable"]`` are kinds that the kernel offers no occasion to try.
    ``samples["warnings"]`` are how often the kernel warned before any attack made it.

    VULNERABLE if a write to ``kind`` landed, BLOCKED if a protection key stopped each
    of them where it was to land. UNSUPPORTED if one ended in any other way, if there
    were fewer than ``least``, or no occasion at least once, or if the kernel warned.
    Nor may there be fewer than on the control, unless ``varies`` is 1: where the memory
    of each boot decides, ``least`` must do.
    """
    groups = samples.get("tries", _NOTHING).reshape(-1, 4)
    tried = groups[groups[:, 0] == kind, 1:]
    tries, landed = len(tried), int(np.count_nonzero(tried[:, 0]))
    if not landed:
        if kind in samples.get("inapplicable", _NOTHING):
            return unsupported("this kernel has no such section that may write")
        if warnings := int(samples.get("warnings", _NOTHING).sum()):
            return unsupported(f"the kernel warned of itself: {warnings} times")
        if why := _not_by_key(tried[:, 1], tried[:, 2], least):
            return unsupported(why)
    found = concluded(
        [f"{landed} of {tries} writes landed"] if landed else [],
        [],
        f"the key stopped all of {tries} writes",
        {"tries": float(tries), "landed": float(landed)},
    )
    return replace(found, tries=None if varies else tries)


def _not_by_key(codes: Ints, astray: Ints, least: float) -> str:
    """Return why writes that did not land do not show that the key stops them."""
    tries = len(codes)
    if not tries:
        return "nothing of this kind was found to write to"
    unlike = [int(code) for code in np.unique(codes) if code != _BY_KEY]
    told = [f"{np.count_nonzero(codes == code)} {_end(code)}" for code in unlike]
    elsewhere = np.count_nonzero((codes == _BY_KEY) & (astray != 0))
    if elsewhere:
        told.append(f"{elsewhere} faulted at another address than the one written to")
    if told:
        return f"of {tries} writes, {'; '.join(told)}"
    if tries < least:
        return f"the key stopped {tries} writes, but {least:.0f} are needed"
    return ""


def _end(code: int) -> str:
    if code == _NO_FAULT:
        return "did not fault, and yet did not land"
    if not code & _PRESENT:
        why = "nothing is mapped there"
    elif not code & _KEY:
        why = "the page is read-only"
    else:
        why = "it was no write by the kernel to a page that is there"
    return f"faulted, but not by the key ({why}: error code {code:#x})"
