"""Terminal and Markdown, against golden files.

``TEMPER_REGENERATE=1 .venv/bin/pytest tests/unit`` writes them anew; look at the
difference before you commit it.
"""

import io
import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console
from samples import (
    SWITCH,
    WRITES,
    price_run,
    proof_report,
    proof_report_of_many,
    proof_report_of_writes,
)

from temper.analysis.models import PriceReport, ProofReport
from temper.analysis.price import price_report
from temper.record.outcome import Outcome
from temper.report import attacks, words
from temper.report.attacks import attack_lines
from temper.report.document import Cell, Document, Row, Table
from temper.report.layout import grids
from temper.report.markdown import to_markdown
from temper.report.outcomes import SURPRISE_NOTE, UNTRIED_NOTE, outcome_tables
from temper.report.price_document import price_document
from temper.report.proof_document import proof_document
from temper.report.tables import model_table, switch_table
from temper.report.terminal import print_documents
from temper.report.verdict import left_out, verdict

GOLDEN = Path(__file__).parent / "golden"
FOUR = ("off", "stock", "lfsr", "temper")
V, B, U = Outcome.VULNERABLE, Outcome.BLOCKED, Outcome.UNSUPPORTED
SABOTAGES = {
    "off": V,
    "stock": B,
    "none": B,
    "constant": V,
    "three-bits": V,
    "alternating": V,
    "skewed": V,
}


def refused_run() -> PriceReport:
    """Price a run in which one check of stock found it off."""
    run = price_run(("off", "stock", "lfsr"))
    next(r for r in run.boots[1].records if r["type"] == "in_force")["on"] = False
    return price_report(run)


def inexact_run() -> PriceReport:
    """Price a run whose second boot of off took its samples in another order."""
    run = price_run()
    for record in run.boots[2].records:
        if record["type"] == "workload":
            record["sequence"] = "0" * 16
    return price_report(run)


def part_of(report: ProofReport, variants: list[str], proofs: list[str]) -> ProofReport:
    """Return the report as of a feature that has these, too."""
    left_out = {"variants_left_out": variants, "proofs_left_out": proofs}
    return report.model_copy(update=left_out)


def failed_writes() -> ProofReport:
    """Return a proof by 35 attacks of which one lands, and 25 cannot run."""
    hung = dict.fromkeys(WRITES[10:], U)
    return proof_report_of_writes(
        {"stock": {"user-pte": V, **hung}, "pgd-unkeyed": {"init-pgd": B}}
    )


WHOLE: dict[str, Callable[[], Document]] = {
    # Four variants go on in a second grid; all sections there are.
    "price": lambda: price_document(
        price_report(price_run(FOUR, switch=SWITCH, moves=(2, 4)))
    ),
    "price-refused": lambda: price_document(refused_run()),
    "proof": lambda: proof_document(proof_report_of_many()),
    "proof-of-writes": lambda: proof_document(failed_writes()),
}
"""What stands in golden files: each has what the others have not."""


def terminal(
    *reports: PriceReport | ProofReport, width: int = 100, full: bool = False
) -> str:
    return printed([document(report) for report in reports], width, full)


def printed(documents: list[Document], width: int = 100, full: bool = False) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, color_system=None)
    print_documents(console, documents, full=full)
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def markdown(*reports: PriceReport | ProofReport, full: bool = False) -> str:
    return to_markdown((document(report) for report in reports), full=full)


def document(report: PriceReport | ProofReport) -> Document:
    if isinstance(report, PriceReport):
        return price_document(report)
    return proof_document(report)


