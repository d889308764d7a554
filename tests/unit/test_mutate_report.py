"""What notices a mutant, what survives, and how that is told."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from io import StringIO
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from samples import STARTED, facts

from made_up import WORK, run_plan, variant_plan
from temper.analysis.checks import Result, suites
from temper.analysis.kunit import kunit_results
from temper.analysis.mutants import (
    BootsNeeded,
    MutantFound,
    MutateReport,
    mutate_report,
)
from temper.cli.reports import status_of
from temper.record.boot import StoredBoot, StoredRun
from temper.record.outcome import Outcome
from temper.record.plan import (
    Fate,
    Kind,
    MutantPlan,
    ProofPlan,
    RunPlan,
    Slot,
    Twins,
    VariantPlan,
    again,
)
from temper.report.html import to_html
from temper.report.markdown import to_markdown
from temper.report.mutate_document import mutate_document
from temper.report.terminal import print_documents

CALLS = 20_000
ATTACK = f"attack {CALLS}"
TWIN = "twins 20000"
RANDOM = (np.random.default_rng(1).integers(0, 64, CALLS) * 16).tolist()
CONSTANT = [0] * CALLS
KUNIT = """\
[    0.4]     KTAP version 1
[    0.4]     # Subtest: randomize_kstack
[    0.4]     ok 1 test_even
[    0.5]     ok 2 test_keys
[    0.5]     ok 3 test_large # SKIP there is no memory
[    0.5] ok 1 randomize_kstack
"""
HUNK = """\
@@ kernel/randomize_kstack.c:88 @@
 \tu64 now = ktime_get_coarse_boottime_ns();
 
