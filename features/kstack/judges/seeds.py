"""Judge of the proof that nobody can guess what offsets start from."""

import numpy as np
from numpy.typing import NDArray

from temper.stats.judging import Arrays, Ints, Verdict, concluded, unsupported

from .measures import luck, p_text, repeated

_WORD = 64
_HALF = 32
_HALVES_BY_LUCK = 2
"""Of 512 keys and 3,072 words, three halves agree by luck once in 1e10 times."""
_ON_TIME = 16
"""The median of so many is no luck."""
_SELDOM = 99
"""The percentile of the keys' lives that the promise must hold for, too."""
_SAID = {"nap_keys": "keys after naps"}
_NOTHING = np.array([], dtype=np.int64)


def seeds(
    samples: Arrays, definitions: Arrays, *, lifetime_ms: float, level: float
) -> Verdict:
    """Judge the states that tasks start from, the CPUs' keys, and what foretells keys.

    ``samples["seed_state"]`` are the states of children. A kernel that has keys says in
    ``definitions["seed_keys_of_cpu"]`` how many each CPU drew. For each key, one CPU's
    after the other's: ``samples["seed_key"]`` is the key, ``seed_us`` how long the one
    before it served, or 0 if the host held ticks back meanwhile, ``seed_other`` the
    other CPU's key, ``seed_store`` the words that the kernel's generator had in memory
    then.
    ``seed_nap_key`` are keys after naps. ``seed_first`` are keys, and ``seed_again``
    those that came when all that the CPU keeps in memory for its keys, the last key
    included, was put back to what it was before each.

    VULNERABLE if a state or a key comes twice; if a bit of them is not as often 1 as
    0, significantly at ``level``; if the keys of the CPUs differ by the same bits
    twice; if the upper half of later keys of a CPU lay in store, or a key
    came again from the same memory; if a CPU draws too few keys to notice 10 random
    bits, or its keys serve longer than ``lifetime_ms`` in the median or the 99th
    percentile, by more than two fifths. UNSUPPORTED if there are too few states to
    notice 16 bits, no keys after naps or from the same memory, or if a CPU has too few
    keys during which ticks came.
    """
    states = samples.get("seed_state", _NOTHING)
    if _bits_noticed(len(states), level) < 16:
        return unsupported(f"{len(states)} states are too few to judge")
    figures = {"states": float(len(states)), **_of_words("states", states, level)}
    landed = _complaints("states", states, figures, level)
    sound = (
        f"{len(states)} children start from as many states, of "
        f"{figures['states_bits']:.0f} random bits at least"
    )
    if "seed_keys_of_cpu" in definitions:
        of_cpu = definitions["seed_keys_of_cpu"]
        figures |= _of_keys(samples, of_cpu, level)
        landed += _complaints_of_keys(samples, of_cpu, figures, lifetime_ms, level)
        if not landed and (why := _untried(figures)):
            return unsupported(why)
        sound += (
            f"; {figures['keys']:.0f} keys differ, have {figures['keys_bits']:.0f} "
            "random bits at least, none lay in memory before or comes again from it, "
            f"and {_SELDOM} % of them served for {figures['keys_seldom_ms']:.1f} ms or "
            "less"
        )
    return concluded(landed, [], sound, figures)


def _untried(figures: dict[str, float]) -> str:
    """Say what was not tried enough; empty: nothing."""
    if figures["keys_on_time"] < _ON_TIME:
        return (
            f"ticks came in time for {figures['keys_on_time']:.0f} keys of a CPU, too "
            "few to judge how long they serve"
        )
    if not figures["nap_keys"] or not figures["pairs"]:
        return "no keys were drawn after naps, or none again from the same memory"
    return ""


