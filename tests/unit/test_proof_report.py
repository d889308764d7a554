"""From what came back of the attacks to the verdict on a feature."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from samples import STARTED, facts

from made_up import WORK
from temper.analysis.models import ProofReport
from temper.analysis.proof import proof_report
from temper.arch import arch_named
from temper.catalog import Definition, Feature, Proof, Variant
from temper.errors import StoreError
from temper.kernel import Cache
from temper.paths import REPOSITORY
from temper.record.boot import StoredBoot, StoredRun
from temper.record.outcome import Outcome
from temper.record.plan import KernelPlan, Work
from temper.report.attacks import clock_lines
from temper.report.proof_document import proof_document
from temper.run.planner import Planner
from temper.stats.judging import Arrays, Verdict

CALLS = 20_000
DEFINITION = (np.arange(1024) & ~15).tolist()
CLOCK = "the host's time-stamp counter (no icount)"

RANDOM = (np.random.default_rng(1).integers(0, 64, CALLS) * 16).tolist()
CONSTANT = [0] * CALLS


def variant(expect: Outcome, in_force: bool) -> Variant:
    return Variant(title=expect.lower(), cmdline="", in_force=in_force, expect=expect)


def proof(title: str) -> Proof:
    return Proof(
        title=title,
        program="attack",
        samples=CALLS,
        judge="prediction",
        params={"least_bits": 5, "level": 1e-6, "margin": 1.25},
    )


FEATURE = Feature.model_validate(
    {
        "name": "kstack",
        "title": "Kernel stack offset randomisation",
        "summary": "",
        "architectures": ["x86_64"],
        "series": "6.12",
        "config": [],
        "baseline": "off",
        "control": "off",
        "hardened": ["stock"],
        "workloads": ["syscall/getpid"],
        "in_force": {"program": "in_force"},
        "proofs": {"prediction": proof("predict")},
        "variants": {
            "off": variant(Outcome.VULNERABLE, in_force=False),
            "stock": variant(Outcome.BLOCKED, in_force=True),
        },
        "sabotages": {
            "none": variant(Outcome.BLOCKED, in_force=True),
            "constant": variant(Outcome.VULNERABLE, in_force=False),
        },
        "folder": REPOSITORY / "features" / "kstack",
    }
)


def check(on: bool) -> dict[str, Any]:
    evidence = {"distinct_positions": 64 if on else 1}
    return {"type": "in_force", "feature": "kstack", "on": on, "evidence": evidence}


def records(positions: list[int], on: bool, status: int = 0) -> list[dict[str, Any]]:
    half = len(positions) // 2
    sent: list[dict[str, Any]] = [
        check(on),
        {"type": "start", "program": "attack 20000"},
        {"type": "definition", "name": "displacement", "values": DEFINITION},
        {"type": "samples", "name": "stack_position", "values": positions[:half]},
        {"type": "samples", "name": "stack_position", "values": positions[half:]},
        {"type": "exit", "program": "attack 20000", "status": status},
        check(on),
        {"type": "end"},
    ]
    return [{"n": n, **record} for n, record in enumerate(sent)]


def boot(
    name: str, sent: list[dict[str, Any]], status: str = "ok", error: str = ""
) -> tuple[str, StoredBoot]:
    found = facts(
        name, 0, machine={"exact": False, "clock": CLOCK}, status=status, error=error
    )
    return name, StoredBoot(facts=found, records=sent)


GOOD = dict(
    [
        boot("off", records(CONSTANT, on=False)),
        boot("stock", records(RANDOM, on=True)),
    ]
)
"""What has to be found of the two variants of FEATURE."""


class PaperPlanner(Planner):
    """Plans runs whose kernels and programs nobody will build."""

    def kernel(self, feature: Feature, variant: Variant) -> KernelPlan:
        return KernelPlan(key="3f9c")

    def _work(self, job: tuple[str, ...], *_: object, **__: object) -> Work:
        return WORK.model_copy(update={"job": job})


def stored(
    boots: Mapping[str, StoredBoot] = GOOD,
    feature: Feature = FEATURE,
    part: tuple[str, ...] = (),
    proofs: tuple[str, ...] = (),
    *,
    sabotage: bool = False,
) -> StoredRun:
    """Return a run with ``boots`` of ``part`` of the variants, or of all."""
    planner = PaperPlanner(arch_named("x86_64"), Cache())
    whole = tuple(dict.fromkeys((*boots, *feature.variants)))
    plan = planner.prove(feature, part or whole, proofs, sabotage=sabotage)
    return StoredRun(id=3, plan=plan, started=STARTED, boots=list(boots.values()))


def report(
    boots: Mapping[str, StoredBoot] = GOOD,
    feature: Feature = FEATURE,
    part: tuple[str, ...] = (),
    proofs: tuple[str, ...] = (),
) -> ProofReport:
    return proof_report(stored(boots, feature, part, proofs))


def test_proven_when_the_control_falls_and_the_hardened_holds() -> None:
    found = report()
    assert found.outcomes == {"off": Outcome.VULNERABLE, "stock": Outcome.BLOCKED}
    assert found.proven
    assert found.as_expected


NOT_PROVEN: dict[str, Callable[[], tuple[str, StoredBoot]]] = {
    "the control holds": lambda: boot("off", records(RANDOM, on=False)),
    "the hardened falls": lambda: boot("stock", records(CONSTANT, on=True)),
    "the control is not off": lambda: boot("off", records(CONSTANT, on=True)),
    "the hardened is not on": lambda: boot("stock", records(RANDOM, on=False)),
    "the hardened cannot be attacked": lambda: boot(
        "stock", records(RANDOM, on=True, status=77)
    ),
    "the control cannot be attacked": lambda: boot(
        "off", records(CONSTANT, on=False, status=77)
    ),
    "the hardened does not boot": lambda: boot(
        "stock", [], status="boot_error", error="it hung"
    ),
    "too little came back": lambda: boot("stock", records(RANDOM[:100], on=True)),
}


@pytest.mark.parametrize("why", NOT_PROVEN)
def test_nothing_less_is_proven(why: str) -> None:
    name, spoilt = NOT_PROVEN[why]()
    assert not report({**GOOD, name: spoilt}).proven


def test_a_proof_that_cannot_judge_outweighs_one_that_holds() -> None:
    """What was not attacked by everything is not called BLOCKED."""
    more = FEATURE.proofs["prediction"].model_copy(update={"program": "other"})
    feature = FEATURE.model_copy(
        update={"proofs": {**FEATURE.proofs, "other": more}},
    )
    found = report(feature=feature)
    held = found.evidence["stock"]
    assert held["prediction"].outcome is Outcome.BLOCKED
    assert held["other"].outcome is Outcome.UNSUPPORTED
    assert found.outcomes["stock"] is Outcome.UNSUPPORTED


def test_what_an_attack_defines_itself_is_what_it_is_judged_by() -> None:
    """Any program may define; for an attack its own definitions come first."""
    of_another = {"n": 0, "type": "definition", "name": "displacement", "values": [0]}
    sent = [of_another, *records(RANDOM, on=True), of_another]
    found = report({**GOOD, **dict([boot("stock", sent)])})
    assert found.evidence["stock"]["prediction"].outcome is Outcome.BLOCKED
    assert found.evidence["stock"] == report().evidence["stock"]


def twin(name: str, number: int, positions: list[int], on: bool) -> StoredBoot:
    """Return a twin's boot of a variant."""
    found = facts(name, number, machine={"exact": True})
    sent = [
        {**each, "name": "twin_position"} if each["type"] == "samples" else each
        for each in records(positions, on)
    ]
    start = next(n for n, each in enumerate(sent) if each["type"] == "start")
    alike = [
        {"type": "samples", "name": f"twin_{what}", "values": [7]}
        for what in ("known", "counter")
    ]
    sent[start + 1 : start + 1] = alike
    numbered = [{**each, "n": n} for n, each in enumerate(sent)]
    return StoredBoot(facts=found, records=numbered)


