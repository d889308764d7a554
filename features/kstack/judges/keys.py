"""What is tried on the keys that CPUs draw: each test by itself."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from temper.stats.judging import Arrays, Ints

from .measures import repeated
from .words import Found, judge_words, tied_bits

_HALF = 32
_HALVES_BY_LUCK = 2
"""Of 512 keys and 3,072 words, three halves agree by luck once in 1e10 times."""
_USUAL = 90
"""The percentile of the keys' lives, where ticks were in time, for what is promised."""
LEAST_ON_TIME = 16
"""Of fewer keys one would decide."""
_SELDOM = 99
"""The percentile of the lives of all keys, for a jiffy more."""
_OF_FEW = 95
"""The same where there are fewer."""
_TOO_LONG = 1.4
"""Times the life that is promised: less than a jiffy more."""
_BY_LATE_TICKS = 0.05
"""Share of naps after which a busy host may show a CPU its tick too late."""
_NOTICE = "the notice that a machine is a copy"
_NOTHING = np.array([], dtype=np.int64)


@dataclass(frozen=True)
class _Life:
    """How long a key may serve."""

    usual_ms: float
    most_ms: float
    """Where a tick is late: a jiffy more."""


def judge_keys(
    samples: Arrays, definitions: Arrays, lifetime_ms: float, level: float
) -> list[Found]:
    """Make all tests on what the judge ``seeds`` is given."""
    of_cpu, stuck = definitions["seed_keys_of_cpu"], definitions["seed_stuck"]
    (tick_us,) = definitions.get("seed_tick_us", (0,))
    life = _Life(lifetime_ms, lifetime_ms + tick_us / 1000)
    keys, naps = _of(samples, "key"), _of(samples, "nap_key")
    again = _of(samples, "again_key")
    nap_us, nap_late = _of(samples, "nap_us"), _of(samples, "nap_late")
    slept_us, slept_late = _of(samples, "slept_us"), _of(samples, "slept_late")
    us, late = (_split(_of(samples, name), of_cpu) for name in ("us", "late"))
    watched, copies = _of(samples, "watched_key"), _of(samples, "copy_key")
    # Those of 0 are none: ticks were held back, or no key came.
    return [
        judge_words("keys", "keys", keys, level),
        judge_words("nap_keys", "keys after naps", naps[naps != 0], level),
        judge_words("watched_keys", "keys of a CPU that naps", watched, level),
        judge_words(
            "again_keys", "keys from the same memory", again[again != 0], level
        ),
        judge_words("copy_keys", "keys of copies of a machine", copies, level),
        _stuck(stuck, of_cpu),
        _outlasting(
            "nap_keys", "a nap", _of(samples, "nap_before"), naps, _BY_LATE_TICKS
        ),
        _outlasting("copy_keys", _NOTICE, _of(samples, "copy_before"), copies),
        _served("nap_keys", "keys after naps", [nap_us], [nap_late], life, _OF_FEW),
        _served(
            "slept_keys", "keys after a sleep", [slept_us], [slept_late], life, _OF_FEW
        ),
        _served("keys", "keys", us, late, life),
        _apart(keys, _of(samples, "other"), of_cpu),
        _chained(keys, of_cpu),
        _returned(_of(samples, "return_key"), _of(samples, "return_other")),
        _foretold(keys, _of(samples, "store"), of_cpu),
    ]


def _of(samples: Arrays, name: str) -> Ints:
    return samples.get(f"seed_{name}", _NOTHING)


def _split(values: Ints, of_cpu: Ints) -> list[Ints]:
    return np.split(values, np.cumsum(of_cpu)[:-1])


def _stuck(stuck: Ints, of_cpu: Ints) -> Found:
    """Look whether a CPU drew no more keys while it worked and ticks came."""
    said = [
        f"a CPU that worked drew {of_cpu[cpu]} keys, and then no more"
        for cpu in np.flatnonzero(stuck)
    ]
    return Found({"keys_of_cpu": float(of_cpu.min())}, said)


