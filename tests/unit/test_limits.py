"""Proofs that show a known limit: from the plan to what readers are told."""

import csv
import io
import json

import pytest
from samples import proof_report as told_report
from samples import proof_report_of_many, proof_report_of_writes
from test_proof_report import (
    CONSTANT,
    FEATURE,
    GOOD,
    LONGER,
    RANDOM,
    boot,
    records,
    report,
    second_attack,
    stored,
)
from test_report_checks import results
from test_report_text import printed, texts

from temper.analysis.checks import Result
from temper.analysis.history import HistoryReport, history_report
from temper.analysis.models import ProofEvidence, ProofReport
from temper.catalog import Feature, Variant
from temper.record.boot import StoredBoot, StoredRun
from temper.record.outcome import Outcome
from temper.record.plan import Kind, RunPlan
from temper.report.as_csv import to_csv
from temper.report.as_junit import to_junit
from temper.report.as_ktap import to_ktap
from temper.report.attacks import example_lines
from temper.report.document import Paragraph, Tone
from temper.report.history_document import history_document
from temper.report.html import to_html
from temper.report.markdown import to_markdown
from temper.report.outcomes import outcome_notes, outcome_summary, outcome_tables
from temper.report.proof_document import proof_document
from temper.report.verdict import verdict

V, B, U = Outcome.VULNERABLE, Outcome.BLOCKED, Outcome.UNSUPPORTED
NOTE = "(limit): kstack does not claim to stop this attack."


def limited(**expect: Outcome | dict[str, Outcome]) -> Feature:
    """Return the feature of the other tests with the limit ``longer``."""
    longer = LONGER.model_copy(update={"limit": True})

    def expecting(variants: dict[str, Variant]) -> dict[str, Variant]:
        return {
            name: each.model_copy(update={"expect": expect.get(name, each.expect)})
            for name, each in variants.items()
        }

    return FEATURE.model_copy(
        update={
            "proofs": {**FEATURE.proofs, "longer": longer},
            "variants": expecting(FEATURE.variants),
            "sabotages": expecting(FEATURE.sabotages),
        }
    )


LANDED, HELD, FAILED = (
    second_attack(CONSTANT),
    second_attack(RANDOM),
    second_attack([], status=77),
)


def boots(
    off: list[dict[str, object]] = LANDED, stock: list[dict[str, object]] = LANDED
) -> dict[str, StoredBoot]:
    """Return what has to be found of the feature, and what the limit sent."""
    return dict(
        [
            boot("off", records(CONSTANT, on=False) + off),
            boot("stock", records(RANDOM, on=True) + stock),
        ]
    )


def test_the_plan_knows_the_limit_and_what_is_expected_of_it() -> None:
    plan = stored(boots(), limited(), sabotage=True).plan
    assert {name: proof.limit for name, proof in plan.proofs.items()} == {
        "prediction": False,
        "longer": True,
    }
    assert plan.hardened == ("stock",)
    assert plan.variants["stock"].expect == {"prediction": B, "longer": V}
    for name in ("none", "constant"):
        assert list(plan.variants[name].expect) == ["prediction"]
        assert f"run {LONGER.line}" not in plan.variants[name].job
    assert not stored(boots(), limited(), (), ("longer",), sabotage=True).plan.hardened


def test_a_plan_of_older_versions_has_no_limits() -> None:
    data = json.loads(stored(GOOD).plan.model_dump_json())
    for proof in data["proofs"].values():
        del proof["limit"]
    plan = RunPlan.model_validate(data)
    assert plan == stored(GOOD).plan
    assert plan.deciding == ["prediction"]


def test_a_limit_that_lands_everywhere_leaves_the_feature_proven() -> None:
    found = report(boots(), limited())
    assert found.evidence["stock"]["longer"].outcome is V
    assert found.proven
    assert found.as_expected
    assert found.outcomes == {"off": V, "stock": B}
    assert found.limits == ["longer"]
    assert found.deciding == ["prediction"]


@pytest.mark.parametrize(
    "made", [boots(stock=HELD), boots(off=FAILED), boots(off=HELD), boots(stock=FAILED)]
)
def test_a_limit_that_ends_otherwise_is_told_and_the_feature_proven(
    made: dict[str, StoredBoot],
) -> None:
    found = report(made, limited())
    assert found.proven
    assert not found.as_expected
    assert "But some outcomes were not expected: " in verdict(found)
    assert "by longer (limit), but VULNERABLE was expected" in verdict(found)
    (mark,) = [
        text
        for table in outcome_tables(found)
        for row in table.rows
        for text in texts(row)
        if "!" in text
    ]
    assert mark in ("BLOCKED !", "UNSUPPORTED !")
    assert results(found)["verdict, all as expected"] is Result.FAILED
    assert Result.FAILED in {
        result for name, result in results(found).items() if "longer (limit)" in name
    }


