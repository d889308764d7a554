"""Judge of the proofs that memory of one kind cannot be written."""

import numpy as np

from temper.stats.judging import Arrays, Verdict, concluded, unsupported

_NOTHING = np.array([], dtype=np.int64)


def writes(samples: Arrays, _definitions: Arrays, *, kind: float) -> Verdict:
    """Judge tries to write to one kind of memory.

    ``samples["writes"]`` are pairs: the number of a kind, and 1 if the write landed
    or 0 if it faulted.

    VULNERABLE if a write to ``kind`` landed, BLOCKED if all of them faulted,
    UNSUPPORTED if there was none: such memory was not found there.
    """
    pairs = samples.get("writes", _NOTHING).reshape(-1, 2)
    tried = pairs[pairs[:, 0] == kind, 1]
    tries, landed = len(tried), int(np.count_nonzero(tried))
    if not tries:
        return unsupported("nothing of this kind was found to write to")
    figures = {"tries": float(tries), "landed": float(landed)}
    through = [f"{landed} of {tries} writes landed"] if landed else []
    return concluded(through, [], f"all of {tries} writes faulted", figures)