def _outlasting(
    what: str, said: str, before: Ints, after: Ints, by_luck: float = 0
) -> Found:
    """Count the keys that a CPU still has after something, or of which it has half.

    ``by_luck`` is the share of them that may.
    """
    differ = (after ^ before)[after != 0]
    same = int(np.count_nonzero(differ == 0))
    low, high = differ % (1 << _HALF), differ >> _HALF
    half = int(np.count_nonzero((low == 0) ^ (high == 0)))
    complaints = []
    if same > by_luck * len(after):
        complaints.append(f"{same} of {len(after)} keys outlast {said}")
    if half > _HALVES_BY_LUCK:
        complaints.append(f"half of {half} of {len(after)} keys outlasts {said}")
    figures = {f"{what}_outlasting": float(same), f"{what}_halved": float(half)}
    return Found(figures, complaints)


def _served(
    what: str,
    said: str,
    us: list[Ints],
    late: list[Ints],
    life: _Life,
    seldom_percent: int = _SELDOM,
) -> Found:
    """Look at how long the keys of each CPU served; -1: ticks came without a key.

    Where ticks were late, a CPU may see its own before the one that keeps the time, so
    only the others tell what is usual.
    """
    pairs = list(zip(us, late, strict=True))
    served = [each[each > 0] / 1000 for each in us]
    on_time = [each[(each > 0) & (were == 0)] / 1000 for each, were in pairs]
    many = [ms for ms in on_time if len(ms) >= LEAST_ON_TIME]
    usual = max((_percentile(ms, _USUAL) for ms in many), default=0.0)
    seldom = max(_percentile(ms, seldom_percent) for ms in served)
    endless = sum(int(np.count_nonzero(each < 0)) for each in us)
    complaints = []
    if endless:
        complaints.append(f"{endless} {said} served for more than a hundred ticks")
    if usual > _TOO_LONG * life.usual_ms:
        complaints.append(
            f"one of a CPU's {said} in ten served for {usual:.1f} ms or more"
        )
    elif seldom > _TOO_LONG * life.most_ms:
        one_in = 100 / (100 - seldom_percent)
        complaints.append(
            f"one of a CPU's {said} in {one_in:.0f} served for {seldom:.1f} ms or more"
        )
    figures = {
        f"{what}_timed": float(min(map(len, us))),
        f"{what}_on_time": float(min(map(len, on_time))),
        f"{what}_ms": usual,
        f"{what}_seldom_ms": seldom,
    }
    return Found(figures, complaints)


def _percentile(ms: NDArray[np.float64], percent: int) -> float:
    return float(np.percentile(ms, percent)) if len(ms) else 0.0


def _apart(keys: Ints, others: Ints, of_cpu: Ints) -> Found:
    """Compare the keys of each CPU with those that the other had meanwhile."""
    same = max(repeated(keys ^ others), repeated(keys - others))
    pairs = list(zip(_split(keys, of_cpu), _split(others, of_cpu), strict=True))
    shared = sum(int(np.isin(one, other).sum()) for one, other in pairs)
    tied = max(tied_bits(one, other) for one, other in pairs)
    complaints = []
    if same:
        complaints.append(
            f"{same} times the keys of two CPUs differed as they had before"
        )
    if shared:
        complaints.append(f"{shared} of {len(keys)} keys were also another CPU's")
    if tied:
        complaints.append(f"{tied} bits of a CPU's keys follow from another's")
    figures = {
        "keys_same_distance": float(same),
        "keys_shared": float(shared),
        "keys_tied": float(tied),
    }
    return Found(figures, complaints)


def _chained(keys: Ints, of_cpu: Ints) -> Found:
    """Compare each key with the one before."""
    tied = max(tied_bits(each[1:], each[:-1]) for each in _split(keys, of_cpu))
    said = f"{tied} bits of keys follow from the key before"
    return Found({"keys_chained": float(tied)}, [said] if tied else [])


def _returned(keys: Ints, others: Ints) -> Found:
    """Compare the keys of a CPU that came back with the other's, and each other."""
    alike = int(np.count_nonzero(keys == others)) + repeated(keys)
    alike += max(repeated(keys ^ others), repeated(keys - others))
    said = (
        f"{alike} of {len(keys)} times a CPU came back with another's key, or as far "
        "from it as before, or with one that it had"
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
