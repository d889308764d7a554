import csv
import io
import json

from samples import price_run, proof_report_of_many
from test_stress import BOOTS, boot
from test_stress import report as trial

from temper.analysis.price import price_report
from temper.report.as_csv import to_csv
from temper.report.as_json import to_json


def lines(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_a_price_has_the_rows_of_its_json() -> None:
    report = price_report(price_run(("off", "stock", "temper"), moves=(2,)))
    found = lines(to_csv(report))
    rows = json.loads(to_json(report))["rows"]
    assert list(found[0]) == list(rows[0])
    assert [[str(value) for value in row.values()] for row in rows] == [
        list(line.values()) for line in found
    ]
    assert {line["spread"] for line in found if line["class"] == "p50"} == {
        "0.0",
        "2.0",
    }
    unknown = lines(to_csv(price_report(price_run())))
    assert {line["spread"] for line in unknown} == {""}


def test_a_proof_has_a_line_for_each_attack_on_each_variant() -> None:
    found = lines(to_csv(proof_report_of_many()))
    assert len(found) == 4 * 6
    [line] = [
        line for line in found if (line["variant"], line["proof"]) == ("lfsr", "clock")
    ]
    assert (line["outcome"], line["expected"]) == ("VULNERABLE", "BLOCKED")
    # A comma in a reason starts no new cell.
    assert line["reasons"].endswith("the calls, chance is 1.56 % of 64 offsets")


def test_what_json_calls_null_is_empty() -> None:
    report = proof_report_of_many()
    found = report.evidence["off"]["storm"].model_copy(update={"expected": None})
    report.evidence["off"]["storm"] = found
    [line] = [
        line
        for line in lines(to_csv(report))
        if (line["variant"], line["proof"]) == ("off", "storm")
    ]
    assert line["expected"] == ""


def test_a_boot_has_all_that_went_wrong_in_one_cell() -> None:
    report = trial(*map(boot, BOOTS))
    report.boots[0] = report.boots[0].model_copy(update={"wrong": ["a, b", "c"]})
    assert lines(to_csv(report))[0]["wrong"] == "a, b; c"
