"""The proof of kstack on real kernels, sabotaged ones too: some of them, or all.

What hangs on the clock of this host is not asserted: how often stock x86 is
predicted by it.
"""

from collections.abc import Iterable

import pytest
from lab import ATTACKED, VARIANTS, Answer, params

from temper.catalog import feature_named
from temper.record.wire import Boot

pytestmark = [pytest.mark.integration, pytest.mark.timeout(14_400)]

KSTACK = feature_named("kstack")
# Variant -> how many positions `prediction` has to see, where it is to attack.
DISTINCT = {
    **dict.fromkeys(("off", "floor", "temper-off", "constant"), 1),
    **dict.fromkeys(("stock", "lfsr", "temper", "skewed"), 64),
    **dict.fromkeys(("none", "nohz-full", "naps", "no-random", "linear-bit"), 64),
    "three-bits": 8,
    "alternating": 2,
}
# Sabotage -> the proofs that are there for it.
CAUGHT_BY = {
    "constant": {"prediction"},
    "three-bits": {"prediction"},
    "alternating": {"prediction"},
    "skewed": {"prediction"},
    "seed-constant": {"storm", "early", "seeds", "twins"},
    "twelve-bits": {"seeds"},
    "few-states": {"seeds"},
    "time-state": {"twins"},
    "time-seed": {"twins"},
    "boot-seed": {"twins"},
    "cpu-state": {"leak"},
    "shared-key": {"leak"},
    "no-new-key": {"leak", "seeds"},
    "stale-cpu": {"leak", "seeds"},
    "stale-online": {"leak"},
    "stale-naps": {"leak"},
    "stale-short-naps": {"leak"},
    "stale-nohz-full": {"leak"},
    "slow-key": {"leak", "seeds"},
    "late-key": {"seeds"},
    "batch-key": {"seeds"},
    "jiffies-key": {"seeds"},
    "derived-key": {"seeds"},
    "zero-at-boot": {"early"},
    "only-ioctl": {"ways"},
    "only-root": {"ways"},
    "only-untraced": {"ways"},
    "thread-state": {"ways"},
    "vfork-state": {"ways"},
    "exec-state": {"ways"},
    "signal-state": {"ways"},
    "fork-rewinds": {"storm"},
    "chain-key": {"seeds"},
    "turned-key": {"seeds"},
    "crng-key": {"seeds"},
    "gathered-key": {"seeds"},
    "seldom-key": {"seeds"},
    "weak-task": {"ways"},
    "heir-state": {"seeds"},
    "sum-key": {"seeds"},
    "return-key": {"seeds"},
    "sleeper-key": {"seeds"},
    "restored-key": {"seeds"},
    "waking-key": {"seeds"},
    "setuid-state": {"ways"},
    "namespace-state": {"ways"},
    "thread-key": {"leak"},
    "half-key": {"seeds"},
    "linear-bit": {"prediction"},
}

# Their kernel with nothing broken; it can stop its tick.
NOT_SABOTAGED = ("none", "nohz-full", "naps", "no-random")


def each(variants: Iterable[str]) -> list[object]:
    return params(variants, ATTACKED)


@pytest.fixture
def told(variant: str, request: pytest.FixtureRequest) -> Answer:
    """A proof in which the variant is attacked."""
    which = "proved" if variant in ATTACKED else "all_proved"
    answer: Answer = request.getfixturevalue(which)
    return answer


predicted = pytest.mark.parametrize("variant", each(DISTINCT))


def outcomes(proved: Answer, variant: str) -> dict[str, str]:
    """Return proof -> outcome."""
    return {
        proof: found["outcome"]
        for proof, found in proved.report["evidence"][variant].items()
    }


def figures(proved: Answer, variant: str, proof: str) -> dict[str, float]:
    found: dict[str, float] = proved.report["evidence"][variant][proof]["figures"]
    return found


def reasons(proved: Answer, variant: str, proof: str) -> str:
    return "; ".join(proved.report["evidence"][variant][proof]["reasons"])


def all_proofs(proved: Answer) -> set[str]:
    return set(proved.report["proofs"])


