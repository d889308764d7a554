from dataclasses import replace

import pytest
from samples import CALLS, OFF, SWITCH, changed, price_boot, price_run

from temper.analysis.models import PriceReport, PriceRow, SwitchRow
from temper.analysis.price import price_report
from temper.cli.reports import status_of
from temper.errors import InputError, StoreError
from temper.record.boot import StoredBoot, StoredRun
from temper.record.plan import Kind, Weighed
from temper.report.markdown import to_markdown
from temper.report.price_document import price_document
from temper.report.summary import summaries
from temper.report.tables import summary_table
from temper.report.words import notes
from temper.stats.comparison import Mark


def row(report: PriceReport, workload: str, name: str, ticks: bool = False) -> PriceRow:
    [found] = [
        r
        for r in report.rows
        if (r.workload, r.result_class) == (workload, name)
        and r.without_ticks is not ticks
    ]
    return found


def boots() -> list[StoredBoot]:
    """Return off, stock, off, stock, as a run has them."""
    return price_run().boots


def with_records(boot: StoredBoot, kind: str, **changes: object) -> StoredBoot:
    """Change all records of one kind."""
    records = [{**r, **changes} if r["type"] == kind else r for r in boot.records]
    return boot.model_copy(update={"records": records})


def without_records(boot: StoredBoot, kind: str) -> StoredBoot:
    records = [r for r in boot.records if r["type"] != kind]
    return boot.model_copy(update={"records": records})


def test_stock_costs_14_instructions_on_every_call() -> None:
    report = price_report(price_run())
    for workload in OFF:
        p50 = row(report, workload, "p50")
        assert (p50.delta, p50.mark) == (14, Mark.REGRESSION)
    getppid = row(report, "syscall/getppid", "p50")
    assert (getppid.baseline_value, getppid.value) == (210, 224)
    assert getppid.delta_percent == pytest.approx(6.6667, abs=1e-3)
    assert report.exact
    assert not report.refused


def test_every_class_is_given_with_and_without_ticks() -> None:
    report = price_report(price_run())
    # And the whole loop, which includes ticks.
    assert len(report.rows) == len(OFF) * (5 * 2 + 1)
    assert row(report, "syscall/getppid", "max").value == 224
    assert row(report, "syscall/getppid", "max", ticks=True).value > 2000
    [count] = [
        t
        for t in report.ticks
        if (t.workload, t.variant) == ("syscall/getpid", "stock")
    ]
    assert (count.hit, count.samples) == (253, CALLS)


def test_a_sample_of_two_operations_is_halved() -> None:
    report = price_report(price_run())
    assert row(report, "ctx/pipe", "p50").baseline_value == 2718 / 2
    rdtsc = [c for c in report.classes if c.instruction_class == "kernel_rdtsc"]
    pipe = next(c for c in rdtsc if c.workload == "ctx/pipe")
    assert pipe.per_operation == pytest.approx(1, abs=1e-3)


def test_equal_counts_are_marked_equal_and_cheaper_ones_improved() -> None:
    run = price_run(("stock", "sabotage-three-bits", "temper"))
    report = price_report(run)
    marks = {
        r.variant: r.mark
        for r in report.rows
        if (r.workload, r.result_class, r.without_ticks) == ("ctx/pipe", "p50", True)
    }
    assert marks == {"sabotage-three-bits": Mark.EQUAL, "temper": Mark.IMPROVEMENT}


def test_a_class_that_only_the_variant_executes_is_shown() -> None:
    run = price_run()
    for boot in run.boots:
        for record in boot.records:
            if record["type"] == "classes" and boot.facts.variant == "off":
                del record["counts"]["kernel_rdtsc"]
    found = [c for c in price_report(run).classes if "rdtsc" in c.instruction_class]
    assert found[0].baseline_per_operation == 0
    assert found[0].per_operation == pytest.approx(1, abs=1e-3)


# Layouts