def check_golden(name: str, text: str) -> None:
    path = GOLDEN / name
    if os.environ.get("TEMPER_REGENERATE"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", WHOLE)
def test_documents_are_written_as_agreed(name: str) -> None:
    whole = WHOLE[name]()
    check_golden(f"{name}.terminal.txt", printed([whole]))
    check_golden(f"{name}.terminal-full.txt", printed([whole], full=True))
    check_golden(f"{name}.markdown.txt", to_markdown([whole]))


def test_counts_that_did_not_repeat_are_not_called_exact() -> None:
    report = inexact_run()
    why = "syscall/getpid: the order of samples differs between boot 1 of off"
    for text in (terminal(report), markdown(report)):
        assert f"NOT EXACT: {why}" in " ".join(text.split())
        assert "NOT EXACT. Instructions per operation" in text
        assert "(?)" in text


def test_what_was_not_checked_was_not_found_off() -> None:
    report = proof_report()
    none = {"checks": 0, "agreed": 0, "found": None}
    off = report.in_force["off"].model_copy(update=none)
    text = terminal(report.model_copy(update={"in_force": {"off": off}}))
    assert "In-force checks: off: not checked.\n" in text
    assert "0 of 0" not in text


def test_a_price_of_what_has_no_proof_says_so() -> None:
    report = price_report(price_run())
    assert "NOT PROVEN" not in terminal(report)
    unproven = report.model_copy(update={"has_proofs": False})
    said = " ".join(terminal(unproven).split())
    assert "kstack is NOT PROVEN: Temper has no attack on it, so this report" in said


def widest(*reports: PriceReport | ProofReport) -> int:
    """Return the length of the longest line of reports, short and full."""
    texts = [
        text
        for full in (False, True)
        for text in (
            markdown(*reports, full=full),
            terminal(*reports, width=200, full=full),
        )
    ]
    return max(len(line) for text in texts for line in text.splitlines())


@pytest.mark.parametrize("scale", [1, 1_000, 123_456_789])
@pytest.mark.parametrize(
    "variants", [("off", "stock"), FOUR, ("off", "sabotage-three-bits", *FOUR[2:])]
)
def test_no_line_is_wider_than_78(variants: tuple[str, ...], scale: int) -> None:
    price = price_report(price_run(variants, scale=scale, switch=SWITCH))
    for proof in (
        proof_report(expected=SABOTAGES),
        proof_report_of_many(),
        failed_writes(),
    ):
        assert widest(proof, price) <= 78


def test_no_line_is_wider_than_78_whatever_things_are_called() -> None:
    run = price_run(("off", "sabotage-three-bits"), scale=123_456_789, switch=SWITCH)
    text = run.model_dump_json()
    for name, longer in (
        ('"off"', '"vmlinuz-6.12.43+deb13-cloud-amd64-signed"'),
        ("sabotage-three-bits", "vmlinuz-6.12.43+deb13-cloud-amd64-unsigned"),
        ("syscall/getppid", "micromm/munmap-virt-ranges-of-huge-pages"),
        ("3f9c2b7d1e6a", "3f9c2b7d1e6a" * 12),
    ):
        text = text.replace(name, longer)
    price = price_report(type(run).model_validate_json(text))
    assert price.rows
    assert price.switches
    assert widest(price) <= 78


def test_a_narrow_terminal_loses_no_figure() -> None:
    text = terminal(price_report(price_run()), width=48, full=True)
    assert max(map(len, text.splitlines())) <= 48
    # Once in the summary, once among all result classes.
    assert text.count("+14 +6.7 % (R)") == 2


def test_a_kernels_brackets_are_no_markup() -> None:
    run = price_run()
    facts = run.boots[1].facts
    facts = facts.model_copy(update={"status": "boot_error", "error": "[red]BUG[/]"})
    run.boots[1] = run.boots[1].model_copy(update={"facts": facts})
    assert "boot 1: [red]BUG[/]" in terminal(price_report(run), width=78)


def test_the_reading_example_is_read_from_the_data() -> None:
    assert words.reading(price_report(price_run(("off", "temper")))) == (
        "Reading: syscall/getpid p50 temper -3 means: the median call takes "
        "3 fewer instructions than with off, 1.5 % cheaper."
    )
    equal = price_report(price_run(("stock", "sabotage-three-bits")))
    assert "takes exactly as many instructions as with stock" in words.reading(equal)


def test_the_command_can_be_pasted_after_wrapping() -> None:
    command = "temper compare a b " + "--cmdline-a 'x=1 y=2' " * 6
    report = price_report(price_run()).model_copy(update={"command": command})
    text = markdown(report)
    lines = text.split("To reproduce\n\n")[1].split("\n\n")[0].splitlines()
    assert len(lines) > 1
    assert all(len(line) <= 78 for line in lines)
    assert all(line.endswith(" \\") for line in lines[:-1])
    joined = " ".join(line.removesuffix("\\") for line in lines)
    assert shlex.split(joined) == shlex.split(command)


@pytest.mark.parametrize(
    ("outcomes", "says"),
    [
        ({"off": V, "stock": B}, "is PROVEN: off is VULNERABLE, stock is BLOCKED."),
        ({"off": B, "stock": B}, "NOT PROVEN: the control off is BLOCKED, so the"),
        ({"off": U, "stock": B}, "NOT PROVEN: the control off is UNSUPPORTED"),
        ({"off": V, "stock": V}, "NOT PROVEN: stock is VULNERABLE, so the attack"),
        ({"off": V, "stock": U}, "NOT PROVEN: stock is UNSUPPORTED, and a"),
    ],
)
def test_the_verdict_gives_its_reason(outcomes: dict[str, Outcome], says: str) -> None:
    report = proof_report(outcomes, {"off": V, "stock": B})
    assert says in verdict(report)


def test_the_verdict_of_several_proofs_names_them() -> None:
    assert verdict(proof_report_of_many()) == (
        "kstack is PROVEN: off is VULNERABLE, stock is BLOCKED, by each of 6 proofs "
        "(leak cannot apply to off). But some outcomes were not "
        "expected: lfsr is VULNERABLE by clock, but BLOCKED was expected."
    )


@pytest.mark.parametrize(
    ("variants", "proofs", "says"),
    [
        (
            ["lfsr", "temper"],
            ["clock"],
            "kstack is PROVEN for stock by prediction: off is VULNERABLE, stock is "
            "BLOCKED. Not in this run: the variants lfsr, temper; the proofs clock.",
        ),
        (
            ["lfsr"],
            [],
            "kstack is PROVEN for stock: off is VULNERABLE, stock is BLOCKED. "
            "Not in this run: the variants lfsr.",
        ),
        (
            [],
            ["clock", "early"],
            "kstack is PROVEN by prediction: off is VULNERABLE, stock is BLOCKED. "
            "Not in this run: the proofs clock, early.",
        ),
    ],
)
def test_the_verdict_on_a_part_says_of_what_it_speaks(
    variants: list[str], proofs: list[str], says: str
) -> None:
    report = part_of(proof_report(), variants, proofs)
    assert f"{verdict(report)} {left_out(report)}" == says
    assert left_out(report) in " ".join(terminal(report).split())


def unheld(report: ProofReport) -> ProofReport:
    """Return the report of a part in which no variant has to hold."""
    return report.model_copy(update={"hardened": [], "proven": False})


def test_the_verdict_where_nothing_had_to_hold_says_what_was_shown() -> None:
    found = {"off": V, "stock": U, "constant": V}
    report = unheld(proof_report(found))
    assert verdict(report) == (
        "kstack is NOT PROVEN: no hardened variant was attacked. As expected: "
        "off is VULNERABLE; stock is UNSUPPORTED; constant is VULNERABLE."
    )
    report = unheld(proof_report({**found, "constant": B}, found))
    assert verdict(report) == (
        "kstack is NOT PROVEN: no hardened variant was attacked. Some outcomes were "
        "not expected: constant is BLOCKED, but VULNERABLE was expected."
    )


def nothing_expected(report: ProofReport, variant: str) -> ProofReport:
    evidence = {
        proof: found.model_copy(update={"expected": None})
        for proof, found in report.evidence[variant].items()
    }
    return report.model_copy(
        update={"evidence": {**report.evidence, variant: evidence}}
    )


def test_an_outcome_that_nobody_expected_is_none_as_expected() -> None:
    report = nothing_expected(unheld(proof_report_of_many()), "stock")
    report.evidence["lfsr"]["clock"] = report.evidence["lfsr"]["across-tasks"]
    said = verdict(report)
    assert "As expected: off is VULNERABLE by prediction, across-tasks, clock," in said
    assert "; off is UNSUPPORTED by leak; lfsr is VULNERABLE by across-tasks" in said
    assert "stock is" not in said


def test_sabotages_that_no_proof_here_is_for_are_not_counted() -> None:
    assert verdict(proof_report(SABOTAGES)).endswith(
        "All 5 sabotages came out as expected."
    )
    report = nothing_expected(proof_report(SABOTAGES), "skewed")
    assert verdict(report).endswith(
        "All 4 sabotages for these proofs came out as expected."
    )


def test_one_sabotage_is_named_and_none_is_not_told() -> None:
    report = proof_report({"off": V, "stock": B, "skewed": V})
    assert verdict(report).endswith(
        "stock is BLOCKED. The sabotage skewed came out as expected."
    )
    report = nothing_expected(report, "skewed")
    assert verdict(report).endswith("stock is BLOCKED.")


def test_a_proof_that_ends_otherwise_is_marked() -> None:
    text = terminal(proof_report_of_many())
    assert text.count("VULNERABLE !") == 1
    assert SURPRISE_NOTE in text
    assert SURPRISE_NOTE not in terminal(proof_report())


def test_a_sabotage_that_is_not_caught_is_told_with_the_verdict() -> None:
    report = proof_report({**SABOTAGES, "three-bits": B}, SABOTAGES)
    assert verdict(report).endswith(
        "But some outcomes were not expected: three-bits is BLOCKED, "
        "but VULNERABLE was expected."
    )


def test_a_proof_that_was_not_in_force_says_so() -> None:
    report = proof_report()
    off = report.in_force["stock"].model_copy(update={"agreed": 2, "found": False})
    report = report.model_copy(update={"proven": False, "in_force": {"stock": off}})
    assert verdict(report) == (
        "kstack is NOT PROVEN: stock: 1 of 3 in-force checks found it off, "
        "but it must be on (distinct positions 33, calls 512)."
    )


def test_of_many_reasons_the_first_are_told_and_the_rest_counted() -> None:
    report = proof_report({"off": V, "stock": B})
    (found,) = report.evidence["off"].values()
    (name,) = report.proofs
    found.reasons[:] = ["one", "two", "three"]
    assert attack_lines(report, name)[0] == "off is VULNERABLE: one; two; three"
    found.reasons[:] += ["four", "five"]
    assert attack_lines(report, name)[0] == (
        "off is VULNERABLE: one; two; three; and 2 more in the JSON"
    )


def test_of_many_proofs_those_that_ended_alike_are_told_together() -> None:
    said = verdict(failed_writes())
    assert said == (
        "kstack is NOT PROVEN: stock is VULNERABLE by user-pte, so the attack landed; "
        "stock is UNSUPPORTED by vmalloc-pte, vmalloc-pmd, vmalloc-pud and 22 more, "
        "and a proof that could not run proves nothing."
    )
    assert verdict(proof_report_of_writes()) == (
        "kstack is PROVEN: off is VULNERABLE, stock is BLOCKED, by each of 35 proofs. "
        "All 2 sabotages came out as expected."
    )


def test_of_many_proofs_the_verdict_on_a_part_names_a_few() -> None:
    report = part_of(proof_report_of_writes(), [], WRITES)
    assert verdict(report).startswith(
        "kstack is PROVEN by user-pte, user-pmd, user-pud and 32 more: "
    )
    assert left_out(report) == (
        "Not in this run: the proofs user-pte, user-pmd, user-pud and 32 more."
    )


def test_reasons_that_differ_are_not_told_as_one() -> None:
    report = failed_writes()
    report.evidence["stock"]["fork-pgd"].reasons[:] = ["it cannot run"]
    lines = attacks.unexpected_lines(report)
    assert [line.partition(":")[0] for line in lines] == [
        "stock is VULNERABLE by user-pte, but BLOCKED was expected",
        "stock is UNSUPPORTED by vmalloc-pte, vmalloc-pmd, vmalloc-pud and 21 more, "
        "but BLOCKED was expected",
        "stock is UNSUPPORTED by fork-pgd, but BLOCKED was expected",
        "pgd-unkeyed is BLOCKED by init-pgd, but VULNERABLE was expected",
    ]
    assert lines[2].endswith(": it cannot run")


def test_of_many_proofs_the_tables_have_all_that_was_expected() -> None:
    sound, sabotaged = outcome_tables(failed_writes())
    assert sound.columns == ("off", "stock", "no-pks")
    assert sabotaged.columns == ("pte-unkeyed", "pgd-unkeyed")
    assert [row.label for row in sound.rows] == WRITES
    assert texts(sound.rows[0]) == ["VULNERABLE", "VULNERABLE !", "UNSUPPORTED"]
    assert [(row.label, texts(row)) for row in sabotaged.rows] == [
        ("user-pte", ["VULNERABLE", ""]),
        ("init-pgd", ["", "BLOCKED !"]),
    ]


def test_what_did_not_attack_a_sabotage_leaves_its_cell_empty() -> None:
    report = proof_report_of_many()
    assert UNTRIED_NOTE not in terminal(report)
    del report.evidence["none"]["storm"]
    assert UNTRIED_NOTE in terminal(report)
    *_, sabotaged = outcome_tables(report)
    tried = [proof for proof in report.proofs if proof != "storm"]
    assert [row.label for row in sabotaged.rows] == tried
    two = {proof: report.proofs[proof] for proof in ("storm", "early")}
    (table,) = outcome_tables(report.model_copy(update={"proofs": two}))
    found = {row.label: texts(row) for row in table.rows}
    assert found["none"] == ["", "BLOCKED"]
    assert found["stock"] == ["BLOCKED", "BLOCKED"]


def texts(row: Row) -> list[str]:
    return [" ".join(cell.parts) for cell in row.cells]


def test_what_a_switch_takes_stands_apart_from_what_was_measured() -> None:
    text = printed([WHOLE["price"]()], full=True)
    measured, _, model = text.partition("A stated model, not measured: cycles for")
    assert "Source: A Manual, chapter 3." in model
    # What stands beside a price says that it is the model's.
    assert re.search(r"model: up\s+to\s+\+201\s+cycles", measured)
    assert measured.count("cycles") == measured.count("model: ")
    # No feature that states none gets a table of it.
    stated_none = price_report(price_run(FOUR))
    assert "A stated model" not in terminal(stated_none, full=True)
    assert "Source" not in markdown(stated_none, full=True)


def test_tables_of_switches_fit_a_mail_however_large_they_are() -> None:
    switch = SWITCH.model_copy(update={"cycles": (123_456, 987_654_321.5)})
    run = price_run((*FOUR, "sabotage-three-bits"), switch=switch)
    text = run.model_dump_json()
    longer = "micromm/munmap-virt-ranges-of-huge-pages"
    text = text.replace("syscall/getppid", longer)
    report = price_report(type(run).model_validate_json(text))
    counted, model = switch_table(report), model_table(report)
    assert counted
    assert model
    assert len(grids(model)) > 1
    assert max(grid.width for grid in [*grids(counted), *grids(model)]) <= 78
    names = [name for grid in grids(model) for name in grid.headings]
    assert names == ["stock", "lfsr", "temper", "sabotage-three-bits"]
    # All of a long name is there, and the figures once.
    for grid in [*grids(counted), *grids(model)]:
        assert len([line for line in grid.lines if any(line.cells)]) == 4
        assert longer in "".join(line.label for line in grid.lines)


def test_the_name_of_a_function_is_not_broken() -> None:
    name = "restore_regs_and_return_to_kernel"
    (grid,) = grids(Table(("instructions",), (Row(name, (Cell(("1",)),)),), "title"))
    assert [line.label for line in grid.lines] == [name]
    assert grid.width <= 78