def test_kstack_is_proven(proved_anywhere: Answer) -> None:
    report = proved_anywhere.report
    assert proved_anywhere.status == 0, proved_anywhere.output
    assert {"feature", "outcomes", "proven", "evidence"} <= set(report)
    assert report["feature"] == "kstack"
    assert report["proven"] is True
    assert report["as_expected"] is True
    assert report["hardened"] == ["temper"]
    assert set(report["outcomes"]) >= {"off", "temper"}


@pytest.mark.check_all
def test_all_attacks_were_made(all_proved_anywhere: Answer) -> None:
    arch = all_proved_anywhere.report["arch"]
    assert all_proofs(all_proved_anywhere) == set(KSTACK.proofs_on(arch))


@pytest.mark.check_all
def test_all_of_it_was_tried(all_proved: Answer) -> None:
    everything = {*VARIANTS, *CAUGHT_BY, *NOT_SABOTAGED}
    assert set(all_proved.report["outcomes"]) == everything == set(KSTACK.all_variants)
    assert set(all_proved.report["sabotages"]) == {*CAUGHT_BY, *NOT_SABOTAGED}


def test_a_few_were_tried(proved: Answer) -> None:
    assert set(proved.report["outcomes"]) == set(ATTACKED)
    assert all_proofs(proved) == set(KSTACK.proofs_on("x86_64"))


@pytest.mark.parametrize("variant", each(KSTACK.all_variants))
def test_a_sabotage_is_attacked_by_all_that_an_outcome_is_expected_of(
    told: Answer, variant: str
) -> None:
    aimed = {proof for proof in all_proofs(told) if KSTACK.expected(variant, proof)}
    wanted = all_proofs(told) if variant in VARIANTS else aimed
    assert set(outcomes(told, variant)) == wanted
    assert ("prediction" in wanted) is (variant in DISTINCT)


def test_every_expectation_is_met(proved_anywhere: Answer) -> None:
    for variant in proved_anywhere.report["outcomes"]:
        for proof, outcome in outcomes(proved_anywhere, variant).items():
            expected = KSTACK.expected(variant, proof)
            why = reasons(proved_anywhere, variant, proof)
            assert expected in (None, outcome), f"{variant} by {proof}: {why}"


@pytest.mark.parametrize(
    ("variant", "expected"), [("off", "VULNERABLE"), ("temper", "BLOCKED")]
)
def test_all_proofs_agree(proved_anywhere: Answer, variant: str, expected: str) -> None:
    wanted = dict.fromkeys(all_proofs(proved_anywhere), expected)
    assert outcomes(proved_anywhere, variant) == wanted


@pytest.mark.check_all
def test_all_proofs_land_where_our_series_is_off(all_proved_anywhere: Answer) -> None:
    wanted = dict.fromkeys(all_proofs(all_proved_anywhere), "VULNERABLE")
    assert outcomes(all_proved_anywhere, "temper-off") == wanted


@pytest.mark.check_all
def test_an_lfsr_is_solved_from_a_few_leaks(all_proved_anywhere: Answer) -> None:
    assert outcomes(all_proved_anywhere, "lfsr")["across-tasks"] == "VULNERABLE"
    found = figures(all_proved_anywhere, "lfsr", "across-tasks")
    assert 1 < found["leaks_needed"] <= 30
    assert found["hit_rate"] > 0.9


@pytest.mark.check_all
@pytest.mark.parametrize(
    "scene",
    [
        *("spinning", "napping", "thread", "slept"),
        *("second_cpu", "second_cpu_napping", "online", "hotplug", "suspended"),
    ],
)
def test_every_scene_lands_where_keys_stay(all_proved: Answer, scene: str) -> None:
    """So system calls are counted as they are made."""
    assert figures(all_proved, "no-new-key", "leak")[f"{scene}_after_rate"] > 0.9


@pytest.mark.check_all
@pytest.mark.parametrize(
    ("scene", "sabotage"),
    [
        ("other_cpu", "shared-key"),
        ("other_cpu_napping", "shared-key"),
        ("other_task", "cpu-state"),
    ],
)
def test_every_scene_lands_where_others_share(
    all_proved: Answer, scene: str, sabotage: str
) -> None:
    found = figures(all_proved, sabotage, "leak")
    assert found[f"{scene}_rate"] > 1.5 * found["chance_rate"]
    assert found[f"{scene}_p"] < 1e-6