WITH_TWINS = FEATURE.model_copy(
    update={
        "proofs": {
            **FEATURE.proofs,
            "twins": Proof(
                title="compare",
                program="attack",
                samples=CALLS,
                judge="twins",
                params={"level": 1e-6, "margin": 1.25},
                twins=True,
            ),
        },
    }
)
OTHER_RANDOM = (np.random.default_rng(2).integers(0, 64, CALLS) * 16).tolist()


def twins_report(stock: list[int], *more: StoredBoot) -> ProofReport:
    """Judge twins of `off` and of `stock`, the second of which has these positions."""
    run = stored(feature=WITH_TWINS)
    boots = [
        *run.boots,
        twin("off", 1, CONSTANT, on=False),
        twin("off", 2, CONSTANT, on=False),
        twin("stock", 1, RANDOM, on=True),
        *([twin("stock", 2, stock, on=True)] if stock else []),
        *more,
    ]
    return proof_report(run.model_copy(update={"boots": boots}))


def test_twins_are_compared_with_each_other() -> None:
    found = twins_report(OTHER_RANDOM)
    assert found.proven
    clocks = [line for line in clock_lines(found) if "twins" in line]
    assert clocks == ["Clock of the guest, twins: instructions executed (icount)."]
    assert found.outcomes == {"off": Outcome.VULNERABLE, "stock": Outcome.BLOCKED}
    assert not twins_report(RANDOM).proven
    alike = twins_report(RANDOM).evidence["stock"]
    assert alike["twins"].outcome is Outcome.VULNERABLE
    assert alike["prediction"].outcome is Outcome.BLOCKED