def test_a_limit_that_lands_does_not_make_up_for_a_control_that_holds() -> None:
    _, held = boot("off", records(RANDOM, on=False) + LANDED)
    found = report({**boots(), "off": held}, limited(off={"prediction": U}))
    assert found.outcomes["off"] is B
    assert not found.proven
    _, unfit = boot("off", records(CONSTANT, on=False, status=77) + LANDED)
    found = report({**boots(), "off": unfit}, limited(off={"prediction": U}))
    assert found.as_expected
    assert not found.proven


def by_limits(**found: list[dict[str, object]]) -> ProofReport:
    return report(boots(**found), limited(), proofs=("longer",))


def test_a_run_by_limits_alone_shows_them_and_proves_nothing() -> None:
    found = by_limits()
    assert not found.proven
    assert found.as_expected
    assert found.hardened == []
    assert found.outcomes == {}
    assert verdict(found) == (
        "This run shows only known limits of kstack and proves nothing. "
        "As expected: off is VULNERABLE; stock is VULNERABLE."
    )
    first = proof_document(found).conclusion[0]
    assert isinstance(first, Paragraph)
    assert first.tone is Tone.DOUBT
    assert "Some outcomes were not expected: stock is BLOCKED, but" in verdict(
        by_limits(stock=HELD)
    )


def test_a_run_by_limits_alone_says_what_was_not_in_force() -> None:
    _, off = boot("stock", records(RANDOM, on=False) + LANDED)
    found = report({**boots(), "stock": off}, limited(), proofs=("longer",))
    assert ". stock: 2 of 2 in-force checks found it off" in verdict(found)


def test_a_limit_excuses_no_complaint_of_a_sound_kernel() -> None:
    """Or one that names a limit would count as broken on purpose."""
    feature = limited(none={"prediction": B, "longer": V})
    _, sent = boot("none", records(RANDOM, on=True) + LANDED)
    told = sent.model_copy(update={"console": "[ 1.2] BUG: Bad page state\n"})
    found = report({**boots(), "none": told}, feature)
    assert found.evidence["none"]["prediction"].outcome is U


def with_limits(
    told: ProofReport, *names: str, **found: dict[str, Outcome]
) -> ProofReport:
    """Return a report with limits; ``found``: variant -> limit -> how else it ended."""

    def evidence(variant: str, name: str) -> ProofEvidence:
        return ProofEvidence(
            outcome=found.get(variant, {}).get(name, V),
            expected=V,
            reasons=["the write landed"],
            figures={},
            clock="",
        )

    return told.model_copy(
        update={
            "limits": list(names),
            "proofs": {**told.proofs, **{name: f"write by {name}" for name in names}},
            "as_expected": told.as_expected and not found,
            "evidence": {
                variant: {
                    **of_variant,
                    **{
                        name: evidence(variant, name)
                        for name in names
                        if variant not in told.sabotages
                    },
                }
                for variant, of_variant in told.evidence.items()
            },
        }
    )


def test_the_verdict_names_the_limits_and_counts_the_others() -> None:
    assert verdict(with_limits(proof_report_of_writes(), "file-vma")) == (
        "kstack is PROVEN: off is VULNERABLE, stock is BLOCKED, by each of 35 proofs. "
        "Known limit: file-vma, which lands on stock. "
        "All 2 sabotages came out as expected."
    )
    assert verdict(with_limits(told_report(), "file-vma", "swap")) == (
        "kstack is PROVEN: off is VULNERABLE, stock is BLOCKED. "
        "Known limits: file-vma, swap, which land on stock."
    )
    left_out = {"proofs_left_out": ["leak"]}
    assert verdict(
        with_limits(told_report(), "file-vma").model_copy(update=left_out)
    ).startswith("kstack is PROVEN by prediction: off is")


def test_a_limit_that_is_stopped_is_no_known_one() -> None:
    report = with_limits(told_report(), "file-vma", "swap", stock={"swap": B})
    assert verdict(report) == (
        "kstack is PROVEN: off is VULNERABLE, stock is BLOCKED. "
        "Known limit: file-vma, which lands on stock. "
        "But some outcomes were not expected: stock is BLOCKED by swap (limit), "
        "but VULNERABLE was expected."
    )


def test_a_limit_is_no_reason_why_something_is_not_proven() -> None:
    expected = {"off": V, "stock": B}
    failed = told_report({"off": U, "stock": B}, expected)
    report = with_limits(failed, "file-vma", off={"file-vma": U})
    assert verdict(report) == (
        "kstack is NOT PROVEN: the control off is UNSUPPORTED by prediction, so the "
        "attack shows nothing. Known limit: file-vma, which lands on stock."
    )
    # A hardened variant that did not boot has no evidence.
    del report.evidence["stock"]
    assert "Known limit" not in verdict(report)


