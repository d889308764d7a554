"""Judge of the proof that nobody can guess what offsets start from."""

import numpy as np

from temper.stats.judging import Arrays, Ints, Verdict, concluded, unsupported

from .measures import luck, p_text

_WORD = 64


def seeds(samples: Arrays, definitions: Arrays, *, level: float) -> Verdict:
    """Judge the states that tasks start from, the CPUs' keys, and what foretells keys.

    ``samples["seed_state"]`` are the states of children, ``seed_key`` the keys that
    CPUs drew, one CPU after the other: ``definitions["seed_keys_of_cpu"]`` says how
    many of each. ``seed_store`` are, for each key, the words that the kernel's
    generator had in memory when it was drawn. A kernel without keys has none of them.

    VULNERABLE if a state or a key comes twice, if a bit of them is not as often 1 as
    0, significantly at ``level``, or if a later key of the CPU lay in store.
    UNSUPPORTED if there are too few states to notice 16 bits of randomness.
    """
    states = samples.get("seed_state", np.array([], dtype=np.int64))
    if _bits_noticed(len(states), level) < 16:
        return unsupported(f"{len(states)} states are too few to judge")
    figures = {
        "states": float(len(states)),
        "states_repeated": float(_repeated(states)),
        "states_bit_p": _bit_p(states),
        "states_bits": _bits_noticed(len(states), level),
    }
    landed = _of_words("states of children", states, figures["states_bit_p"], level)
    sound = (
        f"{len(states)} children start from as many states, of "
        f"{figures['states_bits']:.0f} random bits at least"
    )
    if "seed_key" in samples:
        keys, store = samples["seed_key"], samples["seed_store"]
        figures |= {
            "keys": float(len(keys)),
            "keys_repeated": float(_repeated(keys)),
            "keys_bit_p": _bit_p(keys),
            "keys_bits": _bits_noticed(len(keys), level),
            "keys_in_store": float(
                _foretold(keys, store, definitions["seed_keys_of_cpu"])
            ),
        }
        landed += _of_words("keys", keys, figures["keys_bit_p"], level)
        if figures["keys_in_store"]:
            landed.append(
                f"{figures['keys_in_store']:.0f} of {len(keys)} keys lay in the "
                "kernel's memory before they were drawn"
            )
        sound += (
            f"; {len(keys)} keys differ, have {figures['keys_bits']:.0f} random bits "
            "at least, and none was in memory before"
        )
    return concluded(landed, [], sound, figures)


def _repeated(words: Ints) -> int:
    return len(words) - len(np.unique(words))


def _bits_noticed(words: int, level: float) -> float:
    """Return how many random bits so many words must have if none comes twice.

    Of words of b bits, n are all different with probability exp(-n^2 / 2^(b+1)).
    """
    return float(np.log2(max(words, 1) ** 2 / -np.log(level))) - 1


def _bit_p(words: Ints) -> float:
    """Return the p-value of the bit that is least even, for all bits together."""
    bits = (words.astype(np.uint64)[:, None] >> np.arange(_WORD, dtype=np.uint64)) & 1
    ones = bits.sum(axis=0, dtype=np.int64)
    rarer = np.minimum(ones, len(words) - ones)
    most = len(words) - int(rarer.min())
    return min(1.0, 2 * _WORD * luck(most, len(words), 0.5))


def _foretold(keys: Ints, store: Ints, of_cpu: Ints) -> int:
    """Return how many keys lay in store when an earlier one of their CPU was drawn."""
    found = 0
    rows = store.reshape(len(keys), -1)
    for first, count in zip(np.cumsum(of_cpu) - of_cpu, of_cpu, strict=True):
        seen: set[int] = set()
        for key, row in zip(
            keys[first : first + count], rows[first : first + count], strict=True
        ):
            found += int(key) in seen
            seen.update(map(int, row))
    return found


def _of_words(what: str, words: Ints, bit_p: float, level: float) -> list[str]:
    landed = []
    if repeated := _repeated(words):
        landed.append(f"{repeated} of {len(words)} {what} came before")
    if bit_p < level:
        landed.append(f"a bit of the {what} is not even: {p_text(bit_p)}")
    return landed
