"""Whether states and keys can be guessed, or found in memory."""

import re

import numpy as np
import pytest
from generators import DEFINITION, Folded, Ints, explained

from temper.extension import judge_named
from temper.paths import FEATURES
from temper.record.outcome import Outcome
from temper.stats.judging import Arrays, Verdict

seeds = judge_named(FEATURES / "kstack", "seeds", ("lifetime_ms", "level"))

STATES, KEYS, STORE, NAPS, AGAIN = 2_000, 256, 12, 64, 256
SLEPT = 32
COPIED = 64


WORDS = (
    *("seed_state", "seed_key"),
    *("seed_nap_key", "seed_watched_key", "seed_again_key", "seed_copy_key"),
)


def words(count: int, bits: int = 64) -> Ints:
    """Return so many words with so many random bits, spread over all of them."""
    random = np.random.default_rng(bits)
    seed = random.integers(0, 2**bits, count, dtype=np.uint64, endpoint=False)
    spread = seed if bits == 64 else _hashed(seed)
    return spread.astype(np.int64)


def _hashed(seed: np.ndarray) -> np.ndarray:
    """SplitMix64's last steps: distinct words stay distinct."""
    mixed = (seed + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))


def samples() -> dict[str, Ints]:
    """Return what a sound kernel brings, its keys from 9 to 11 ms old."""
    return {
        "seed_state": words(STATES),
        "seed_key": words(2 * KEYS + 1)[1:],
        "seed_us": np.linspace(9_000, 11_000, 2 * KEYS).astype(np.int64),
        "seed_late": np.zeros(2 * KEYS, dtype=np.int64),
        "seed_other": np.repeat(words(2, bits=63), KEYS),
        "seed_store": words(2 * KEYS * STORE + 7)[-2 * KEYS * STORE :] ^ (5 << 40),
        "seed_state_key": words(2 * STATES)[STATES:],
        "seed_parent": words(3 * STATES)[2 * STATES :],
        "seed_again_key": words(4 * AGAIN)[-AGAIN:],
        "seed_nap_before": words(5 * NAPS)[-NAPS:],
        "seed_nap_key": words(6 * KEYS + NAPS + 1)[-NAPS:],
        "seed_nap_us": np.linspace(100, 10_000, NAPS).astype(np.int64),
        "seed_nap_late": np.zeros(NAPS, dtype=np.int64),
        "seed_slept_us": np.linspace(9_000, 11_000, SLEPT).astype(np.int64),
        "seed_slept_late": np.zeros(SLEPT, dtype=np.int64),
        "seed_watched_key": words(7 * NAPS),
        "seed_return_key": words(40)[:8],
        "seed_return_other": words(40)[-8:],
        "seed_copy_before": words(41 * COPIED)[-COPIED:],
        "seed_copy_key": words(42 * COPIED)[-COPIED:],
    }


def judge(
    found: Arrays,
    of_cpu: tuple[int, int] | None = (KEYS, KEYS),
    stuck: tuple[int, int] = (0, 0),
) -> Verdict:
    kernel = {"seed_stuck": np.array(stuck), "seed_tick_us": np.array([10_000])}
    if of_cpu is not None:
        kernel["seed_keys_of_cpu"] = np.array(of_cpu)
    return seeds(found, {**DEFINITION, **kernel}, lifetime_ms=10, level=1e-6)


def test_random_words_are_sound() -> None:
    verdict = judge(samples())
    assert verdict.outcome is Outcome.BLOCKED
    assert verdict.figures["states_bits"] > 16
    assert "2000 children start from as many states" in verdict.reasons[0]


def test_a_kernel_without_keys_is_judged_by_its_states() -> None:
    verdict = judge({"seed_state": words(STATES)}, of_cpu=None)
    assert verdict.outcome is Outcome.BLOCKED
    assert "keys" not in verdict.figures


