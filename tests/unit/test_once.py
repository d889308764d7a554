"""What variants take once: the start of the system, and the kernel's memory."""

from samples import changed, price_boot, price_run

from temper.analysis.price import price_report
from temper.record.boot import StoredBoot
from temper.report.markdown import to_markdown
from temper.report.price_document import price_document

MEMORY = {"off": {"code": 1_000, "data": 50}, "stock": {"code": 1_024, "data": 50}}


def boot(variant: str, repeat: int, started: int | None = 5_000) -> StoredBoot:
    made = changed(price_boot(variant, repeat), memory=MEMORY[variant])
    if started is None:
        return made
    record = {
        "type": "startup",
        "n": len(made.records),
        "kernel_instructions": started + (variant == "stock") * 400,
    }
    return made.model_copy(update={"records": [*made.records, record]})


def rows(*boots: StoredBoot) -> list[tuple[str, str, int, int]]:
    report = price_report(price_run(boots=boots))
    return [(row.what, row.unit, row.value, row.delta) for row in report.once]


def test_each_variant_is_compared_with_the_baseline() -> None:
    assert rows(*(boot(v, n) for v in MEMORY for n in (0, 1))) == [
        ("start of the system", "instructions", 5_400, 400),
        ("code", "bytes", 1_024, 24),
        ("data", "bytes", 50, 0),
    ]


def test_a_start_that_did_not_repeat_has_no_price() -> None:
    boots = [boot("off", 0), boot("off", 1, 5_001), boot("stock", 0), boot("stock", 1)]
    assert [what for what, *_ in rows(*boots)] == ["code", "data"]


def test_what_was_not_measured_of_the_baseline_has_no_price() -> None:
    boots = [boot("off", n, None) for n in (0, 1)]
    boots += [boot("stock", n) for n in (0, 1)]
    assert [what for what, *_ in rows(*boots)] == ["code", "data"]


def test_boots_of_older_runs_have_none_of_it() -> None:
    report = price_report(price_run())
    assert report.once == []
    assert "Start and memory" not in to_markdown([price_document(report)], full=True)


def test_the_table_names_units_and_direction() -> None:
    boots = [boot(v, n) for v in MEMORY for n in (0, 1)]
    text = to_markdown(
        [price_document(price_report(price_run(boots=boots)))], full=True
    )
    table = text[text.index("Start and memory") :]
    assert "+ is more" in table
    assert "code (bytes)" in table
    assert "+24 +2.4 %" in table