def test_a_limit_that_cannot_apply_to_the_control_exempts_it_from_nothing() -> None:
    report = with_limits(proof_report_of_many(), "file-vma")
    of_control = report.evidence["off"]
    of_control["file-vma"] = of_control["leak"]
    assert "6 proofs (leak cannot apply to off)" in verdict(report)


def toned(told: ProofReport, label: str) -> set[Tone]:
    """Return the tones of the outcomes of one proof, be it a row or a column."""
    return {
        cell.tone
        for table in outcome_tables(told)
        for row in table.rows
        for name, cell in zip(table.columns, row.cells, strict=True)
        if cell.parts and label in (row.label, name)
    }


def test_tables_take_a_limit_for_neither_failure_nor_success() -> None:
    # One proof more is a column; with six, proofs are rows.
    for told in (told_report(), proof_report_of_many()):
        limits = with_limits(told, "file-vma", stock={"file-vma": B})
        assert toned(limits, "file-vma (limit)") == {Tone.PLAIN}
        assert toned(limits, "prediction") == {Tone.BAD, Tone.GOOD}
        assert NOTE in outcome_notes(limits)
        assert NOTE not in outcome_notes(told)


def test_of_many_proofs_limits_are_told_apart() -> None:
    report = with_limits(proof_report_of_writes(), "file-vma", "swap")
    sound, _ = outcome_summary(report)
    assert [(row.label, texts(row)) for row in sound.rows] == [
        ("user-pte and 34 more", ["VULNERABLE", "BLOCKED", "UNSUPPORTED"]),
        ("file-vma (limit) and 1 more", ["VULNERABLE"] * 3),
    ]
    assert (
        "off is VULNERABLE by file-vma (limit), swap (limit); file-vma: the write "
        "landed" in example_lines(report)
    )


def test_all_forms_of_the_report_call_it_a_limit() -> None:
    for told in (told_report(), proof_report_of_writes()):
        document = proof_document(with_limits(told, "file-vma"))
        page = to_html([document])
        assert "file-vma (limit): write by file-vma</h" in page
        for text in (printed([document]), to_markdown([document]), page):
            assert "file-vma (limit)" in text
            assert NOTE in text
            said = " ".join(text.split())
            assert "Known limit: file-vma, which lands on stock." in said


def test_test_results_skip_a_limit_while_it_lands() -> None:
    report = with_limits(told_report(), "file-vma")
    for variant in ("off", "stock"):
        name = f"{variant}, file-vma (limit)"
        assert results(report)[name] is Result.SKIPPED
    assert Result.FAILED not in results(report).values()
    assert "ok 3 file-vma (limit) # SKIP VULNERABLE, as expected" in to_ktap([report])
    assert '<skipped message="VULNERABLE, as expected">' in to_junit([report])
    # A variant to compare with may stop it.
    stopped = report.evidence["off"]["prediction"]
    report.evidence["off"]["file-vma"] = stopped.model_copy(
        update={"outcome": B, "expected": B}
    )
    assert results(report)["off, file-vma (limit)"] is Result.PASSED


def test_spreadsheets_tell_limits() -> None:
    text = to_csv(with_limits(told_report(), "file-vma"))
    lines = csv.DictReader(io.StringIO(text, newline=""))
    assert {(line["proof"], line["limit"]) for line in lines} == {
        ("prediction", "False"),
        ("file-vma", "True"),
    }


def test_the_history_tells_limits() -> None:
    run = stored(boots(), limited())
    assert [each.limit for each in history(run).outcomes] == [False, True] * 2
    text = to_markdown([history_document(history(run))])
    assert text.count("VULNERABLE (limit)") == 2


def history(run: StoredRun) -> HistoryReport:
    return history_report("kstack", "x86_64", "", Kind.PROVE, {run.id: lambda: run})


def history_of(proofs: int) -> str:
    """Return the history of so many proofs that held, and of a limit."""
    report = history(stored(boots(), limited()))
    held, lands = (each for each in report.outcomes if each.variant == "stock")
    many = [held.model_copy(update={"proof": f"proof-{n}"}) for n in range(proofs)]
    told = report.model_copy(update={"outcomes": [*many, lands]})
    return to_markdown([history_document(told)])


def test_the_worst_of_many_proofs_in_the_history_is_no_limit() -> None:
    text = history_of(13)
    assert "worst of 13 proofs" in text
    assert "BLOCKED" in text
    assert "VULNERABLE" not in text
    # A limit does not make too many of them.
    text = history_of(12)
    assert "worst of" not in text
    assert "VULNERABLE (limit)" in text