def _of_keys(samples: Arrays, of_cpu: Ints, level: float) -> dict[str, float]:
    keys = samples.get("seed_key", _NOTHING)
    of_each = np.split(samples.get("seed_us", _NOTHING), np.cumsum(of_cpu)[:-1])
    served = [us[us > 0] / 1000 for us in of_each]
    first = samples.get("seed_first", _NOTHING)
    again = samples.get("seed_again", _NOTHING)
    return {
        "keys": float(len(keys)),
        "keys_of_cpu": float(of_cpu.min()),
        "keys_on_time": float(min(map(len, served))),
        "keys_ms": max(_percentile(ms, 50) for ms in served),
        "keys_seldom_ms": max(_percentile(ms, _SELDOM) for ms in served),
        "keys_same_distance": float(
            repeated(keys ^ samples.get("seed_other", _NOTHING))
        ),
        "keys_in_store": float(
            _foretold(keys, samples.get("seed_store", _NOTHING), of_cpu)
        ),
        "pairs": float(len(first)),
        "pairs_alike": float(np.count_nonzero(first == again)),
        **_of_words("keys", keys, level),
        "nap_keys": float(len(samples.get("seed_nap_key", _NOTHING))),
        **_of_words("nap_keys", samples.get("seed_nap_key", _NOTHING), level),
    }


def _percentile(ms: NDArray[np.float64], percent: int) -> float:
    return float(np.percentile(ms, percent)) if len(ms) else 0.0


def _complaints_of_keys(
    samples: Arrays,
    of_cpu: Ints,
    figures: dict[str, float],
    lifetime_ms: float,
    level: float,
) -> list[str]:
    landed = _complaints("keys", samples.get("seed_key", _NOTHING), figures, level)
    naps = samples.get("seed_nap_key", _NOTHING)
    landed += _complaints("nap_keys", naps, figures, level)
    if _bits_noticed(int(of_cpu.min()), level) < 10:
        landed.append(f"a CPU that worked drew {of_cpu.min()} keys, and then no more")
    if figures["keys_ms"] > 1.4 * lifetime_ms:
        landed.append(f"half of a CPU's keys served for {figures['keys_ms']:.1f} ms")
    elif figures["keys_seldom_ms"] > 1.4 * lifetime_ms:
        landed.append(
            f"one key of a CPU in {100 / (100 - _SELDOM):.0f} served for "
            f"{figures['keys_seldom_ms']:.1f} ms or more"
        )
    if figures["keys_same_distance"]:
        landed.append(
            f"{figures['keys_same_distance']:.0f} times the keys of two CPUs differed "
            "as they had before"
        )
    if figures["keys_in_store"] > _HALVES_BY_LUCK:
        landed.append(
            f"{figures['keys_in_store']:.0f} of {figures['keys']:.0f} keys, or their "
            "upper halves, lay in the kernel's memory before they were drawn"
        )
    if figures["pairs_alike"]:
        landed.append(
            f"{figures['pairs_alike']:.0f} of {figures['pairs']:.0f} times the next "
            "key came again when memory was as it had been"
        )
    return landed


def _bits_noticed(words: int, level: float) -> float:
    """Return how many random bits so many words must have if none comes twice.

    Of words of b bits, n are all different with probability exp(-n^2 / 2^(b+1)).
    """
    return max(0.0, float(np.log2(max(words, 1) ** 2 / -np.log(level))) - 1)


def _bit_p(words: Ints) -> float:
    """Return the p-value of the bit that is least even, for all bits together."""
    if not len(words):
        return 1.0
    bits = (words.astype(np.uint64)[:, None] >> np.arange(_WORD, dtype=np.uint64)) & 1
    ones = bits.sum(axis=0, dtype=np.int64)
    rarer = np.minimum(ones, len(words) - ones)
    most = len(words) - int(rarer.min())
    return min(1.0, 2 * _WORD * luck(most, len(words), 0.5))


def _foretold(keys: Ints, store: Ints, of_cpu: Ints) -> int:
    """Return how many keys lay in store when an earlier one of their CPU was drawn.

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
    return found


def _of_words(what: str, words: Ints, level: float) -> dict[str, float]:
    return {
        f"{what}_repeated": float(repeated(words)),
        f"{what}_bit_p": _bit_p(words),
        f"{what}_bits": _bits_noticed(len(words), level),
    }


def _complaints(
    what: str, words: Ints, figures: dict[str, float], level: float
) -> list[str]:
    landed = []
    said = _SAID.get(what, what)
    if repeated := figures[f"{what}_repeated"]:
        landed.append(f"{repeated:.0f} of {len(words)} {said} came before")
    if figures[f"{what}_bit_p"] < level:
        landed.append(
            f"a bit of the {said} is not even: {p_text(figures[f'{what}_bit_p'])}"
        )
    return landed