def test_a_twin_alone_is_not_judged() -> None:
    found = twins_report([])
    assert found.evidence["stock"]["twins"].outcome is Outcome.UNSUPPORTED
    assert found.evidence["stock"]["twins"].reasons == ["it has not booted yet"]
    assert not found.proven


def constant_by_prediction(feature: Feature) -> StoredRun:
    """Attack a sabotage that only the proof ``prediction`` is expected to notice."""
    named = FEATURE.sabotages["constant"].model_copy(
        update={"expect": {"prediction": Outcome.VULNERABLE}}
    )
    feature = feature.model_copy(update={"sabotages": {"constant": named}})
    _, broken = boot("constant", records(CONSTANT, on=False))
    boots = {**GOOD, "constant": broken}
    return stored(boots, feature, tuple(feature.variants), sabotage=True)


def test_a_sabotage_is_not_judged_by_what_did_not_attack_it() -> None:
    found = proof_report(constant_by_prediction(WITH_TWINS))
    assert list(found.evidence["stock"]) == ["prediction", "twins"]
    assert list(found.evidence["constant"]) == ["prediction"]
    assert found.outcomes["constant"] is Outcome.VULNERABLE
    other = FEATURE.proofs["prediction"].model_copy(update={"program": "other"})
    proofs = {**FEATURE.proofs, "other": other}
    feature = FEATURE.model_copy(update={"proofs": proofs})
    found = proof_report(constant_by_prediction(feature))
    assert list(found.evidence["constant"]) == ["prediction"]


def test_a_sabotage_is_judged_by_all_that_share_what_attacked_it() -> None:
    again = FEATURE.proofs["prediction"].model_copy(update={"title": "again"})
    proofs = {**FEATURE.proofs, "again": again}
    feature = FEATURE.model_copy(update={"proofs": proofs})
    found = proof_report(constant_by_prediction(feature)).evidence["constant"]
    assert found["again"].outcome is Outcome.VULNERABLE
    assert found["again"].expected is None


def test_what_was_expected_and_never_planned_is_not_left_out() -> None:
    """Or a plan with too few boots would prove more than a whole one."""
    run = stored(feature=WITH_TWINS)
    slots = tuple(slot for slot in run.plan.slots if slot.repeat == 0)
    plan = run.plan.model_copy(update={"slots": slots})
    found = proof_report(run.model_copy(update={"plan": plan}))
    assert found.evidence["stock"]["twins"].outcome is Outcome.UNSUPPORTED
    assert found.evidence["stock"]["twins"].reasons == ["it was not booted for it"]
    assert not found.evidence["stock"]["twins"].clock
    assert not found.proven


