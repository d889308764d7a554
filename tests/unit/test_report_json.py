import json
import os
from pathlib import Path

import pytest
from samples import SWITCH, price_run, proof_report, proof_report_of_writes

from temper.analysis.models import PriceReport, ProofReport
from temper.analysis.price import price_report
from temper.report.as_json import SCHEMAS, schema, to_json

DOCS = Path(__file__).parents[2] / "docs"


def test_price_has_the_promised_keys() -> None:
    found = json.loads(to_json(price_report(price_run())))
    assert {"feature", "baseline", "machine", "exact", "rows", "in_force"} <= set(found)
    assert found["schema_version"] == 2
    assert found["exact"] is True
    assert found["rows"][6] == {
        "workload": "syscall/getppid",
        "class": "p50",
        "unit": "instructions",
        "variant": "stock",
        "value": 224,
        "baseline_value": 210,
        "delta": 14,
        "delta_percent": pytest.approx(100 * 14 / 210),
        "mark": "(R)",
        "without_ticks": True,
        "spread": None,
    }


def test_prove_has_the_promised_keys() -> None:
    found = json.loads(to_json(proof_report()))
    assert {"feature", "outcomes", "proven", "evidence"} <= set(found)
    assert found["outcomes"] == {"off": "VULNERABLE", "stock": "BLOCKED"}
    assert found["proven"] is True


def test_a_report_survives_the_way_through_json() -> None:
    price, proof = price_report(price_run(switch=SWITCH)), proof_report_of_writes()
    assert PriceReport.model_validate_json(to_json(price)) == price
    assert ProofReport.model_validate_json(to_json(proof)) == proof


def test_the_same_data_gives_the_same_bytes_and_no_minus_zero() -> None:
    equal = price_run(("stock", "sabotage-three-bits"))
    text = to_json(price_report(equal))
    assert text == to_json(price_report(equal))
    assert "-0.0" not in text


@pytest.mark.parametrize("name", SCHEMAS)
def test_published_schemas_are_up_to_date(name: str) -> None:
    path = DOCS / "schema" / name
    if os.environ.get("TEMPER_REGENERATE"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(schema(name), encoding="utf-8")
    assert schema(name) == path.read_text(encoding="utf-8"), (
        f"{path} is old: run TEMPER_REGENERATE=1 .venv/bin/pytest {Path(__file__).name}"
    )


def test_every_field_of_the_schemas_is_documented() -> None:
    text = (DOCS / "json.md").read_text(encoding="utf-8")
    for name in SCHEMAS:
        described = json.loads(schema(name))
        for model in (described, *described["$defs"].values()):
            for field in model.get("properties", {}):
                assert f"`{field}`" in text, f"{name}: {field}"
