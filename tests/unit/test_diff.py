"""What changed from one run to another, and which runs cannot be compared."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from samples import STARTED, changed, price_boot, price_run
from test_proof_report import CONSTANT, GOOD, RANDOM, boot, records, stored
from typer.testing import CliRunner

from temper.analysis.diff import diff_report
from temper.analysis.diff_models import Change, DiffReport
from temper.cli import app
from temper.errors import InputError
from temper.record.boot import StoredBoot, StoredRun
from temper.record.outcome import Outcome
from temper.record.plan import Kind
from temper.report.diff_document import diff_document
from temper.report.markdown import to_markdown
from temper.store import Store

PRICED = ("off", "stock")


Records = dict[str, Any]


def histograms(
    change: Callable[[Records], Records], tick: bool
) -> Callable[[StoredBoot], StoredBoot]:
    """Return what changes the histograms of a boot, with or without ticks."""

    def changed(boot: StoredBoot) -> StoredBoot:
        records = [
            change(r) if r["type"] == "histogram" and r["tick"] is tick else r
            for r in boot.records
        ]
        return boot.model_copy(update={"records": records})

    return changed


def slower(boot: StoredBoot, workload: str, more: int) -> StoredBoot:
    """Return a boot whose samples of ``workload``, without ticks, take longer."""

    def change(record: Records) -> Records:
        if record["workload"] != workload:
            return record
        return {**record, "bins": [[value + more, n] for value, n in record["bins"]]}

    return histograms(change, tick=False)(boot)


def price(
    change: Callable[[StoredBoot], StoredBoot] = lambda boot: boot,
    number: int = 8,
    variants: tuple[str, ...] = PRICED,
    **more: object,
) -> StoredRun:
    """Return a price whose boots are changed; ``more``: fields of its plan."""
    run = price_run(variants)
    plan = run.plan.model_copy(update=more)
    boots = [change(each) for each in run.boots]
    return run.model_copy(update={"id": number, "plan": plan, "boots": boots})


def of_variant(
    name: str, change: Callable[[StoredBoot], StoredBoot]
) -> Callable[[StoredBoot], StoredBoot]:
    return lambda boot: change(boot) if boot.facts.variant == name else boot


def proof(boots: dict[str, StoredBoot], number: int = 8) -> StoredRun:
    update = {"id": number, "finished": STARTED}
    return stored(boots).model_copy(update=update)


def text(report: DiffReport) -> str:
    return to_markdown([diff_document(report)])


def words(report: DiffReport) -> str:
    return " ".join(text(report).split())


def test_nothing_differs_between_two_runs_of_the_same() -> None:
    report = diff_report(price(number=7), price())
    assert not report.differs
    # And the whole loops.
    assert report.compared == 4 * (5 * 2 + 1) * 2
    assert not report.conditions
    assert not report.unmatched
    assert "Nothing differs between runs 7 and 8: all 88 values" in words(report)


def test_a_value_and_its_price_are_told_before_and_after() -> None:
    one_more = of_variant("stock", lambda boot: slower(boot, "syscall/getpid", 3))
    report = diff_report(price(number=7), price(one_more))
    assert report.differs
    quiet = [change for change in report.values if change.without_ticks]
    assert {(x.workload, x.variant) for x in report.values} == {
        ("syscall/getpid", "stock")
    }
    assert [(x.before, x.after) for x in quiet] == [(220, 223)] * 5
    assert [(x.price_before, x.price_after) for x in quiet] == [(14, 17)] * 5
    (line,) = [x for x in text(report).splitlines() if "all classes" in x]
    assert "220 | 223 | +3 +1.4 % | +14 to +17" in " ".join(line.split())
    # The same values with ticks change, too, which tells nothing more.
    assert "## Including samples hit by a timer tick" not in text(report)


def test_a_baseline_that_changes_is_told_once_and_changes_prices() -> None:
    both = diff_report(
        price(number=7), price(lambda boot: slower(boot, "syscall/getpid", 2))
    )
    base = [x for x in both.values if x.variant == "off" and x.without_ticks]
    assert [(x.before, x.after, x.price_after) for x in base] == [(206, 208, None)] * 5
    stock = [x for x in both.values if x.variant == "stock" and x.without_ticks]
    assert [(x.price_before, x.price_after) for x in stock] == [(14, 14)] * 5
    alone = diff_report(
        price(number=7),
        price(of_variant("off", lambda boot: slower(boot, "syscall/getpid", 2))),
    )
    stock = [x for x in alone.values if x.variant == "stock" and x.without_ticks]
    assert [(x.before, x.after, x.price_after) for x in stock] == [(220, 220, 12)] * 5


def test_classes_that_change_alike_share_a_line() -> None:
    def most_longer(record: Records) -> Records:
        # ctx/pipe has another bin, of the longest.
        (value, calls), *rest = record["bins"]
        return {**record, "bins": [[value + 2 * bool(rest), calls], *rest]}

    report = diff_report(price(number=7), price(histograms(most_longer, tick=False)))
    rows = [line.split("|") for line in text(report).splitlines() if "|" in line]
    assert [row[1].strip() for row in rows][2:5] == [
        "ctx/pipe, off",
        "mean",
        "p50, p99, p99.9",
    ]


def test_what_only_ticks_change_has_its_own_table() -> None:
    def later(record: Records) -> Records:
        *bins, (value, calls) = record["bins"]
        return {**record, "bins": [*bins, [value + 5000, calls]]}

    report = diff_report(price(number=7), price(histograms(later, tick=True)))
    assert report.values
    assert not any(change.without_ticks for change in report.values)
    assert "## Including samples hit by a timer tick" in text(report)
    assert "## Values" not in text(report)


def test_another_number_of_instructions_of_a_class_is_told() -> None:
    def more_clac(boot: StoredBoot) -> StoredBoot:
        def change(record: Records) -> Records:
            if record["type"] != "classes" or record["region"] != 0:
                return record
            counts = record["counts"]
            return {
                **record,
                "counts": {**counts, "kernel_clac": 2 * counts["kernel_clac"]},
            }

        return boot.model_copy(update={"records": [change(r) for r in boot.records]})

    report = diff_report(price(number=7), price(more_clac))
    assert report.differs
    assert [(x.workload, x.variant, x.instruction_class) for x in report.classes] == [
        ("syscall/getpid", "off", "kernel_clac"),
        ("syscall/getpid", "stock", "kernel_clac"),
    ]
    assert [(x.before, x.after) for x in report.classes] == [(1, 2)] * 2
    (first, _) = [x for x in text(report).splitlines() if "kernel_clac" in x]
    assert "1 | 2 | +1" in " ".join(first.split())


def test_a_price_that_is_refused_and_counts_that_repeat_no_more_are_told() -> None:
    def fails(boot: StoredBoot) -> StoredBoot:
        return changed(boot, status="boot_error", error="it hung")

    refused = diff_report(price(number=7), price(of_variant("stock", fails)))
    why = "its kernel failed in boot 1: it hung"
    assert Change(what="refused", variant="stock", before="no", after=why) in (
        refused.verdicts
    )
    assert f"stock: price refused: no; then {why}" in words(refused)

    def torn(boot: StoredBoot) -> StoredBoot:
        return slower(boot, "ctx/pipe", 1) if boot.facts.repeat else boot

    shaky = diff_report(price(torn, number=7), price())
    (verdict,) = shaky.verdicts
    assert (verdict.what, verdict.after) == ("exact", "yes")
    assert verdict.before.startswith("no: ctx/pipe: the histograms differ")
    assert "The counts are NOT EXACT." in words(shaky)


def test_a_check_that_disagrees_is_told() -> None:
    def off(boot: StoredBoot) -> StoredBoot:
        records = [
            {**r, "on": False} if r["type"] == "in_force" else r for r in boot.records
        ]
        return boot.model_copy(update={"records": records})

    report = diff_report(price(number=7), price(of_variant("stock", off)))
    assert [(x.what, x.variant) for x in report.verdicts][1:] == [
        ("refused", "stock"),
        ("in_force", "stock"),
    ]


def test_what_runs_were_made_with_is_told_and_is_no_difference() -> None:
    def rebuilt(boot: StoredBoot) -> StoredBoot:
        return changed(boot, key="0" * 64, release="6.12.118")

    report = diff_report(price(number=7), price(rebuilt, calls=5, setting="pseudo-nmi"))
    assert not report.differs
    assert [(x.what, x.variant) for x in report.conditions] == [
        ("calls", ""),
        ("setting", ""),
        ("kernel_release", "off"),
        ("kernel_release", "stock"),
        ("kernel_key", "off"),
        ("kernel_key", "stock"),
    ]
    assert "stock: Linux: 6.12.117; then 6.12.118" in words(report)
    assert f"off: kernel key: 3f9c2b7d1e6a; then {'0' * 12} -" in words(report)
    assert "setting: none; then pseudo-nmi" in words(report)


def test_what_only_one_run_has_is_not_compared_but_told() -> None:
    report = diff_report(
        price(number=7, variants=("off", "stock", "lfsr", "temper")), price()
    )
    assert not report.differs
    assert report.compared == 88
    assert [(x.what, x.name, x.run) for x in report.unmatched] == [
        ("variant", "lfsr", 7),
        ("variant", "temper", 7),
    ]
    assert "variants of run 7 only: lfsr, temper" in words(report)


def test_an_outcome_is_told_before_and_after() -> None:
    fallen = {**GOOD, **dict([boot("stock", records(CONSTANT, on=True))])}
    report = diff_report(proof(GOOD, 7), proof(fallen))
    (change,) = report.outcomes
    assert (change.variant, change.proof) == ("stock", "prediction")
    assert (change.before, change.after) == (Outcome.BLOCKED, Outcome.VULNERABLE)
    assert [(x.what, x.before, x.after) for x in report.verdicts] == [
        ("proven", "yes", "no"),
        ("as_expected", "yes", "no"),
    ]
    assert "1 of 2 outcomes differ between runs 7 and 8" in words(report)
    assert "| BLOCKED | VULNERABLE |" in words(report)


def test_a_proof_is_the_same_though_its_samples_are_not() -> None:
    others = {**GOOD, **dict([boot("stock", records(RANDOM[::-1], on=True))])}
    report = diff_report(proof(GOOD, 7), proof(others))
    assert not report.differs
    assert "all 2 outcomes that both have are the same" in words(report)


def on(**change: object) -> Callable[[StoredBoot], StoredBoot]:
    return lambda boot: changed(boot, **change)


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (price(kind=Kind.COMPARE), "the kind of 7 is price, that of 8 is compare"),
        (price(arch="arm64"), "the architecture of 7 is x86_64, that of 8 is arm64"),
        (price(feature="kpkeys"), "the feature of 7 is kstack, that of 8 is kpkeys"),
        (price(machine="kvm"), "the machine of 7 is tcg, that of 8 is kvm"),
        (price(baseline="stock"), "the baseline of 7 is off, that of 8 is stock"),
        (price(on(version="QEMU 10.0.3")), "the QEMU of 7 is QEMU 7.2.22, that of 8"),
        (price(on(cpu_model="Skylake")), "the CPU model of 7 is max, that of 8 is Sky"),
    ],
)
def test_runs_that_cannot_be_compared_are_refused(other: StoredRun, why: str) -> None:
    with pytest.raises(InputError) as caught:
        diff_report(price(number=7), other)
    assert caught.value.message.startswith(f"runs 7 and 8 cannot be compared: {why}")


def test_a_run_that_is_not_finished_is_refused_with_the_way_on() -> None:
    run = price().model_copy(update={"finished": None})
    with pytest.raises(InputError, match="run 8 is not finished") as caught:
        diff_report(price(number=7), run)
    assert caught.value.hint.endswith("--resume 8")


@pytest.mark.parametrize("kind", [Kind.STRESS, Kind.EVENTS, Kind.SELFTEST])
def test_what_is_neither_price_nor_proof_is_refused(kind: Kind) -> None:
    with pytest.raises(InputError, match=f"run 8 is {kind} of kstack: only prices"):
        diff_report(price(number=7), price(kind=kind))


@pytest.fixture
def two_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Store a price, and another in which a call of stock takes one more."""
    monkeypatch.setenv("TEMPER_DATA", str(tmp_path))
    monkeypatch.delenv("TEMPER_STORE", raising=False)
    with Store.open() as store:
        for more in (0, 1):
            run = store.create_run(price_run().plan)
            for variant in PRICED:
                for repeat in range(2):
                    booted = price_boot(variant, repeat)
                    if variant == "stock":
                        booted = slower(booted, "ctx/pipe", more)
                    store.save_boot(run, booted)
            store.finish(run)


@pytest.mark.usefixtures("two_runs")
def test_the_command_says_by_its_status_whether_runs_differ() -> None:
    def temper(*words: str) -> tuple[int, str]:
        done = CliRunner().invoke(app, ["diff", *words], catch_exceptions=False)
        return done.exit_code, done.output

    status, output = temper("1", "2")
    assert status == 1
    assert max(map(len, output.splitlines())) <= 78
    assert "ctx/pipe, stock" in output
    assert temper("2", "2")[0] == 0
    status, output = temper("1", "2", "--json", "-")
    assert (status, DiffReport.model_validate_json(output).before) == (1, 1)
