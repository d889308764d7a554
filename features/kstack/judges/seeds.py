"""Judge of the proof that nobody can guess what offsets start from."""

from collections.abc import Iterator

import numpy as np

from temper.stats.judging import Arrays, Verdict, concluded, unsupported

from .keys import LEAST_ON_TIME, judge_keys
from .words import WORD, Found, bits_noticed, judge_words

_LEAST_BITS = 16
# Figure -> how much it takes.
_LEAST = {
    "keys_on_time": LEAST_ON_TIME,
    "keys_bits": 10,
    "again_keys_bits": 6,
    "nap_keys": 16,
    "watched_keys": 16,
    "slept_keys_timed": LEAST_ON_TIME,
    "returns": 1,
}
_STEPS = 8
"""A task that ends has made one call, or a few."""
_NOTHING = np.array([], dtype=np.int64)


def seeds(
    samples: Arrays, definitions: Arrays, *, lifetime_ms: float, level: float
) -> Verdict:
    """Judge the states that tasks start from, the CPUs' keys, and what foretells keys.

    ``samples["seed_state"]`` are the states of children. A kernel that has keys says in
    ``definitions["seed_keys_of_cpu"]`` how many each CPU drew, and in ``seed_stuck``
    which drew no more. ``seed_state_key`` and ``seed_parent`` are the key of the CPU
    and the parent's state when each child began. For each key, one CPU's after the
    other's: ``seed_key`` is the key, ``seed_us`` how long the one before it served,
    ``seed_late`` whether the host held ticks back meanwhile, ``seed_other`` the other
    CPU's key, ``seed_store`` the words that the kernel's generator had in memory then.
    ``seed_again_key`` are keys of a CPU that came when all that CPUs keep in memory for
    keys, the last key included, was put back to the same; 0: none came. For each nap of
    a CPU: ``seed_nap_before`` and ``seed_nap_key`` are the keys before and after, 0 if
    ticks were held back, ``seed_nap_us`` and ``seed_nap_late`` how long the latter
    served, -1 if no other came; ``seed_watched_key`` are all keys that it had
    meanwhile, read by another CPU. ``seed_slept_us`` and ``seed_slept_late`` are the
    same of the keys that followed when a CPU had slept for a second.
    ``seed_return_key`` are keys of a CPU that came back, ``seed_return_other`` the
    other's then. ``seed_copy_before`` and ``seed_copy_key`` are the keys of both CPUs
    right before and after the kernel was told that its machine is a copy; none if it
    cannot be told.

    VULNERABLE if a state or a key comes twice, or a state is one to which an earlier
    child's or the parent's leads in a few calls; if a bit of them, or all together, are
    not as often 1 as 0, significantly at ``level``; if the keys of the CPUs differ by
    the same bits or the same number twice, or one has another's; if the upper half of
    later keys of a CPU lay in store, or a key comes again from the same memory; if bits
    of a word, or of a key and the other CPU's or the one before, are tied over GF(2);
    if a key outlasts one nap in twenty, or half of a key three naps; if one outlasts a
    notice that the machine is a copy; if ticks come without a key, or keys serve longer
    by more than two fifths than ``lifetime_ms`` in the 90th percentile, or than that
    and a tick, ``seed_tick_us``, in the 99th.

    UNSUPPORTED if there are too few states to notice 16 bits, too few keys to notice
    10, or 6 from the same memory, no naps or returns, or if a CPU has too few keys
    during which ticks came; not so for keys after naps, since with ``nohz_full`` ticks
    are seen to come late while two CPUs work.
    """
    states = samples.get("seed_state", _NOTHING)
    if bits_noticed(len(states), level) < _LEAST_BITS:
        return unsupported(f"{len(states)} states are too few to judge")
    found = [judge_words("states", "states", states, level)]
    if "seed_keys_of_cpu" in definitions:
        keys = judge_keys(samples, definitions, lifetime_ms, level)
        found += [_heirs(samples), *keys]
    figures = {name: value for each in found for name, value in each.figures.items()}
    landed = [complaint for each in found for complaint in each.complaints]
    if not landed and (why := _untried(figures)):
        return unsupported(why)
    return concluded(landed, [], _sound(figures), figures)


def _untried(figures: dict[str, float]) -> str:
    """Say what was not tried enough; empty: nothing, or there are no keys."""
    if "keys" not in figures:
        return ""
    for what, least in _LEAST.items():
        if figures[what] < least:
            return f"{figures[what]:.0f} {what.replace('_', ' ')} are too few to judge"
    return ""


def _sound(figures: dict[str, float]) -> str:
    said = (
        f"{figures['states']:.0f} children start from as many states, of "
        f"{figures['states_bits']:.0f} random bits at least"
    )
    if "keys" in figures:
        said += (
            f"; {figures['keys']:.0f} keys differ, have {figures['keys_bits']:.0f} "
            "random bits at least, none lay in memory before or comes again from it, "
            f"and hardly any served for more than {figures['keys_seldom_ms']:.1f} ms; "
        )
        said += (
            "a copy of the machine draws new ones"
            if figures["copy_keys"]
            else "this kernel cannot tell that its machine is a copy"
        )
    return said


def _heirs(samples: Arrays) -> Found:
    """Count the states from which calls under the key of their time lead to a child's.

    Those of children that ended, and of the parent.
    """
    states, keys, parents = (
        samples.get(f"seed_{name}", _NOTHING).astype(np.uint64).tolist()
        for name in ("state", "state_key", "parent")
    )
    known = set(states)
    # A key may be drawn before a child ends, or the next one begins.
    heirs = sum(
        not known.isdisjoint(_steps(state, under))
        for child, parent, *both in zip(states, parents, keys, keys[1:], strict=False)
        for state in (child, parent)
        for under in both
    )
    said = f"{heirs} states follow from those of tasks that ended, or of the parent"
    return Found({"states_following": float(heirs)}, [said] if heirs else [])


def _steps(state: int, key: int) -> Iterator[int]:
    """Yield the states to which calls under ``key`` lead: patch 3 of the series."""
    for _ in range(_STEPS):
        product = state * key
        state = (product ^ product >> WORD ^ key) % (1 << WORD)
        yield state