-\tWRITE_ONCE(per_cpu(kstack_key, cpu), a_very_long_name_of_a_function(key, and_more));
+\t/*WRITE_ONCE(per_cpu(kstack_key, cpu), key);*/"""


BOOTED = ("unmutated", again("unmutated"), "0a", again("0a"))


def mutant(fate: Fate = Fate.DISTINCT, **changes: object) -> MutantPlan:
    given: dict[str, Any] = {
        "file": "kernel/randomize_kstack.c",
        "line": 88,
        "hunk": HUNK,
        "does": "drops the statement",
        "fate": fate,
    }
    return MutantPlan(**{**given, **changes})


def variant(name: str, expected: Outcome = Outcome.BLOCKED) -> VariantPlan:
    return variant_plan(name, expect={"prediction": expected})


def plan(accepted: str = "", kunit: str = "randomize_kstack") -> RunPlan:
    """Plan to boot the control, the series, and one mutant, 0a."""
    return run_plan(
        {
            "off": variant("off", Outcome.VULNERABLE),
            **{name: variant(name) for name in BOOTED},
        },
        repeats=1,
        kind=Kind.MUTATE,
        control="off",
        hardened=("unmutated",),
        proofs={
            "prediction": ProofPlan(
                title="predict",
                line=ATTACK,
                judge="prediction",
                params={"least_bits": 5, "level": 1e-6, "margin": 1.25},
            )
        },
        mutants={
            "0a": mutant(accepted=accepted),
            "0b": mutant(Fate.BROKEN),
            "0c": mutant(Fate.UNREACHED, line=161),
            "0d": mutant(Fate.UNREACHED, line=161),
        },
        kunit=kunit,
        work=WORK.model_copy(update={"job": (f"run {ATTACK}",), "exact": False}),
        command="temper mutate kstack --sample 1 --arch x86_64",
    )


def boot(
    name: str,
    positions: list[int] = RANDOM,
    on: bool = True,
    console: str = KUNIT,
    failed: str = "",
    started: datetime = STARTED,
    repeat: int = 0,
    seconds: float = 10,
) -> StoredBoot:
    check = {"type": "in_force", "feature": "kstack", "on": on, "evidence": {}}
    sent: list[dict[str, Any]] = [
        check,
        {"type": "start", "program": ATTACK},
        {
            "type": "definition",
            "name": "displacement",
            "values": (np.arange(1024) & ~15).tolist(),
        },
        {"type": "samples", "name": "stack_position", "values": positions},
        {"type": "exit", "program": ATTACK, "status": 0},
        {"type": "end"},
    ]
    records = [{"n": n, **record} for n, record in enumerate(sent)]
    machine = {"exact": False, "clock": "the host's"}
    return StoredBoot(
        facts=facts(
            name,
            repeat,
            machine=machine,
            status="boot_error" if failed else "ok",
            error=failed,
            started=started,
            wall_seconds=seconds,
        ),
        records=records,
        console=console,
    )


def report(*boots: StoredBoot, planned: RunPlan | None = None) -> MutateReport:
    """Judge a run in which all is as it must be but for ``boots``."""
    usual = {
        "off": boot("off", CONSTANT, on=False, console=""),
        **{name: boot(name) for name in BOOTED},
    }
    told = {each.facts.variant: each for each in boots if not each.facts.repeat}
    twins = [each for each in boots if each.facts.repeat]
    return mutate_report(
        StoredRun(
            id=4,
            plan=planned or plan(),
            started=STARTED,
            boots=[*(usual | told).values(), *twins],
        )
    )


def the_mutant(found: MutateReport) -> MutantFound:
    (mutant,) = found.mutants
    return mutant


def test_what_nothing_notices_survives() -> None:
    found = report()
    assert the_mutant(found).noticed is None
    assert found.survivors == found.mutants
    assert (found.score, found.clean, status_of(found)) == (0, False, 1)


Spoil = Callable[[str], StoredBoot]
"""Returns the boot of a variant, in which something is wrong."""

NOTICED: dict[str, Spoil] = {
    "boot": lambda name: boot(name, failed="it hung"),
    "console": lambda name: boot(name, console=KUNIT + "[    3.1] BUG: bad page\n"),
    "in force": lambda name: boot(name, on=False),
    "KUnit": lambda name: boot(name, console=KUNIT.replace("ok 2", "not ok 2")),
    "prediction": lambda name: boot(name, CONSTANT),
}


def test_proofs_come_before_what_no_proof_runs() -> None:
    console = KUNIT.replace("ok 2", "not ok 2")
    found = report(*both(lambda name: boot(name, CONSTANT, console=console)))
    assert found.noticed_by == {"prediction": 1}


def both(spoil: Spoil, variant: str = "0a") -> list[StoredBoot]:
    return [spoil(variant), spoil(again(variant))]


@pytest.mark.parametrize("by", NOTICED)
def test_each_look_notices_by_itself(by: str) -> None:
    found = report(*both(NOTICED[by]))
    noticed = the_mutant(found).noticed
    assert noticed
    assert noticed.by == by
    assert found.noticed_by == {by: 1}
    assert (found.score, found.clean, status_of(found)) == (100, True, 0)


@pytest.mark.parametrize("name", ["0a", again("0a")])
def test_what_only_one_of_two_boots_notices_survives(name: str) -> None:
    """A busy host makes proofs see what is not there."""
    found = report(boot(name, CONSTANT))
    (mutant,) = found.mutants
    assert mutant.noticed is None
    assert mutant.once
    assert mutant.once.by == "prediction"
    assert found.survivors == [mutant]
    assert "One boot of two was noticed, by prediction: VULNERABLE" in text(found)


def with_twins() -> RunPlan:
    """Plan twins of all variants, and a proof that compares them."""
    planned = plan()
    alike = planned.proofs["prediction"].model_copy(
        update={
            "line": TWIN,
            "judge": "twins",
            "twins": True,
            "params": {"level": 1e-6, "margin": 1.25},
        }
    )
    slots = [
        Slot(variant=name, repeat=repeat)
        for name in ("off", "unmutated", "0a")
        for repeat in (1, 2)
    ]
    return RunPlan.model_validate(
        {
            **planned.model_dump(),
            "proofs": {**planned.proofs, "twins": alike},
            "twins": Twins(job=(f"run {TWIN}",), seeds=(1, 2)),
            "slots": [*planned.slots, *slots],
        }
    )


def test_what_twins_notice_needs_no_second_look() -> None:
    """Their machines are the same on every host."""
    planned = with_twins()
    boots = [
        boot(slot.variant, on=slot.variant != "off", repeat=slot.repeat)
        for slot in planned.slots
        if slot.repeat
    ]
    noticed = the_mutant(report(*boots, planned=planned)).noticed
    assert noticed
    assert noticed.by == "twins"


SECOND, TWO = [(again("0a"), 0)], [("0a", 1), ("0a", 2)]


@pytest.mark.parametrize(
    ("first", "second", "steps"),
    [
        (RANDOM, RANDOM, [TWO]),
        (CONSTANT, RANDOM, [SECOND, TWO]),
        (CONSTANT, CONSTANT, [SECOND]),
    ],
    ids=["not noticed", "noticed once", "noticed twice"],
)
def test_a_mutant_boots_again_only_where_that_matters(
    first: list[int], second: list[int], steps: list[list[tuple[str, int]]]
) -> None:
    planned = with_twins()
    positions = {"0a": first, again("0a"): second}
    boots: list[StoredBoot] = []
    taken: list[list[tuple[str, int]]] = []
    needed = BootsNeeded()
    while due := needed(StoredRun(id=4, plan=planned, started=STARTED, boots=boots)):
        taken.append([(slot.variant, slot.repeat) for slot in due])
        boots += [
            boot(
                slot.variant,
                positions.get(slot.variant, RANDOM),
                on=slot.variant != "off",
                repeat=slot.repeat,
            )
            for slot in due
        ]
    assert taken[1:] == steps
    everything = {(slot.variant, slot.repeat) for slot in planned.slots}
    assert set(taken[0]) == everything - {*SECOND, *TWO}
    run = StoredRun(id=4, plan=planned, started=STARTED, boots=boots)
    assert mutate_report(run).pending == []


def under_condition(
    spoiled: dict[str, StoredBoot],
    accepted: str = "",
    name: str = "naps",
    **changes: object,
) -> StoredRun:
    """Return a complete run with a condition, in which all is well but for ``spoiled``.

    ``changes``: what variants under the condition have of their own.
    """
    planned = plan(accepted)
    names = [f"unmutated-{name}", f"0a-{name}"]
    own = {
        each: variant(each).model_copy(update=changes)
        for each in (*names, *map(again, names))
    }
    planned = RunPlan.model_validate(
        {
            **planned.model_dump(),
            "conditions": {name: "cpuidle_halt"},
            "variants": {**planned.variants, **own},
            "slots": [*planned.slots, *(Slot(variant=n, repeat=0) for n in own)],
        }
    )
    usual = {"off": boot("off", CONSTANT, on=False, console="")}
    boots: list[StoredBoot] = []
    run = StoredRun(id=4, plan=planned, started=STARTED, boots=boots)
    needed = BootsNeeded()
    while due := needed(run):
        named = [slot.variant for slot in due]
        boots += [(usual | spoiled).get(each) or boot(each) for each in named]
        run = run.model_copy(update={"boots": boots})
    return run


def under_naps(notices: list[str], accepted: str = "") -> StoredRun:
    """Return the same with ``notices``: where a proof notices 0a."""
    return under_condition({name: boot(name, CONSTANT) for name in notices}, accepted)


def with_the_feature_off(
    mutant: Mapping[str, Any], all_boots: Mapping[str, Any] | None = None
) -> StoredRun:
    """Return a run with a condition under which attacks would land, had anybody any.

    ``mutant``, ``all_boots``: what is different in these boots.
    """
    landing: dict[str, Any] = {"positions": CONSTANT, "on": False, **(all_boots or {})}
    boots = {
        name: boot(name, **{**landing, **(mutant if name.startswith("0a") else {})})
        for first in ("unmutated-none", "0a-none")
        for name in (first, again(first))
    }
    job = ("run in_force",)
    return under_condition(boots, name="none", in_force=False, expect={}, job=job)


def test_what_nothing_notices_boots_under_a_condition() -> None:
    run = under_naps(["0a-naps", again("0a-naps")])
    found = the_mutant(mutate_report(run))
    assert found.noticed
    assert found.noticed.by == "prediction"
    assert found.noticed.how.startswith("with cpuidle_halt: VULNERABLE")
    booted = [each.facts.variant for each in run.boots]
    assert again("0a") not in booted
    assert {"0a", "0a-naps", again("0a-naps")} <= set(booted)


def test_no_proof_judges_where_the_feature_is_off() -> None:
    found = mutate_report(with_the_feature_off({}))
    assert (found.unsound, found.survivors) == ("", found.mutants)


@pytest.mark.parametrize(
    ("by", "how"),
    [
        ("KUnit", {"console": KUNIT.replace("ok 2", "not ok 2")}),
        ("in force", {"on": True}),
        ("console", {"console": KUNIT + "[    3.1] BUG: bad page\n"}),
        ("boot", {"failed": "it hung"}),
    ],
)
def test_the_kernel_must_work_where_the_feature_is_off(
    by: str, how: dict[str, Any]
) -> None:
    noticed = the_mutant(mutate_report(with_the_feature_off(how))).noticed
    assert noticed
    assert noticed.by == by


def test_all_tests_may_skip_where_the_feature_is_off() -> None:
    skips = {"console": "[    0.5] ok 1 randomize_kstack # SKIP it is off\n"}
    found = mutate_report(with_the_feature_off({}, skips))
    assert (found.unsound, found.survivors) == ("", found.mutants)
    found = mutate_report(with_the_feature_off({"on": True}, skips))
    assert the_mutant(found).noticed


def test_second_boots_are_compared_with_the_first_of_the_series() -> None:
    """Of two boots of the series, one may lack a test: it is no measure."""
    fewer = KUNIT.replace("test_keys\n", "test_keys # SKIP no memory\n")
    names = (again("unmutated"), "0a", again("0a"))
    noticed = the_mutant(report(*(boot(n, console=fewer) for n in names))).noticed
    assert noticed
    assert noticed.how == "test_keys failed"


def test_tests_may_skip_under_a_condition_where_those_of_the_series_do() -> None:
    """Not where they do not: then the mutant has them skip."""
    fewer = KUNIT.replace("test_keys\n", "test_keys # SKIP no keys\n")
    here = ["0a-naps", again("0a-naps")]
    all_skip = [*here, *(name.replace("0a", "unmutated") for name in here)]
    for names, survives in ((here, False), (all_skip, True)):
        run = under_condition({name: boot(name, console=fewer) for name in names})
        assert bool(mutate_report(run).survivors) is survives


def test_a_test_that_fails_under_a_condition_makes_the_series_unsound() -> None:
    names = ["unmutated-naps", again("unmutated-naps")]
    console = KUNIT.replace("ok 2", "not ok 2")
    run = under_condition({name: boot(name, console=console) for name in names})
    assert "unmutated is noticed by KUnit" in mutate_report(run).unsound


def test_tests_must_run_under_a_condition() -> None:
    names = ["unmutated-naps", again("unmutated-naps")]
    run = under_condition({name: boot(name, console="") for name in names})
    assert mutate_report(run).unsound == "no KUnit test ran on unmutated-naps"


def test_what_is_accepted_needs_no_condition() -> None:
    run = under_naps([], accepted="equivalent: nobody reads the value again")
    assert "0a-naps" not in [each.facts.variant for each in run.boots]
    assert mutate_report(run).clean


def test_what_is_noticed_needs_no_condition() -> None:
    run = under_naps(["0a", again("0a")])
    assert "0a-naps" not in [each.facts.variant for each in run.boots]
    assert the_mutant(mutate_report(run)).noticed


def test_a_condition_that_one_boot_notices_leaves_a_survivor() -> None:
    found = the_mutant(mutate_report(under_naps(["0a-naps"])))
    assert (found.noticed, bool(found.once)) == (None, True)


def test_the_series_must_hold_under_conditions() -> None:
    noticed = under_naps(["unmutated-naps", again("unmutated-naps")])
    assert "unmutated is noticed by prediction" in mutate_report(noticed).unsound


def test_a_test_that_did_not_run_is_a_notice() -> None:
    console = KUNIT.replace("[    0.5]     ok 2 test_keys\n", "")
    boots = both(lambda name: boot(name, console=console))
    noticed = the_mutant(report(*boots)).noticed
    assert noticed
    assert noticed.how == "test_keys failed"


def test_what_a_proof_cannot_judge_is_a_notice() -> None:
    """Nobody would have read PROVEN."""
    noticed = the_mutant(report(*both(lambda name: boot(name, RANDOM[:100])))).noticed
    assert noticed
    assert noticed.how.startswith("UNSUPPORTED: ")


def test_an_accepted_survivor_is_no_failure() -> None:
    found = report(planned=plan(accepted="equivalent: nobody reads the value again"))
    assert (found.survivors, found.excused) == ([], found.mutants)
    assert (found.score, found.clean) == (100, True)


UNSOUND: dict[str, list[StoredBoot]] = {
    "unmutated is noticed by prediction": both(NOTICED["prediction"], "unmutated"),
    "unmutated is noticed by in force": both(NOTICED["in force"], "unmutated"),
    "no KUnit test ran on unmutated": both(
        lambda name: boot(name, console=""), "unmutated"
    ),
    "prediction does not find off VULNERABLE": [boot("off", RANDOM, on=False)],
}


@pytest.mark.parametrize("why", UNSOUND)
def test_without_a_sound_series_there_is_no_score(why: str) -> None:
    found = report(*UNSOUND[why])
    assert why in found.unsound
    assert (found.score, found.clean) == (None, False)
    assert f"NO SCORE: {why}" in text(found)


def test_a_series_without_tests_needs_none() -> None:
    silent = both(lambda name: boot(name, console=""), "unmutated")
    assert report(*silent, planned=plan(kunit="")).unsound == ""


def test_what_did_not_boot_yet_is_no_part_of_the_score() -> None:
    planned = plan()
    twice = planned.model_copy(
        update={"slots": (*planned.slots, Slot(variant="0a", repeat=1))}
    )
    found = report(planned=twice)
    assert (found.mutants, found.pending, found.score) == ([], ["0a"], None)
    assert "NOT FINISHED: 1 mutant still to boot." in text(found)


def test_chosen_mutants_make_no_score() -> None:
    """They say nothing of those that nobody chose."""
    chosen = plan().model_copy(update={"chosen": True, "sampled": True})
    survived = report(planned=chosen)
    assert (survived.score, survived.interval, survived.strength) == (None, None, None)
    assert (survived.unsound, survived.clean) == ("", False)
    assert "0 of 1 mutant noticed or accepted; they were chosen." in text(survived)
    noticed = report(*both(NOTICED["prediction"]), planned=chosen)
    assert (noticed.score, noticed.clean) == (None, True)


def test_a_skipped_test_is_no_result() -> None:
    assert kunit_results(KUNIT) == {
        "test_even": True,
        "test_keys": True,
        "randomize_kstack": True,
    }


MORE = ("0e", again("0e"))


def plan_of_two() -> RunPlan:
    """Plan to boot another mutant, too: 0e."""
    planned = plan()
    return planned.model_copy(
        update={
            "variants": {**planned.variants, **{name: variant(name) for name in MORE}},
            "mutants": {**planned.mutants, "0e": mutant()},
            "slots": (
                *planned.slots,
                *(Slot(variant=name, repeat=0) for name in MORE),
            ),
        }
    )


def test_an_unfinished_run_makes_no_score() -> None:
    """What is noticed is confirmed last, so survivors are known sooner."""
    found = report(planned=plan_of_two())
    assert ([each.id for each in found.mutants], found.pending) == (["0a"], ["0e"])
    assert (found.score, found.interval, found.strength) == (None, None, None)
    assert "0 of 1 mutant noticed or accepted; no score yet." in text(found)
    assert "NOT FINISHED: 1 mutant still to boot." in text(found)


def test_mutants_an_hour_are_from_the_first_boot_to_the_last_that_confirms() -> None:
    late = [
        boot(again("0a"), started=STARTED + timedelta(seconds=50)),
        boot(again("0e"), started=STARTED + timedelta(seconds=52), seconds=1),
        boot("0e"),
    ]
    assert report(*late, planned=plan_of_two()).per_hour == pytest.approx(120)
    assert report().per_hour is None


def test_mutants_an_hour_leave_out_the_time_for_which_a_run_was_stopped() -> None:
    """Shards may be made days apart, and a run may be resumed days later."""
    resumed = [boot(name, started=STARTED + timedelta(days=2)) for name in MORE]
    assert report(*resumed, planned=plan_of_two()).per_hour == pytest.approx(360)


def text(found: MutateReport) -> str:
    out = StringIO()
    console = Console(file=out, width=78)
    print_documents(console, [mutate_document(found)], full=True)
    return out.getvalue()


def test_a_survivor_is_shown_with_what_it_does() -> None:
    said = text(report())
    assert "SURVIVED: 0a drops the statement" in said
    assert "kernel/randomize_kstack.c:88" in said
    assert "kernel/randomize_kstack.c:161" in said
    assert "0 % of 1 mutant noticed or accepted, 1 listed." in said
    assert max(map(len, said.splitlines())) <= 78
    markdown = to_markdown([mutate_document(report())], full=True)
    assert max(map(len, markdown.splitlines())) <= 78
    assert "+       /*WRITE_ONCE(per_cpu(kstack_key, cpu), key);*/" in markdown
    assert "+\t/*WRITE_ONCE(per_cpu(kstack_key, cpu), key);*/" in to_html(
        [mutate_document(report())]
    )


def test_a_reason_is_shown_with_its_mutant() -> None:
    reason = "equivalent: nobody reads the value again"
    said = text(report(planned=plan(accepted=reason)))
    assert f"0a drops the statement: {reason}" in said
    assert "100 % of 1 mutant noticed or accepted." in said


def test_each_mutant_is_a_check() -> None:
    def result(found: MutateReport) -> dict[str, Result]:
        return {suite.name: suite.result for suite in suites(found)}

    mutants, series = "mutate kstack: mutants", "mutate kstack: series"
    assert result(report())[mutants] is Result.FAILED
    assert result(report(*both(NOTICED["boot"])))[mutants] is Result.PASSED
    unsound = report(*both(NOTICED["prediction"], "unmutated"))
    assert result(unsound)[series] is Result.FAILED