@pytest.mark.parametrize("what", WORDS)
def test_twelve_bits_are_noticed(what: str) -> None:
    found = samples()
    found[what] = words(len(found[what]), bits=12)
    verdict = judge(found)
    assert verdict.outcome is Outcome.VULNERABLE
    assert "came before" in verdict.reasons[0]


@pytest.mark.parametrize("what", WORDS)
@pytest.mark.parametrize("bit", [0, 31, 63])
def test_a_bit_that_stays_is_noticed(what: str, bit: int) -> None:
    found = samples()
    found[what] = found[what] | np.array(1 << bit, dtype=np.uint64).astype(np.int64)
    verdict = judge(found)
    assert verdict.outcome is Outcome.VULNERABLE
    assert "is not even" in verdict.reasons[0]


@pytest.mark.parametrize("changed", [0, 1, 0xFFFFFFFF])
def test_keys_that_lay_in_memory_are_noticed(changed: int) -> None:
    """Even if their lower halves were changed."""
    found = samples()
    for key in (4, 9, KEYS + 7):
        found["seed_store"][(key - 1) * STORE + 7] = found["seed_key"][key] ^ changed
    verdict = judge(found)
    assert verdict.outcome is Outcome.VULNERABLE
    assert verdict.figures["keys_in_store"] == 3


def test_a_key_is_not_foretold_by_what_came_after_it_or_on_another_cpu() -> None:
    found = samples()
    found["seed_store"][4 * STORE + 7] = found["seed_key"][4]
    found["seed_store"][0] = found["seed_key"][KEYS + 3]
    assert judge(found).outcome is Outcome.BLOCKED


def with_few_keys(of_cpu: tuple[int, int]) -> dict[str, Ints]:
    found, few = samples(), sum(of_cpu)
    for name in ("seed_key", "seed_us", "seed_late", "seed_other"):
        found[name] = found[name][:few]
    found["seed_store"] = found["seed_store"][: few * STORE]
    return found


@pytest.mark.parametrize("cpu", [0, 1])
def test_a_cpu_that_draws_no_more_keys_is_noticed(cpu: int) -> None:
    of_cpu = (KEYS, 3) if cpu else (3, KEYS)
    verdict = judge(with_few_keys(of_cpu), of_cpu, (1 - cpu, cpu))
    assert verdict.outcome is Outcome.VULNERABLE
    assert verdict.reasons == ["a CPU that worked drew 3 keys, and then no more"]


def test_a_kernel_that_draws_no_key_is_noticed() -> None:
    verdict = judge(with_few_keys((0, 0)), (0, 0), (1, 1))
    assert verdict.outcome is Outcome.VULNERABLE


def test_few_keys_on_a_host_that_holds_ticks_back_are_unsupported() -> None:
    verdict = judge(with_few_keys((20, 40)), (20, 40))
    assert verdict.outcome is Outcome.UNSUPPORTED
    assert "keys bits are too few to judge" in verdict.reasons[0]


@pytest.mark.parametrize("cpu", [0, 1])
def test_keys_that_serve_too_long_are_noticed(cpu: int) -> None:
    found = samples()
    found["seed_us"][cpu * KEYS : (cpu + 1) * KEYS] = 14_500
    verdict = judge(found)
    assert verdict.outcome is Outcome.VULNERABLE
    assert verdict.reasons == ["one of a CPU's keys in ten served for 14.5 ms or more"]


@pytest.mark.parametrize("cpu", [0, 1])
def test_one_key_in_64_that_serves_too_long_is_noticed(cpu: int) -> None:
    found = samples()
    found["seed_us"][cpu * KEYS : (cpu + 1) * KEYS : 64] = 100_000
    verdict = judge(found)
    assert verdict.outcome is Outcome.VULNERABLE
    assert verdict.reasons[0].startswith("one of a CPU's keys in 100 served for ")


def test_keys_of_which_two_in_five_serve_a_jiffy_more_are_noticed() -> None:
    found = samples()
    found["seed_us"][:] = 10_000
    found["seed_us"][np.arange(2 * KEYS) % 5 < 2] = 20_000
    assert judge(found).outcome is Outcome.VULNERABLE