def test_layouts_tell_a_price_from_chance() -> None:
    variants = ("off", "stock", "temper")
    report = price_report(price_run(variants, moves=(2, 4)))
    marks = {
        r.variant: (r.delta, r.spread, r.mark)
        for r in report.rows
        if (r.workload, r.result_class, r.without_ticks) == ("ctx/pipe", "p50", True)
    }
    assert marks == {
        "stock": (14, 4, Mark.REGRESSION),
        "temper": (-3, 4, Mark.UNKNOWN),
    }
    still = row(price_report(price_run(moves=(2, 4))), "syscall/getpid", "p50")
    assert (still.delta, still.spread, still.mark) == (14, 0, Mark.REGRESSION)
    ticked = row(price_report(price_run(moves=(2, 4))), "ctx/pipe", "p50", ticks=True)
    assert ticked.spread == 4
    # They change neither what is told of the usual one, nor whether it repeats.
    usual = price_report(price_run(variants))
    assert report.exact
    assert report.exact_why == usual.exact_why
    assert [(r.value, r.delta) for r in report.rows] == [
        (r.value, r.delta) for r in usual.rows
    ]
    assert report.classes == usual.classes
    assert report.distributions == usual.distributions


def test_of_one_layout_no_spread_is_known() -> None:
    run = price_run(moves=(2, 4))
    for missing in ("off", "stock"):
        part = [
            boot
            for boot in run.boots
            if (boot.facts.variant, boot.facts.repeat) != (missing, 3)
        ]
        report = price_report(run.model_copy(update={"boots": part}))
        assert {r.spread for r in report.rows} == {None}
        assert "layout of memory would move the differences was not" in said(report)
    report = price_report(price_run())
    assert {r.spread for r in report.rows} == {None}
    assert "layout of memory would move the differences was not" in said(report)


def test_a_kernel_that_fails_in_another_layout_has_no_price() -> None:
    run = price_run(moves=(2,))
    failed = [
        changed(boot, status="boot_error", error="it hung")
        if (boot.facts.variant, boot.facts.repeat) == ("stock", 2)
        else boot
        for boot in run.boots
    ]
    report = price_report(run.model_copy(update={"boots": failed}))
    assert report.refused == {"stock": "its kernel failed in boot 3: it hung"}


def test_it_is_said_how_many_prices_layout_alone_could_make() -> None:
    text = said(price_report(price_run(("off", "stock", "temper"), moves=(2, 4))))
    stock, temper = "temper costs", "on 4 workloads; on 1 of them, no more than the"
    assert text.index(stock) < text.index(temper)
    assert text.count("no more than the layout of memory alone") == 1
    assert "±: how far the difference moves with the layout of memory, in 3" in text


def said(report: PriceReport) -> str:
    return " ".join(to_markdown([price_document(report)]).split())


# Switches


def counted(off: int, stock: int) -> SwitchRow:
    """Return what is said of getpid where its calls had these counts in all."""
    run = price_run(switch=SWITCH)
    for boot in run.boots:
        for record in boot.records:
            if record["type"] == "classes":
                own = {"off": off, "stock": stock}[boot.facts.variant]
                record["counts"]["kernel_rdtsc"] = own
    found = price_report(run).switches
    assert found
    return found.rows[0]


