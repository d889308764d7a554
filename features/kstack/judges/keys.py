"""What is tried on the keys that CPUs draw: each test by itself."""

import numpy as np
from numpy.typing import NDArray

from temper.stats.judging import Arrays, Ints

from .measures import repeated
from .words import Found, bits_noticed, judge_words

_HALF = 32
_HALVES_BY_LUCK = 2
"""Of 512 keys and 3,072 words, three halves agree by luck once in 1e10 times."""
_SELDOM = 99
"""The percentile of the keys' lives that the promise must hold for, too."""
_TOO_LONG = 1.4
"""Times the life that is promised: less than a jiffy more."""
_LEAST_BITS = 10
_BY_A_STALLED_HOST = 0.1
"""Share of naps after which a guest gets no tick for a second."""
_NOTHING = np.array([], dtype=np.int64)


def judge_keys(
    samples: Arrays, of_cpu: Ints, lifetime_ms: float, level: float
) -> list[Found]:
    """Make all tests; ``of_cpu`` says how many keys each CPU drew, shape (cpus,)."""
    keys, naps = _of(samples, "key"), _of(samples, "nap_key")
    watched = _of(samples, "watched_key")
    return [
        judge_words("keys", "keys", keys, level),
        judge_words("nap_keys", "keys after naps", naps, level),
        judge_words("watched_keys", "keys of a CPU that naps", watched, level),
        _missing(_of(samples, "tick_key")),
        _enough(of_cpu, level),
        _served(_of(samples, "us"), of_cpu, lifetime_ms),
        _apart(keys, _of(samples, "other")),
        _returned(_of(samples, "return_key"), _of(samples, "return_other")),
        _foretold(keys, _of(samples, "store"), of_cpu),
        _from_memory(_of(samples, "first"), _of(samples, "again")),
    ]


def _of(samples: Arrays, name: str) -> Ints:
    return samples.get(f"seed_{name}", _NOTHING)


def _enough(of_cpu: Ints, level: float) -> Found:
    fewest = int(of_cpu.min())
    said = f"a CPU that worked drew {fewest} keys, and then no more"
    few = bits_noticed(fewest, level) < _LEAST_BITS
    return Found({"keys_of_cpu": float(fewest)}, [said] if few else [])


def _missing(ticked: Ints) -> Found:
    """Count the times that no tick drew a key after a nap: 0."""
    missing = int(np.count_nonzero(ticked == 0))
    said = f"{missing} of {len(ticked)} times no tick drew a key after a nap"
    many = missing > _BY_A_STALLED_HOST * len(ticked)
    return Found({"nap_keys_missing": float(missing)}, [said] if many else [])


def _served(us: Ints, of_cpu: Ints, lifetime_ms: float) -> Found:
    """Look at how long keys served; those of 0 saw ticks held back."""
    of_each = np.split(us, np.cumsum(of_cpu)[:-1])
    served = [each[each > 0] / 1000 for each in of_each]
    half = max(_percentile(ms, 50) for ms in served)
    seldom = max(_percentile(ms, _SELDOM) for ms in served)
    complaints = []
    if half > _TOO_LONG * lifetime_ms:
        complaints.append(f"half of a CPU's keys served for {half:.1f} ms")
    elif seldom > _TOO_LONG * lifetime_ms:
        one_in = 100 / (100 - _SELDOM)
        complaints.append(
            f"one key of a CPU in {one_in:.0f} served for {seldom:.1f} ms or more"
        )
    figures = {
        "keys_on_time": float(min(map(len, served))),
        "keys_ms": half,
        "keys_seldom_ms": seldom,
    }
    return Found(figures, complaints)


def _percentile(ms: NDArray[np.float64], percent: int) -> float:
    return float(np.percentile(ms, percent)) if len(ms) else 0.0


def _apart(keys: Ints, others: Ints) -> Found:
    """Compare the keys of two CPUs."""
    same = max(repeated(keys ^ others), repeated(keys - others))
    said = f"{same} times the keys of two CPUs differed as they had before"
    return Found({"keys_same_distance": float(same)}, [said] if same else [])


def _returned(keys: Ints, others: Ints) -> Found:
    """Compare the keys of a CPU that came back with the other's, and each other."""
    alike = int(np.count_nonzero(keys == others)) + repeated(keys)
    said = (
        f"{alike} of {len(keys)} times a CPU came back with another's key, or one that "
        "it had"
    )
    figures = {"returns": float(len(keys)), "returns_alike": float(alike)}
    return Found(figures, [said] if alike else [])


def _foretold(keys: Ints, store: Ints, of_cpu: Ints) -> Found:
    """Count keys that lay in store when an earlier one of their CPU was drawn.

    Their upper halves count: the kernel's time, for one, changes the lower ones only.
    """
    found = 0
    rows = store.reshape(len(keys), -1) >> _HALF if len(keys) else store
    for first, count in zip(np.cumsum(of_cpu) - of_cpu, of_cpu, strict=True):
        seen: set[int] = set()
        of_one = slice(first, first + count)
        for key, row in zip(keys[of_one] >> _HALF, rows[of_one], strict=True):
            found += int(key) in seen
            seen.update(map(int, row))
    said = (
        f"{found} of {len(keys)} keys, or their upper halves, lay in the kernel's "
        "memory before they were drawn"
    )
    return Found(
        {"keys_in_store": float(found)}, [said] if found > _HALVES_BY_LUCK else []
    )


def _from_memory(first: Ints, again: Ints) -> Found:
    """Compare keys drawn twice from the same memory; 0: none came."""
    came = (first != 0) & (again != 0)
    pairs, alike = np.count_nonzero(came), np.count_nonzero(came & (first == again))
    said = (
        f"{alike} of {pairs} times the next key came again when memory was as it had "
        "been"
    )
    figures = {"pairs": float(pairs), "pairs_alike": float(alike)}
    return Found(figures, [said] if alike else [])