def test_a_late_tick_makes_a_key_serve_a_jiffy_more() -> None:
    found = samples()
    found["seed_us"][::16] = 20_000
    found["seed_nap_us"][::16] = 20_000
    assert judge(found).outcome is Outcome.BLOCKED


def test_one_key_that_serves_too_long_by_chance_is_not_held_against_it() -> None:
    found = samples()
    found["seed_us"][7] = 100_000
    assert judge(found).outcome is Outcome.BLOCKED


def test_keys_after_naps_that_serve_too_long_are_noticed() -> None:
    found = samples()
    found["seed_nap_us"][::15] = 40_000
    verdict = judge(found)
    assert verdict.outcome is Outcome.VULNERABLE
    assert verdict.reasons == [
        "one of a CPU's keys after naps in 20 served for 40.0 ms or more"
    ]
    found["seed_nap_us"][::15] = -1
    verdict = judge(found)
    assert verdict.reasons == ["5 keys after naps served for more than a hundred ticks"]


def test_a_key_that_serves_long_after_a_sleep_is_noticed() -> None:
    """The second that a CPU has when it wakes."""
    found = samples()
    found["seed_slept_us"][1::4] = 80_000
    verdict = judge(found)
    assert verdict.outcome is Outcome.VULNERABLE
    assert verdict.reasons == [
        "one of a CPU's keys after a sleep in ten served for 80.0 ms or more"
    ]
    found["seed_slept_late"][:] = 1
    assert judge(found).outcome is Outcome.VULNERABLE


def test_too_few_keys_after_sleeps_are_not_judged() -> None:
    found = samples()
    for name in ("seed_slept_us", "seed_slept_late"):
        found[name] = found[name][:15]
    verdict = judge(found)
    assert verdict.outcome is Outcome.UNSUPPORTED
    assert verdict.reasons == ["15 slept keys timed are too few to judge"]


def test_a_few_keys_on_time_do_not_decide() -> None:
    found = samples()
    found["seed_nap_late"][3:] = 1
    found["seed_nap_us"][0] = 20_000
    assert judge(found).outcome is Outcome.BLOCKED


def test_a_key_that_outlasts_a_nap_is_noticed() -> None:
    found = samples()
    found["seed_nap_before"][:3] = found["seed_nap_key"][:3]
    assert judge(found).outcome is Outcome.BLOCKED
    found["seed_nap_before"][:4] = found["seed_nap_key"][:4]
    verdict = judge(found)
    assert verdict.outcome is Outcome.VULNERABLE
    assert verdict.reasons == [f"4 of {NAPS} keys outlast a nap"]


@pytest.mark.parametrize("half", [0xFFFFFFFF, ~0xFFFFFFFF])
def test_a_half_of_a_key_that_outlasts_naps_is_noticed(half: int) -> None:
    found = samples()
    before, after = found["seed_nap_before"], found["seed_nap_key"]
    after[:2] = after[:2] & ~half | before[:2] & half
    assert judge(found).outcome is Outcome.BLOCKED
    after[:3] = after[:3] & ~half | before[:3] & half
    verdict = judge(found)
    assert verdict.outcome is Outcome.VULNERABLE
    assert verdict.reasons == [f"half of 3 of {NAPS} keys outlasts a nap"]


def test_naps_whose_ticks_were_held_back_do_not_count() -> None:
    found = samples()
    found["seed_nap_before"][3:6] = found["seed_nap_key"][3:6] = 0
    found["seed_again_key"][3:6] = 0
    verdict = judge(found)
    assert verdict.outcome is Outcome.BLOCKED
    assert verdict.figures["nap_keys"] == NAPS - 3
    assert verdict.figures["again_keys"] == AGAIN - 3