@pytest.mark.parametrize(
    ("off", "stock", "before", "delta", "cycles"),
    [
        (0, 4 * CALLS, 0, 4, (80, 802)),
        (2 * CALLS, 5 * CALLS, 2, 3, (60, 601.5)),
        (3 * CALLS, 3 * CALLS, 3, 0, (0, 0)),
        # Fewer is cheaper, and cheaper by the more the longer one takes.
        (3 * CALLS, CALLS, 3, -2, (-401, -40)),
        (CALLS // 10, CALLS // 10 * 4, 0.1, 0.3, (6, 60.15)),
        (CALLS // 2, CALLS // 4, 0.5, -0.25, (-50.125, -5)),
    ],
)
def test_switches_are_what_the_baseline_has_not(
    off: int, stock: int, before: float, delta: float, cycles: tuple[float, float]
) -> None:
    row = counted(off, stock)
    assert (row.workload, row.variant) == ("syscall/getpid", "stock")
    assert row.baseline_per_operation == before
    assert row.delta == delta
    assert row.cycles == cycles


def test_the_model_weighs_other_instructions_on_the_register() -> None:
    run = price_run(switch=SWITCH)
    for boot in run.boots:
        for record in boot.records:
            if record["type"] == "classes" and boot.facts.variant == "stock":
                record["counts"]["kernel_rdtsc"] += 2 * CALLS
                record["counts"]["kernel_clac"] -= 3 * CALLS // 2
    found = price_report(run).switches
    assert found
    assert found.others == {"kernel_clac": (1, 100)}
    assert found.rows[0].delta == 3
    assert found.rows[0].others == {"kernel_clac": (1, -1.5)}
    assert found.rows[0].cycles == (3 * 20 - 150, 3 * 200.5 - 1.5)


def test_beside_a_price_stands_what_the_upper_bound_would_make_of_it() -> None:
    report = price_report(price_run(switch=SWITCH))
    table = summary_table(report, summaries(report))
    # 200.5, and never less.
    remarks = {row.cells[-1].parts for row in table.rows}
    assert remarks == {
        ("every call; model: up to +201 cycles",),
        ("about the same; model: up to +201 cycles",),
    }
    # Instead of saying that there are too few samples to say anything.
    few = [replace(each, samples=50) for each in summaries(report)]
    assert {row.cells[-1].parts for row in summary_table(report, few).rows} == {
        ("every call; model: up to +201 cycles",),
        ("model: up to +201 cycles",),
    }
    assert "Model: what hardware may take for level switches in addition" in said(
        report
    )
    for run in (price_run(("off", "temper"), switch=SWITCH), price_run()):
        assert "model: " not in said(price_report(run)).lower()


def test_a_borrowed_bound_is_said_to_be_borrowed() -> None:
    document = price_document(price_report(price_run(switch=SWITCH)))
    text = " ".join(to_markdown([document], full=True).split())
    assert (
        "at 20 to 200.50 for each kernel_rdtsc and 1 to 100 for each kernel_clac; + is "
        "more expensive than off. The lower bound is that of another instruction. Not "
    ) in text


def test_the_model_is_told_as_it_was_stated() -> None:
    found = price_report(price_run(switch=SWITCH)).switches
    assert found
    assert (found.title, found.source) == (SWITCH.title, SWITCH.source)
    assert found.borrowed == SWITCH.borrowed
    assert (found.counted_as, found.cycles) == (SWITCH.counted_as, SWITCH.cycles)
    assert [row.workload for row in found.rows] == list(OFF)


def test_a_switch_that_no_class_counts_is_refused() -> None:
    wrong = SWITCH.model_copy(update={"counted_as": "wrmsr"})
    with pytest.raises(InputError, match="no class of instructions is 'wrmsr'"):
        price_report(price_run(switch=wrong))
    other = Weighed(counted_as="rdmsr", cycles=(1, 2))
    wrong = SWITCH.model_copy(update={"others": (other,)})
    with pytest.raises(InputError, match="no class of instructions is 'rdmsr'"):
        price_report(price_run(switch=wrong))


def test_without_a_statement_or_a_count_there_are_no_switches() -> None:
    assert price_report(price_run()).switches is None
    kept = [without_records(boot, "classes") for boot in boots()]
    assert price_report(price_run(boots=kept, switch=SWITCH)).switches is None


OOPS = """\
[ 1.0] Linux
[ 2.0] WARNING: CPU: 0 PID: 1 at mm/x.c:1
[ 2.1] Oops: 0002 [#1]
"""


# Exactness


def unlike(run: StoredRun, **changes: object) -> PriceReport:
    """Change the Workload records of the second boot of stock."""
    run.boots[3] = with_records(run.boots[3], "workload", **changes)
    return price_report(run)


def test_another_order_of_samples_is_not_exact() -> None:
    report = unlike(price_run(), sequence="0" * 16)
    assert not report.exact
    assert report.exact_why == (
        "syscall/getpid: the order of samples differs "
        "between boot 1 of stock and its boot 2"
    )
    assert {r.mark for r in report.rows} == {Mark.UNKNOWN}


def test_another_histogram_is_not_exact() -> None:
    run = price_run()
    for record in run.boots[2].records:
        if record["type"] == "histogram" and record["workload"] == "ctx/pipe":
            record["bins"][0][0] += 1
    report = price_report(run)
    assert not report.exact
    assert report.exact_why.startswith("ctx/pipe: the histograms differ")
    assert "boot 1 of off and its boot 2" in report.exact_why


def test_other_class_counts_are_not_exact() -> None:
    run = price_run()
    run.boots[2].records[-2]["counts"]["kernel_wrmsr"] += 1
    report = price_report(run)
    assert not report.exact
    assert report.exact_why.startswith("ctx/pipe: the class counts differ")


def test_a_third_boot_is_compared_too() -> None:
    third = with_records(price_boot("off", 2), "workload", sequence="0" * 16)
    report = price_report(price_run(boots=[*boots(), third]))
    assert "boot 1 of off and its boot 3" in report.exact_why


def test_one_boot_is_not_enough_to_be_exact() -> None:
    report = price_report(price_run(boots=boots()[:3]))
    assert not report.exact
    assert report.exact_why.startswith("stock has 1 finished boot, but it takes 2")


def test_a_clock_that_counts_no_instructions_is_not_exact() -> None:
    kept = [changed(boot, exact=False) for boot in boots()]
    report = price_report(price_run(boots=kept))
    assert not report.exact
    assert report.exact_why.startswith("the clock of boot 1 of off did not count")


def test_boots_of_two_kernels_are_not_repetitions() -> None:
    kept = boots()
    kept[3] = changed(kept[3], key="another")
    report = price_report(price_run(boots=kept))
    assert "the kernel differs" in report.exact_why


# Refusals


def test_one_disagreeing_check_refuses_the_price_of_its_variant() -> None:
    run = price_run(("off", "stock", "lfsr"))
    checks = [r for r in run.boots[4].records if r["type"] == "in_force"]
    checks[-1]["on"] = False
    report = price_report(run)
    assert report.refused == {
        "stock": "1 of 10 in-force checks found it off, but it must be on "
        "(distinct positions 33, calls 512)"
    }
    assert {r.variant for r in report.rows} == {"lfsr"}
    assert "stock" not in {t.variant for t in report.ticks}
    assert "stock" not in {c.variant for c in report.classes}
    assert "stock" not in {d.variant for d in report.distributions}
    assert (report.in_force["stock"].agreed, report.in_force["stock"].checks) == (9, 10)
    assert not report.in_force["stock"].found


def test_a_boot_without_checks_refuses_even_if_the_other_has_them() -> None:
    kept = boots()
    kept[3] = without_records(kept[3], "in_force")
    report = price_report(price_run(boots=kept))
    assert report.refused == {"stock": "no in-force check was made in boot 2 of stock"}
    assert report.rows == []


def test_a_baseline_that_is_on_refuses_every_price() -> None:
    kept = boots()
    kept[0] = with_records(kept[0], "in_force", on=True)
    report = price_report(price_run(boots=kept))
    assert report.rows == []
    assert report.refused["off"].startswith("5 of 10 in-force checks found it on")
    assert report.refused["stock"].startswith("there is no baseline: off: 5 of 10")
    assert not report.exact


def test_a_kernel_that_failed_in_one_boot_refuses_its_variant() -> None:
    kept = boots()
    facts = {"status": "boot_error", "error": "Kernel panic: no [init] found"}
    kept[3] = changed(kept[3], **facts).model_copy(update={"records": []})
    report = price_report(price_run(boots=kept))
    assert report.refused == {
        "stock": "its kernel failed in boot 2: Kernel panic: no [init] found"
    }


def test_a_kernel_that_complained_in_one_boot_refuses_its_variant() -> None:
    kept = boots()
    kept[3] = kept[3].model_copy(update={"console": OOPS})
    report = price_report(price_run(boots=kept))
    assert report.refused == {
        "stock": "its kernel complained in boot 2: WARNING: CPU: 0 PID: 1 at mm/x.c:1; "
        "Oops: 0002 [#1]"
    }
    assert report.rows == []


def test_what_a_plan_expects_on_the_console_refuses_nothing() -> None:
    kept = [boot.model_copy(update={"console": OOPS}) for boot in boots()]
    run = price_run(boots=kept)
    assert price_report(run).refused.keys() == {"off", "stock"}
    plan = run.plan.model_copy(
        update={"expected_complaints": (r"^WARNING: .* at mm/x\.c", "Oops")}
    )
    assert price_report(run.model_copy(update={"plan": plan})).refused == {}


def test_a_program_that_could_not_run_refuses_its_variant() -> None:
    kept = boots()
    kept[1] = with_records(kept[1], "exit", status=77)
    report = price_report(price_run(boots=kept))
    assert report.refused == {
        "stock": "'syscall all' ended with status 77 in boot 1 of stock"
    }


def with_failed(boot: StoredBoot, program: str) -> StoredBoot:
    """Return the boot as if a program had failed, and said why."""
    exited = {"n": 99, "type": "exit", "program": program, "status": 1}
    update = {"records": [*boot.records, exited], "console": "[ 1.0] Linux\nno\n"}
    return boot.model_copy(update=update)


@pytest.mark.parametrize("number", range(4))
def test_a_real_program_that_failed_alone_has_no_price(number: int) -> None:
    """In whichever boot: it is not compared with one that did its work."""
    kept = boots()
    whole = price_report(price_run(boots=kept))
    kept[number] = with_failed(kept[number], "real ctx/pipe 5 2")
    report = price_report(price_run(boots=kept))
    name = f"boot {kept[number].facts.repeat + 1} of {kept[number].facts.variant}"
    why = f"it ended with status 1 in {name}; no"
    assert (report.failed, report.refused) == ({"ctx/pipe": why}, {})
    assert report.exact
    others = [each for each in whole.rows if each.workload != "ctx/pipe"]
    assert report.rows == others
    assert "ctx/pipe" not in report.calls
    assert f"FAILED: no price on ctx/pipe: {why}." in said(report)
    assert status_of(report) == 1
    assert status_of(whole) == 0


def test_another_program_that_failed_refuses_its_variant() -> None:
    kept = boots()
    kept[1] = with_failed(kept[1], "ctx pipe 5 2")
    report = price_report(price_run(boots=kept))
    assert report.failed == {}
    assert report.refused.keys() == {"stock"}


def test_if_all_programs_failed_every_variant_is_refused() -> None:
    kept = boots()
    for name in price_report(price_run(boots=kept)).calls:
        kept[1] = with_failed(kept[1], f"real {name} 5 2")
    report = price_report(price_run(boots=kept))
    assert (report.rows, len(report.failed)) == ([], len(OFF))
    # Of all others, nobody knows which lines on the console are theirs.
    *others, last = report.failed.values()
    assert last == "it ended with status 1 in boot 1 of stock; no"
    assert set(others) == {"it ended with status 1 in boot 1 of stock"}
    assert report.refused.keys() == {"off", "stock"}


def test_a_workload_that_is_missing_refuses_its_variant() -> None:
    kept = boots()
    kept[1].records = [
        record for record in kept[1].records if record.get("workload") != "ctx/pipe"
    ]
    report = price_report(price_run(boots=kept))
    assert report.refused == {"stock": "boot 1 of stock did not measure ctx/pipe"}


def test_a_boot_that_measured_nothing_refuses_its_variant() -> None:
    kept = [without_records(boot, "workload") for boot in boots()]
    report = price_report(price_run(boots=kept))
    assert report.refused["off"] == "boot 1 of off did not measure anything"


def test_counts_of_two_qemu_versions_are_not_compared() -> None:
    kept = boots()
    for i in (1, 3):
        kept[i] = changed(kept[i], version="QEMU 10.0.2")
    report = price_report(price_run(boots=kept))
    assert report.refused["stock"].startswith("it ran on QEMU 10.0.2, the baseline")


def test_nothing_measured_yet_is_refused_not_crashed() -> None:
    report = price_report(price_run(boots=[]))
    assert report.refused["off"] == "none of its boots finished"
    assert report.rows == []


def test_compare_needs_no_check_and_says_so() -> None:
    kept = [without_records(boot, "in_force") for boot in boots()]
    report = price_report(price_run(boots=kept, kind=Kind.COMPARE))
    assert report.kind == "compare"
    assert report.rows
    assert report.in_force == {}
    assert "nothing to check" in report.in_force_note


# Damage


def test_a_lost_part_of_a_histogram_is_noticed() -> None:
    kept = boots()
    kept[0].records = [r for r in kept[0].records if not r.get("tick")]
    with pytest.raises(StoreError, match=r"boot 1 of off: .* the histogram holds"):
        price_report(price_run(boots=kept))


def test_a_record_that_is_none_is_a_store_error() -> None:
    kept = boots()
    kept[0].records[2] = {"type": "nonsense"}
    with pytest.raises(StoreError, match="boot 1 of off"):
        price_report(price_run(boots=kept))


def test_the_baseline_comes_first_wherever_it_was_booted() -> None:
    run = price_run(("off", "stock", "lfsr"))
    plan = run.plan.model_copy(update={"baseline": "stock"})
    found = price_report(run.model_copy(update={"plan": plan}))
    assert list(found.in_force) == ["stock", "off", "lfsr"]


def test_a_workload_that_ticks_hit_wholly_is_named() -> None:
    ticked = [
        boot.model_copy(
            update={
                "records": [
                    {**r, "tick": True} if r["type"] == "histogram" else r
                    for r in boot.records
                ]
            }
        )
        for boot in boots()
    ]
    report = price_report(price_run(boots=ticked))
    assert not [row for row in report.rows if row.without_ticks]
    (line,) = [line for line in notes(report) if "hit every sample" in line]
    assert "syscall/getpid" in line
    assert not [line for line in notes(price_report(price_run())) if "every" in line]


def test_the_configuration_says_what_a_kernel_came_from() -> None:
    facts = {
        "package": "linux-image-6.12.9-amd64 6.12.9-1",
        "image": "boot/vmlinuz-6.12.9-amd64",
        "image_hash": "4f1c",
    }
    found = [
        changed(boot, **facts) if boot.facts.variant == "stock" else boot
        for boot in boots()
    ]
    report = price_report(price_run().model_copy(update={"boots": found}))
    assert report.variants["stock"].package == facts["package"]
    assert report.variants["off"].package == ""
    text = " ".join(to_markdown([price_document(report)], full=True).split())
    assert (
        "package: linux-image-6.12.9-amd64 6.12.9-1; image: "
        "boot/vmlinuz-6.12.9-amd64; image hash: 4f1c"
    ) in text
    # Nothing of that is known of the other, so nothing is said.
    assert text.count("package: ") == text.count("image hash: ") == 1


def test_a_report_says_when_where_and_by_what_it_was_measured() -> None:
    run = price_run()
    report = price_report(run)
    assert report.started == run.started
    assert report.temper_version == "0.1.0"
    assert report.hosts == ["lab (a CPU, x86_64, Linux 6.1.0)"]
    run.boots[2] = changed(run.boots[2], details={"host": "attic"})
    run.boots[3] = changed(run.boots[3], details={})
    assert price_report(run).hosts == [*report.hosts, "attic"]