@pytest.mark.check_all
@pytest.mark.parametrize("scene", ["napping", "second_cpu_napping"])
def test_short_naps_outlast_a_key_where_nobody_looks_at_its_age(
    all_proved: Answer, scene: str
) -> None:
    """Without an idle driver the tick looks after it, and this would show nothing."""
    assert figures(all_proved, "stale-short-naps", "leak")[f"{scene}_after_rate"] > 0.2
    assert figures(all_proved, "stale-naps", "leak")[f"{scene}_after_rate"] < 0.1


@pytest.mark.parametrize("variant", each(NOT_SABOTAGED))
def test_keys_were_tried_after_a_suspend(told: Answer, variant: str) -> None:
    assert figures(told, variant, "leak")["suspended_after_calls"] >= 10_000


@pytest.mark.parametrize("variant", each(["temper", *NOT_SABOTAGED]))
@pytest.mark.parametrize(
    "proof", ["prediction", "across-tasks", "clock", "storm", "leak", "twins", "ways"]
)
def test_a_small_effect_would_have_been_noticed(
    told: Answer, variant: str, proof: str
) -> None:
    assert 1 < figures(told, variant, proof)["noticeable"] < 1.5


@pytest.mark.check_all
@pytest.mark.parametrize("proof", ["early", "leak"])
def test_an_lfsr_has_no_seed_at_first_and_never_a_new_one(
    all_proved_anywhere: Answer, proof: str
) -> None:
    assert outcomes(all_proved_anywhere, "lfsr")[proof] == "VULNERABLE"


@pytest.mark.check_all
def test_a_child_of_stock_arm64_begins_without_an_offset(
    all_proved_arm64: Answer,
) -> None:
    assert outcomes(all_proved_arm64, "stock")["storm"] == "VULNERABLE"
    assert figures(all_proved_arm64, "stock", "storm")["fork_sibling_first_rate"] == 1
    said = reasons(all_proved_arm64, "stock", "storm")
    assert "a child's first position is the last child's" in said


@pytest.mark.check_all
def test_the_counter_alone_decides_stocks_offsets(all_proved: Answer) -> None:
    assert outcomes(all_proved, "stock")["twins"] == "VULNERABLE"
    assert figures(all_proved, "stock", "twins")["best_period"] in (32, 64)


@pytest.mark.parametrize("variant", each(["temper", *NOT_SABOTAGED]))
def test_twins_compared_states_and_keys(told: Answer, variant: str) -> None:
    found = figures(told, variant, "twins")
    assert (found["states"], found["keys"]) == (2000, 64)


@pytest.mark.check_all
def test_twins_have_all_in_common_that_is_no_secret(all_proved: Answer) -> None:
    """Or what they do not have in common would show nothing."""
    found = figures(all_proved, "time-seed", "twins")
    assert found["best_rate"] == 1
    assert found["keys_common"] == found["keys"]
    # A task that the kernel makes in one of the boots takes up to a quarter of them. By
    # chance, no two of 64 bits are the same.
    assert found["states_common"] > 0.5 * found["states"]


# Sabotage -> the way that tells it, and no other: what the rest draw is sound.
TOLD_BY = {
    "only-root": {"user", "became"},
    "only-untraced": {"traced"},
    "thread-state": {"thread"},
    "vfork-state": {"vforked"},
    "exec-state": {"execd"},
    "signal-state": {"signalled", "traced"},
    "setuid-state": {"became"},
    "namespace-state": {"namespaced"},
}


@pytest.mark.parametrize("variant", each(TOLD_BY))
def test_each_way_is_tried_by_itself(told: Answer, variant: str) -> None:
    """Positions that come twice are uneven, too, if by too little to use."""
    said = told.report["evidence"][variant]["ways"]["reasons"]
    ways = {
        reason.removeprefix("a bias too small to use: ").partition(":")[0]
        for reason in said
    }
    assert ways and ways <= TOLD_BY[variant], said


@pytest.mark.check_all
def test_one_task_in_many_is_tried(all_proved: Answer) -> None:
    assert figures(all_proved, "weak-task", "ways")["forked_uneven"] >= 1
    assert figures(all_proved, "none", "ways")["forked_groups"] == 16


