"""Attacks the candidates and prints the results: ``python features/kstack/analysis``.

Every run prints the same figures, since the seed is fixed.
"""

import numpy as np
from candidates import Counter, Folded, Lfsr, leak, random_words
from correlation import chi_square, largest
from lag_attack import hit_rate
from lfsr_attack import leaks_needed, one_run
from scaled import (
    Orbits,
    calls_until_stuck,
    fixed_by_every_key,
    leaks_for_one,
    preimages,
    share_that_repeats,
)

_HALF = 2**32 - 1
_WEAK = (0x1010101, 0x11111111, 0x55555555, _HALF, 2**32 + 1, 0x1000100010001)


def main() -> None:
    """Run all attacks, quick ones first."""
    random = np.random.default_rng(1)
    linear(random)
    lags(random)
    statistics(random)
    exhaustive(random)
    cycles(random)
    traps(random)
    weak_keys(random)


def linear(random: np.random.Generator) -> None:
    """Attack the LFSR by linear algebra."""
    needed = [leaks_needed(one_run(random, 60)) for _ in range(20)]
    print(f"LFSR: {min(needed)} to {max(needed)} leaks predict every later offset")


def lags(random: np.random.Generator) -> None:
    """Attack counter mode and the fold by lags."""
    print("\nAttack by lags: share of next offsets predicted (chance 1.56 %)")
    print("leaks      counter   best key    fold   best key")
    keys, longest = 40, 65536
    generators = [
        kind(random_words(random, keys), random_words(random, keys))
        for kind in (Counter, Folded)
    ]
    seen = [leak(generator.draw, longest + 4096) for generator in generators]
    for leaks in (2304, 4096, 8192, 16384, 65536):
        columns = [
            [hit_rate(one[: leaks + 4096], leaks) for one in offsets]
            for offsets in seen
        ]
        told = "".join(
            f"{100 * np.mean(rates):10.2f} %{100 * max(rates):7.2f} %"
            for rates in columns
        )
        print(f"{leaks:<7}{told}")


def statistics(random: np.random.Generator) -> None:
    """Measure correlations of successive offsets, in standard deviations."""
    print(
        "\nSuccessive offsets, in standard deviations of a random source: largest of\n"
        "2^18 - 1 correlations in triples (about 5 is random); chi-square of pairs"
    )
    for title, instances, calls in (
        ("one key", 1, 1 << 20),
        ("4,096 keys", 4096, 1 << 10),
        ("65,536 keys", 65536, 1 << 6),
    ):
        words = random_words(random, (2, instances))
        for generator in (Folded(*words), Counter(*words)):
            seen = leak(generator.draw, calls)
            pairs = [chi_square(seen, lag) for lag in (1, 2)]
            print(
                f"{type(generator).__name__:8} {title:12} {largest(seen):8.2f}"
                f"   pairs {pairs[0]:+.1f}, two apart {pairs[1]:+.1f}"
            )
    shift = Lfsr(random_words(random, (4, 4096), 32))
    print(f"{'Lfsr':8} {'4,096 seeds':12} {largest(leak(shift.draw, 1 << 10)):8.2f}")


def exhaustive(random: np.random.Generator) -> None:
    """Measure how many leaks determine state and key."""
    print("\nFold, trying all states and keys: leaks that leave one (2 width / bits)")
    for width, bits in ((8, 1), (8, 2), (10, 1), (10, 2), (12, 2)):
        needed = [leaks_for_one(width, bits, random) for _ in range(5)]
        print(
            f"width {width:2}, {bits} bits: {min(needed)} to {max(needed)}"
            f" ({2 * width / bits:.0f})"
        )
    counts = np.array([preimages(16, int(key)) for key in random_words(random, 50, 16)])
    met = np.sum(counts.astype(float) ** 2, axis=1) / 2**16
    print(
        f"Preimages of a reached state, width 16: mean over keys {met.mean():.2f},"
        f" median key {np.median(met):.2f}"
    )


def cycles(random: np.random.Generator) -> None:
    """Measure how many steps of one key it takes until a state repeats."""
    print("\nFold, one key: steps until a state repeats (median), in 2^(width / 2)")
    for width in (16, 20, 24, 28):
        state, key = random_words(random, (2, 300), width)
        orbits = Orbits(state, key, width)
        orbits.run(1 << width // 2 + 5)
        print(f"width {width}: {np.median(orbits.steps) / 2 ** (width / 2):.2f}")


def traps(random: np.random.Generator) -> None:
    """Find states that no key leads out of, with and without the key xored."""
    print("\nFold, a new key every 100 calls: calls until a state never moves again")
    for xor_key in (False, True):
        name = "with the key xored" if xor_key else "without"
        fixed = fixed_by_every_key(8, xor_key)
        print(f"{name}: states of 2^8 that no key changes: {fixed}")
        for width in (16, 20, 24):
            calls, stuck = calls_until_stuck(width, 100, 1000, 100_000, xor_key, random)
            by = f"stuck by 100,000 (mean {calls:.0f})"
            print(f"  width {width}: {100 * stuck:.1f} % {by}")


def weak_keys(random: np.random.Generator) -> None:
    """Measure how many 64-bit keys make a state repeat soon."""
    print("\nFold, 64 bits: share of multiples of a number that, as keys, make a state")
    print("repeat within 30,000 calls, without and with the key xored; in brackets, as")
    print("a share of all keys")
    for divisor in _WEAK:
        shares = [
            share_that_repeats(divisor, 400, 30_000, xor_key, random)
            for xor_key in (False, True)
        ]
        print(
            f"{divisor:#14x} "
            + "".join(f"{share:8.3f} ({share / divisor:.1e})" for share in shares)
        )


if __name__ == "__main__":
    main()