def test_a_key_that_was_another_cpus_is_noticed() -> None:
    found = samples()
    found["seed_other"][5] = found["seed_key"][6]
    verdict = judge(found)
    assert verdict.outcome is Outcome.VULNERABLE
    assert verdict.reasons == [f"1 of {2 * KEYS} keys were also another CPU's"]
    # A CPU that idles keeps the last key that it drew.
    found = samples()
    found["seed_other"][KEYS] = found["seed_key"][KEYS - 1]
    assert judge(found).outcome is Outcome.BLOCKED


@pytest.mark.parametrize("steps", [1, 8])
@pytest.mark.parametrize("late", [0, 1])
@pytest.mark.parametrize("whose", ["seed_state", "seed_parent"])
def test_a_child_that_goes_on_where_another_task_was_is_noticed(
    steps: int, late: int, whose: str
) -> None:
    """The key of its calls is that of its birth, or the next one."""
    found = samples()
    heir = Folded(
        key=int(found["seed_state_key"][40 + late]) % (1 << 64),
        state=int(found[whose][40]) % (1 << 64),
    )
    for _ in range(steps):
        heir.draw()
    found["seed_state"][41] = np.array(heir.state, dtype=np.uint64).astype(np.int64)
    verdict = judge(found)
    assert verdict.outcome is Outcome.VULNERABLE
    (reason,) = verdict.reasons
    assert reason.startswith(
        "1 states follow from those of tasks that ended, or of the"
    )


def test_a_cpu_that_comes_back_with_another_ones_key_is_noticed() -> None:
    found = samples()
    found["seed_return_key"][3] = found["seed_return_other"][3]
    found["seed_return_key"][5] = found["seed_return_key"][4]
    verdict = judge(found)
    assert verdict.outcome is Outcome.VULNERABLE
    assert verdict.reasons[0].startswith("2 of 8 times a CPU came back with")


def test_a_cpu_that_comes_back_with_nearly_another_ones_key_is_noticed() -> None:
    found = samples()
    found["seed_return_key"] = found["seed_return_other"] ^ 0x1234567890ABCDEF
    assert judge(found).outcome is Outcome.VULNERABLE


def test_a_key_that_outlasts_a_copy_of_the_machine_is_noticed() -> None:
    found = samples()
    found["seed_copy_key"][7] = found["seed_copy_before"][7]
    verdict = judge(found)
    assert verdict.outcome is Outcome.VULNERABLE
    (reason,) = verdict.reasons
    assert reason == "1 of 64 keys outlast the notice that a machine is a copy"


def test_half_a_key_that_outlasts_a_copy_of_the_machine_is_noticed() -> None:
    found = samples()
    upper = -1 << 32
    kept = found["seed_copy_before"] & upper
    found["seed_copy_key"] = found["seed_copy_key"] & ~upper | kept
    (reason,) = judge(found).reasons
    assert reason.startswith("half of 64 of 64 keys outlasts the notice that a mach")


def test_a_kernel_that_cannot_tell_that_it_is_a_copy_is_said_to_be_one() -> None:
    """It can be sound, but nobody has looked at what it does in a copy."""
    found = samples()
    assert judge(found).reasons[-1].endswith("; a copy of the machine draws new ones")
    for name in ("seed_copy_before", "seed_copy_key"):
        found[name] = found[name][:0]
    verdict = judge(found)
    assert verdict.outcome is Outcome.BLOCKED
    assert verdict.reasons[-1].endswith("cannot tell that its machine is a copy")


def test_keys_after_naps_that_gather_bits_are_noticed() -> None:
    """Or-ing random bits to a key sets more and more of them."""
    found = samples()
    found["seed_nap_key"] = found["seed_nap_key"] | words(NAPS, bits=63)
    verdict = judge(found)
    assert verdict.outcome is Outcome.VULNERABLE
    assert verdict.figures["nap_keys_all_p"] < 1e-100
    assert "the bits of the keys after naps are not even" in verdict.reasons[-1]


MISSING = ("watched_key", "again_key", "nap_key", "nap_us", "return_key")