@pytest.mark.parametrize("missing", GOOD)
def test_a_run_without_all_its_boots_proves_nothing(missing: str) -> None:
    rest = {name: kept for name, kept in GOOD.items() if name != missing}
    found = report(rest)
    assert not found.proven
    assert not found.as_expected
    assert missing not in found.outcomes


@pytest.mark.parametrize("checks", [0, 1])
def test_one_check_that_disagrees_is_enough(checks: int) -> None:
    sent = records(RANDOM, on=True)
    places = [n for n, record in enumerate(sent) if record["type"] == "in_force"]
    sent[places[checks]] |= check(on=False)
    assert not report({**GOOD, **dict([boot("stock", sent)])}).proven


def test_no_check_is_no_agreement() -> None:
    sent = [
        record for record in records(RANDOM, on=True) if record["type"] != "in_force"
    ]
    assert not report({**GOOD, **dict([boot("stock", sent)])}).proven


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (
            boot("stock", [], status="boot_error", error="the kernel hung"),
            "the kernel failed: the kernel hung",
        ),
        (
            boot("stock", records(RANDOM, on=True, status=77)),
            "'attack 20000' cannot run on this kernel",
        ),
        (
            boot("stock", records(RANDOM[:100], on=True)),
            "100 calls are too few to judge: 320 needed",
        ),
    ],
    ids=["boot error", "exit 77", "few calls"],
)
def test_what_cannot_be_judged_is_unsupported_and_says_why(
    broken: tuple[str, StoredBoot], reason: str
) -> None:
    found = report({**GOOD, broken[0]: broken[1]})
    assert found.outcomes["stock"] is Outcome.UNSUPPORTED
    assert not found.as_expected
    evidence = found.evidence["stock"]["prediction"]
    assert evidence.reasons == [reason]
    assert evidence.figures == {}
    assert evidence.clock == CLOCK


@pytest.mark.parametrize(
    ("name", "drawn", "on", "outcome"),
    [
        ("constant", CONSTANT, False, Outcome.VULNERABLE),
        ("none", RANDOM, True, Outcome.UNSUPPORTED),
    ],
)
def test_a_kernel_that_is_broken_on_purpose_may_complain(
    name: str, drawn: list[int], on: bool, outcome: Outcome
) -> None:
    """But not the one with nothing sabotaged: it must hold."""
    _, sent = boot(name, records(drawn, on=on))
    told = sent.model_copy(update={"console": "[ 1.2] BUG: Bad page state\n"})
    assert report({**GOOD, name: told}).outcomes[name] is outcome


def test_an_attack_that_failed_is_not_judged() -> None:
    crashed = boot("stock", records(RANDOM, on=True, status=139))
    found = report({**GOOD, **dict([crashed])})
    assert found.outcomes["stock"] is Outcome.UNSUPPORTED
    assert found.evidence["stock"]["prediction"].reasons == [
        "'attack 20000' ended with status 139"
    ]


def test_what_a_failed_attack_said_is_told() -> None:
    name, crashed = boot("stock", records(RANDOM, on=True, status=1))
    console = "[    1.2] Linux\nno device\n"
    told = crashed.model_copy(update={"console": console})
    (reason,) = report({**GOOD, name: told}).evidence["stock"]["prediction"].reasons
    assert reason == (
        "'attack 20000' ended with status 1; the last that programs said: no device"
    )


def test_a_judge_that_fails_is_no_proof() -> None:
    """As where an attack brought nothing back of what the judge looks at."""
    sent = [r for r in records(RANDOM, on=True) if r["type"] != "samples"]
    found = report({**GOOD, **dict([boot("stock", sent)])})
    assert found.outcomes["stock"] is Outcome.UNSUPPORTED
    (reason,) = found.evidence["stock"]["prediction"].reasons
    assert reason.startswith("judge 'prediction' failed: KeyError")
    assert not found.proven


def lands_at_zero(samples: Arrays, _definitions: Arrays, **_: float) -> Verdict:
    """Judge as one that counts tries does."""
    positions = samples["stack_position"]
    return Verdict(B if positions.any() else V, ["why"], {}, tries=len(positions))