@pytest.mark.check_all
def test_all_system_calls_are_tried(all_proved: Answer) -> None:
    said = reasons(all_proved, "only-ioctl", "ways")
    assert all(f"{call}: " in said for call in ("read", "write", "lseek"))


@pytest.mark.parametrize("variant", each(CAUGHT_BY))
def test_a_sabotage_is_caught_by_the_proof_for_it(told: Answer, variant: str) -> None:
    found = outcomes(told, variant)
    for proof in CAUGHT_BY[variant]:
        assert found[proof] == "VULNERABLE", reasons(told, variant, proof)


@pytest.mark.check_all
def test_sabotages_are_caught_on_arm64(all_proved_arm64: Answer) -> None:
    assert set(all_proved_arm64.report["sabotages"]) >= {*CAUGHT_BY, "none"}


@pytest.mark.parametrize("variant", each(NOT_SABOTAGED))
def test_the_sabotage_kernel_holds_without_a_sabotage(
    told: Answer, variant: str
) -> None:
    weak = {"seeds"} if variant == "no-random" else set()
    assert outcomes(told, variant) == {
        proof: "VULNERABLE" if proof in weak else "BLOCKED"
        for proof in all_proofs(told)
    }


@pytest.mark.parametrize("variant", each(["temper", "none", "naps"]))
def test_the_life_of_keys_after_naps_is_told(told: Answer, variant: str) -> None:
    """By all of them: how many are on time is the host's doing."""
    assert figures(told, variant, "seeds")["nap_keys_seldom_ms"] > 0


@pytest.mark.check_all
def test_without_random_numbers_of_the_cpu_memory_tells_keys_but_for_the_counter(
    all_proved: Answer,
) -> None:
    found = figures(all_proved, "no-random", "seeds")
    assert found["again_keys_bit_p"] < 1e-6
    assert found["again_keys_repeated"] == found["keys_in_store"] == 0


@predicted
def test_the_attack_saw_what_the_kernel_did(told: Answer, variant: str) -> None:
    found = figures(told, variant, "prediction")
    assert found["calls"] == KSTACK.proofs["prediction"].samples
    assert found["distinct_positions"] == DISTINCT[variant]


@predicted
def test_the_claim_is_the_kernels_own(told: Answer, variant: str) -> None:
    """Ten bits are drawn, gcc aligns the stack to 16 bytes: six have an effect."""
    found = figures(told, variant, "prediction")
    assert (found["claimed_positions"], found["claimed_bits"]) == (64, 6)
    assert found["chance_rate"] == 1 / 64


@pytest.mark.check_all
@pytest.mark.parametrize("variant", ["stock", "lfsr", "temper"])
def test_no_variant_has_fewer_bits_on_arm64(
    all_proved_arm64: Answer, variant: str
) -> None:
    found = figures(all_proved_arm64, variant, "prediction")
    assert found["distinct_positions"] == found["claimed_positions"] == 64


@pytest.mark.check_all
def test_stock_arm64_does_not_hang_on_the_clock(all_proved_arm64: Answer) -> None:
    assert outcomes(all_proved_arm64, "stock")["prediction"] == "BLOCKED"


def test_off_is_always_at_the_same_place(proved_anywhere: Answer) -> None:
    assert figures(proved_anywhere, "off", "prediction")["same_as_last_rate"] == 1


def test_it_was_in_force_as_it_had_to_be(proved_anywhere: Answer) -> None:
    for variant, summary in proved_anywhere.report["in_force"].items():
        assert summary["checks"] == summary["agreed"] >= 2, variant
        assert summary["found"] is (DISTINCT.get(variant, 64) > 1), variant


def test_the_clock_is_stated_and_has_entropy(proved_anywhere: Answer) -> None:
    for boot in proved_anywhere.run.boots:
        if boot.facts.repeat:
            assert boot.facts.machine.exact
            assert boot.facts.machine.cpus == 1
            continue
        assert "no icount" in boot.facts.machine.clock
        assert "-icount" not in boot.facts.machine.details["command"]
        assert Boot.model_validate(boot.records[0]).cpus == boot.facts.machine.cpus == 2