@pytest.mark.parametrize("missing", MISSING)
def test_a_kernel_whose_keys_were_not_all_tried_is_unsupported(missing: str) -> None:
    found = samples()
    for name in [name for name in found if name.startswith(f"seed_{missing[:4]}")]:
        found[name] = found[name][:0]
    assert judge(found).outcome is Outcome.UNSUPPORTED


@pytest.mark.parametrize("how", [np.bitwise_xor, np.add])
def test_keys_that_differ_in_the_same_way_are_noticed(how: np.ufunc) -> None:
    found = samples()
    found["seed_other"] = how(found["seed_key"], 0x1234567890ABCDEF)
    verdict = judge(found)
    assert verdict.outcome is Outcome.VULNERABLE
    assert "the keys of two CPUs differed as they had before" in verdict.reasons[0]


def test_few_states_are_unsupported() -> None:
    assert judge({"seed_state": words(100)}).outcome is Outcome.UNSUPPORTED
    assert judge({}).outcome is Outcome.UNSUPPORTED


def test_what_a_late_tick_made_longer_is_not_held_against_a_kernel() -> None:
    """It may be seen by a CPU before the one that keeps the time: 20 ms."""
    found = samples()
    found["seed_late"][np.arange(2 * KEYS) % 8 > 0] = 1
    found["seed_us"][found["seed_late"] > 0] = 20_000
    verdict = judge(found)
    assert verdict.outcome is Outcome.BLOCKED
    assert verdict.figures["keys_on_time"] == KEYS / 8
    found["seed_us"][:] = 20_000
    assert judge(found).outcome is Outcome.VULNERABLE
    found["seed_us"][:] = 10_000
    found["seed_us"][found["seed_late"] > 0] = 40_000
    assert judge(found).outcome is Outcome.VULNERABLE


def test_too_few_keys_on_time_are_not_judged() -> None:
    found = samples()
    found["seed_late"][KEYS + 15 :] = 1
    verdict = judge(found)
    assert verdict.outcome is Outcome.UNSUPPORTED
    assert verdict.reasons == ["15 keys on time are too few to judge"]


def test_keys_that_follow_from_another_cpus_are_noticed() -> None:
    found = samples()
    keys = found["seed_other"] = words(2 * KEYS + 9)[-2 * KEYS :]
    turned = keys.astype(np.uint64)
    turned = (turned << np.uint64(7) | turned >> np.uint64(57)) ^ np.uint64(5)
    found["seed_key"] = turned.astype(np.int64)
    verdict = judge(found)
    assert verdict.outcome is Outcome.VULNERABLE
    assert verdict.reasons == ["64 bits of a CPU's keys follow from another's"]


def test_keys_that_are_a_sum_of_the_one_before_are_noticed() -> None:
    found = samples()
    value, drawn = int(found["seed_key"][0]) % (1 << 64), []
    for _ in range(2 * KEYS):
        value ^= value << 13 & (1 << 64) - 1
        value ^= value >> 7
        value ^= value << 17 & (1 << 64) - 1
        drawn.append(value)
    found["seed_key"] = np.array(drawn, dtype=np.uint64).astype(np.int64)
    verdict = judge(found)
    assert verdict.outcome is Outcome.VULNERABLE
    assert "64 bits of keys follow from the key before" in verdict.reasons


@pytest.mark.parametrize("what", ["seed_state", "seed_key", "seed_again_key"])
def test_words_whose_halves_are_the_same_are_noticed(what: str) -> None:
    found = samples()
    low = found[what] & 0xFFFFFFFF
    found[what] = low | low << 32
    verdict = judge(found)
    assert verdict.outcome is Outcome.VULNERABLE
    assert "32 bits of the" in verdict.reasons[0]


def test_every_figure_is_documented() -> None:
    named = explained("seeds")
    for figure in judge(samples()).figures:
        general = re.sub(
            "^(states|(nap_|watched_|again_|copy_)?keys)_(repeated|bit_p|all_p|tied_bits|bits)$",
            r"<what>_\3",
            figure,
        )
        assert general in named, figure