@pytest.mark.parametrize("on_control", [CALLS // 2, CALLS])
def test_fewer_tries_than_on_the_control_show_nothing(
    monkeypatch: pytest.MonkeyPatch, on_control: int
) -> None:
    monkeypatch.setattr("temper.analysis.proof.judge_named", lambda *_: lands_at_zero)
    off = dict([boot("off", records(CONSTANT[:on_control], on=False))])
    for tries, outcome in (on_control - 1, U), (on_control, B):
        sent = records(RANDOM[:tries], on=True)
        found = report({**off, **dict([boot("stock", sent)])})
        assert found.outcomes == {"off": V, "stock": outcome}
        assert found.proven is (outcome is B)
        why = f"{tries} tries, but {on_control} on off" if outcome is U else "why"
        assert found.evidence["stock"]["prediction"].reasons == [why]


def test_one_that_lands_is_enough_however_often_the_control_was_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("temper.analysis.proof.judge_named", lambda *_: lands_at_zero)
    found = report({**GOOD, **dict([boot("stock", records([0, 0], on=True))])})
    assert found.outcomes["stock"] is V


def test_what_comes_between_two_programs_is_no_attacks() -> None:
    stray = {"n": 9, "type": "samples", "name": "stack_position", "values": [0] * 9}
    sent = [*records(RANDOM, on=True)[:-1], stray]
    found = report({**GOOD, **dict([boot("stock", sent)])})
    assert found.evidence["stock"]["prediction"].figures["calls"] == CALLS
    assert found.proven


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.parametrize(
    "said",
    [
        "BUG: Bad page state",
        "Oops: Oops: 0003 [#1] PREEMPT SMP NOPTI",
        "WARNING: CPU: 0 PID: 1 at arch/x86/mm/kpkeys.c:58 kpkeys_put_away+0x5e/0x70",
    ],
)
def test_a_kernel_that_complained_is_not_judged(name: str, said: str) -> None:
    """An oops elsewhere: what the attack met may be its leftovers."""
    told = GOOD[name].model_copy(update={"console": f"[ 1.2] {said}\n"})
    found = report({**GOOD, name: told})
    assert found.outcomes[name] is Outcome.UNSUPPORTED
    assert found.evidence[name]["prediction"].reasons == [
        f"the kernel complained: {said}"
    ]
    assert not found.proven


def test_an_attack_excuses_only_the_complaints_that_it_declares() -> None:
    """A process may die of a key; the same oops by a read-only page is another."""
    attack = FEATURE.proofs["prediction"].model_copy(
        update={"expected_complaints": (r"^Oops: Oops: 0023 \[#\d+\]",)}
    )
    feature = FEATURE.model_copy(update={"proofs": {"prediction": attack}})
    for code, outcome in ("0023", B), ("0003", U):
        console = f"[ 1.2] Oops: Oops: {code} [#1] PREEMPT SMP NOPTI\n"
        told = GOOD["stock"].model_copy(update={"console": console})
        assert report({**GOOD, "stock": told}, feature).outcomes["stock"] is outcome


def test_without_the_kernels_definition_nothing_is_judged() -> None:
    feature = FEATURE.model_copy(
        update={"definition": Definition(program="displacement")}
    )
    ran = [
        {"n": 0, "type": "start", "program": "displacement"},
        {"n": 1, "type": "exit", "program": "displacement", "status": 77},
    ]
    found = report({**GOOD, **dict([boot("stock", ran)])}, feature)
    assert found.outcomes["stock"] is Outcome.UNSUPPORTED
    assert found.evidence["stock"]["prediction"].reasons == [
        "'displacement' cannot run on this kernel"
    ]


@pytest.mark.parametrize(
    ("positions", "as_expected"), [(CONSTANT, True), (RANDOM, False)]
)
def test_a_sabotage_that_is_not_found_out_is_not_as_expected(
    positions: list[int], as_expected: bool
) -> None:
    sabotaged = boot("constant", records(positions, on=False))
    found = report({**GOOD, **dict([sabotaged])})
    assert found.proven
    assert found.as_expected is as_expected


def test_a_sabotage_kernel_that_is_broken_by_itself_is_not_as_expected() -> None:
    """If ``none`` falls too, the sabotages prove nothing about the attack."""
    none = boot("none", records(CONSTANT, on=True))
    assert not report({**GOOD, **dict([none])}).as_expected


def test_the_worst_of_several_proofs_counts() -> None:
    strict = proof("predict").model_copy(
        update={"params": {"least_bits": 7, "level": 1e-6, "margin": 1.25}}
    )
    two = FEATURE.model_copy(
        update={"proofs": {"prediction": proof("predict"), "strict": strict}}
    )
    found = report(feature=two)
    assert found.evidence["stock"]["prediction"].outcome is Outcome.BLOCKED
    assert found.evidence["stock"]["strict"].outcome is Outcome.VULNERABLE
    assert found.outcomes["stock"] is Outcome.VULNERABLE
    assert not found.proven


def test_the_evidence_is_of_all_samples_in_order() -> None:
    found = report().evidence["stock"]["prediction"]
    assert found.figures["calls"] == CALLS
    assert sum(times for _, times in found.series["positions"]) == CALLS
    assert sum(times for *_, times in found.series["successions"]) == CALLS - 1
    assert found.expected is Outcome.BLOCKED
    assert found.clock == CLOCK


def test_the_order_of_samples_is_kept_over_records() -> None:
    """Shuffled they would look random: a counter, cut in two at its middle."""
    counter = (np.arange(CALLS) % 64 * 16).tolist()
    found = report({**GOOD, **dict([boot("stock", records(counter, on=True))])})
    series = found.evidence["stock"]["prediction"].series
    assert {(now, then) for now, then, _ in series["successions"]} == {
        (16 * n, 16 * ((n + 1) % 64)) for n in range(64)
    }


def second_attack(positions: list[int], status: int = 0) -> list[dict[str, Any]]:
    """Return what the same program sends when another proof asks for more of it."""
    sent: list[dict[str, Any]] = [
        {"type": "start", "program": "attack 30000"},
        {"type": "samples", "name": "stack_position", "values": positions},
        {"type": "exit", "program": "attack 30000", "status": status},
    ]
    return [{"n": 100 + n, **record} for n, record in enumerate(sent)]


LONGER = proof("predict more").model_copy(update={"samples": 30_000})


def split(*expected: Outcome) -> dict[str, Outcome]:
    return dict(zip(("prediction", "longer"), expected, strict=True))


V, B, U = Outcome.VULNERABLE, Outcome.BLOCKED, Outcome.UNSUPPORTED


def two_proofs(**expect: dict[str, Outcome]) -> Feature:
    """Return the feature with two proofs, and a third variant to compare with."""
    variants = {
        **FEATURE.variants,
        "old": variant(Outcome.VULNERABLE, in_force=True),
    }
    return FEATURE.model_copy(
        update={
            "proofs": {**FEATURE.proofs, "longer": LONGER},
            "variants": {
                name: each.model_copy(update={"expect": expect.get(name, each.expect)})
                for name, each in variants.items()
            },
        }
    )


def three_boots(
    off: list[dict[str, Any]] | None = None, old: list[int] | None = None
) -> dict[str, StoredBoot]:
    more = second_attack(CONSTANT) if off is None else off
    return dict(
        [
            boot("off", records(CONSTANT, on=False) + more),
            boot("stock", records(RANDOM, on=True) + second_attack(RANDOM)),
            boot("old", records(RANDOM, on=True) + second_attack(old or CONSTANT)),
        ]
    )


def test_each_proof_judges_the_samples_of_its_own_run() -> None:
    """And what the kernel defines, whichever program said it."""
    found = report(three_boots(), two_proofs(old=split(B, V)))
    assert [each.outcome for each in found.evidence["old"].values()] == [B, V]
    assert found.evidence["old"]["longer"].figures["calls"] == CALLS
    assert found.outcomes["old"] is V
    assert found.proven
    assert found.as_expected


def test_a_variant_to_compare_with_proves_nothing_but_is_expected_of() -> None:
    found = report(three_boots(old=RANDOM), two_proofs(old=split(B, V)))
    assert found.proven
    assert not found.as_expected


def test_where_nothing_is_expected_any_outcome_will_do() -> None:
    silent = two_proofs(old={"prediction": B})
    for drawn, outcome in ((RANDOM, B), (CONSTANT, V)):
        found = report(three_boots(old=drawn), silent)
        assert found.evidence["old"]["longer"].outcome is outcome
        assert found.evidence["old"]["longer"].expected is None
        assert found.as_expected
    # What is expected still counts.
    assert not report(three_boots(), two_proofs(old={"prediction": V})).as_expected


def test_one_program_that_cannot_run_does_not_spoil_the_other_proof() -> None:
    boots = three_boots(off=second_attack([], status=77))
    found = report(boots, two_proofs(off=split(V, U), old=split(B, V)))
    assert [each.outcome for each in found.evidence["off"].values()] == [V, U]
    assert found.proven
    assert found.as_expected
    # Where the attack ought to have applied, it is the control that failed.
    assert not report(boots, two_proofs(old=split(B, V))).proven


def test_a_proof_of_another_architecture_is_left_out() -> None:
    feature = two_proofs(old=split(B, V))
    elsewhere = LONGER.model_copy(update={"architectures": ("arm64",)})
    feature = feature.model_copy(
        update={"proofs": {**FEATURE.proofs, "longer": elsewhere}}
    )
    found = report(three_boots(), feature)
    assert list(found.proofs) == ["prediction"]
    assert found.outcomes["old"] is B
    assert found.as_expected


def some(boots: Mapping[str, StoredBoot], *names: str) -> dict[str, StoredBoot]:
    return {name: boots[name] for name in names}


def test_a_part_says_what_it_left_out_and_proves_what_it_tried() -> None:
    feature, boots = two_proofs(old=split(B, V)), three_boots()
    part = ("off", "old")
    found = report(some(boots, *part), feature, part, proofs=("prediction",))
    # The feature's hardened variant is not in it; this one is expected to hold.
    assert found.hardened == ["old"]
    assert found.proven
    assert found.as_expected
    assert found.variants_left_out == ["stock"]
    assert found.proofs_left_out == ["longer"]
    assert list(found.proofs) == list(found.evidence["old"]) == ["prediction"]
    assert list(found.in_force) == list(found.outcomes) == list(part)


def test_a_part_that_does_not_hold_is_not_proven() -> None:
    feature, part = two_proofs(old=split(B, V)), ("off", "old")
    boots = some(GOOD, "off") | dict([boot("old", records(CONSTANT, on=True))])
    assert not report(boots, feature, part, proofs=("prediction",)).proven
    wrong = some(GOOD, "off") | dict([boot("old", records(RANDOM, on=False))])
    assert not report(wrong, feature, part, proofs=("prediction",)).proven


def test_a_part_without_what_must_hold_proves_nothing() -> None:
    feature, boots = two_proofs(old=split(B, V)), three_boots()
    for part in (("off",), ("off", "old")):
        found = report(some(boots, *part), feature, part)
        assert found.hardened == []
        assert not found.proven
        assert found.as_expected


def test_a_part_whose_attack_cannot_land_proves_nothing() -> None:
    """By the one proof that is tried the control is not expected to fall."""
    boots = three_boots(off=second_attack([], status=77))
    feature = two_proofs(off=split(V, U), old=split(B, V))
    found = report(boots, feature, proofs=("longer",))
    assert found.outcomes["off"] is U
    assert found.outcomes["stock"] is B
    assert found.as_expected
    assert not found.proven


def test_a_run_that_names_no_proofs_was_by_all_of_its_architecture() -> None:
    found = report(three_boots(), two_proofs(old=split(B, V)))
    assert (found.variants_left_out, found.proofs_left_out) == ([], [])


def test_a_stored_run_is_judged_by_its_own_plan_alone() -> None:
    """It says all that its verdict depends on: no feature.toml is read again."""
    run = stored(three_boots(), two_proofs(old=split(B, V)))
    again = StoredRun.model_validate_json(run.model_dump_json())
    assert proof_report(again) == proof_report(run)
    plan = run.plan
    assert plan.proofs["longer"].line == "attack 30000"
    assert plan.proofs["longer"].params == LONGER.params
    assert plan.variants["old"].expect == split(B, V)
    assert (plan.control, plan.hardened) == ("off", ("stock",))


@pytest.mark.parametrize(
    ("feature", "changes", "reason"),
    [
        ("gone", {}, "gone/judges/__init__.py is missing"),
        ("kstack", {"judge": "augury"}, "unknown judge 'augury'"),
        (
            "kstack",
            {"params": {"level": 0.1}},
            "judge 'prediction' lacks the parameter",
        ),
    ],
    ids=["the feature", "the judge", "the parameters"],
)
def test_a_run_whose_judge_is_gone_says_so(
    feature: str, changes: dict[str, object], reason: str
) -> None:
    run = stored()
    proofs = {"prediction": run.plan.proofs["prediction"].model_copy(update=changes)}
    plan = run.plan.model_copy(update={"feature": feature, "proofs": proofs})
    with pytest.raises(StoreError) as caught:
        proof_report(run.model_copy(update={"plan": plan}))
    start = "run 3 cannot be judged: proof 'prediction': "
    assert caught.value.message.startswith(start)
    assert reason in caught.value.message
    assert caught.value.hint.startswith("check out a version that has the judge")
    assert plan.command in caught.value.hint


def test_an_attack_needs_no_baseline() -> None:
    """What prices are relative to may be another variant than the control."""
    feature = FEATURE.model_copy(update={"baseline": "stock", "hardened": ("old",)})
    old = variant(Outcome.BLOCKED, in_force=True)
    variants = {**feature.variants, "old": old}
    feature = feature.model_copy(update={"variants": variants})
    boots = some(GOOD, "off") | dict([boot("old", records(RANDOM, on=True))])
    found = report(boots, feature, ("off", "old"))
    assert found.proven
    assert list(found.in_force) == ["off", "old"]


def test_a_report_says_when_the_judges_have_changed() -> None:
    run = stored()
    assert not proof_report(run).judges_changed
    before = run.plan.model_copy(update={"judges": "0" * 64})
    found = proof_report(run.model_copy(update={"plan": before}))
    assert found.judges_changed
    assert found.proven
    (line,) = [p.text for p in proof_document(found).conclusion if "judges" in p.text]
    assert line.startswith("The judges of kstack have changed since this run")


def ended(positions: list[int], program: str = "attack 20000") -> StoredBoot:
    """Return a boot whose kernel ended while a program ran."""
    sent = [each for each in records(positions, on=True) if each["type"] != "exit"]
    died = {"type": "died", "program": program, "how": "it panicked"}
    sent[-2:] = [{"n": len(sent), **died}]
    return boot("stock", sent, status="boot_error", error="it panicked")[1]


def test_an_attack_that_landed_before_it_ended_the_kernel_counts() -> None:
    found = report({**GOOD, "stock": ended(CONSTANT)})
    assert found.outcomes["stock"] is Outcome.VULNERABLE
    assert found.evidence["stock"]["prediction"].figures["calls"] == CALLS


def test_an_attack_that_ended_the_kernel_is_not_blocked() -> None:
    found = report({**GOOD, "stock": ended(RANDOM)})
    assert found.outcomes["stock"] is Outcome.UNSUPPORTED
    (reason,) = found.evidence["stock"]["prediction"].reasons
    assert reason == "the kernel failed: it panicked"


def test_a_kernel_that_ended_in_another_attack_is_not_judged() -> None:
    sent = [
        *records(CONSTANT, on=True)[:-1],
        {"n": 20, "type": "start", "program": "attack 30000"},
        {"n": 21, "type": "died", "program": "attack 30000", "how": "it panicked"},
    ]
    other = boot("stock", sent, status="boot_error", error="it panicked")
    found = report({**GOOD, **dict([other])})
    assert found.outcomes["stock"] is Outcome.UNSUPPORTED
