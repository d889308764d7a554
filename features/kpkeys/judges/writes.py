"""Judge of the proofs that memory of one kind cannot be written."""

import numpy as np

from temper.stats.judging import Arrays, Verdict, concluded, unsupported

_NOTHING = np.array([], dtype=np.int64)


def writes(
    samples: Arrays, _definitions: Arrays, *, kind: float, least: float
) -> Verdict:
    """Judge tries to write to one kind of memory.

    ``samples["writes"]`` are pairs: the number of a kind, and 1 if the write landed
    or 0 if it faulted. ``samples["inapplicable"]`` are kinds that the kernel offers no
    occasion to try.

    VULNERABLE if a write to ``kind`` landed, BLOCKED if all of them faulted,
    UNSUPPORTED if there were fewer than ``least``, or no occasion at least once.
    """
    pairs = samples.get("writes", _NOTHING).reshape(-1, 2)
    tried = pairs[pairs[:, 0] == kind, 1]
    tries, landed = len(tried), int(np.count_nonzero(tried))
    figures = {"tries": float(tries), "landed": float(landed)}
    if landed:
        return concluded([f"{landed} of {tries} writes landed"], [], "", figures)
    if kind in samples.get("inapplicable", _NOTHING):
        return unsupported("this kernel has no such section that may write")
    if not tries:
        return unsupported("nothing of this kind was found to write to")
    if tries < least:
        return unsupported(f"all of {tries} writes faulted, but {least:.0f} are needed")
    return concluded([], [], f"all of {tries} writes faulted", figures)
