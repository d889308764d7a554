"""An audit: how attacks are judged, and what its report says of options."""

from collections.abc import Mapping
from datetime import UTC, datetime
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from made_up import kernel_facts, machine_facts, run_plan, variant_plan
from temper.analysis.audit import AuditReport, Values, audit_report, judged
from temper.analysis.checks import Result, suites
from temper.analysis.joined import CHECKER_LINES, joined
from temper.record.boot import BootFacts, StoredBoot, StoredRun
from temper.record.outcome import Outcome
from temper.record.plan import (
    AttackPlan,
    AuditBoot,
    Kind,
    OptionPlan,
    Role,
    RunPlan,
    Slot,
)
from temper.report.as_csv import to_csv
from temper.report.audit_document import audit_document
from temper.report.terminal import print_documents

Sent = Mapping[str, tuple[int, ...]]
"""Attack -> tries, landed, signal, error, and what it saw."""

STARTED = datetime(2026, 11, 25, tzinfo=UTC)
TRIGGER = AttackPlan(
    option="copies",
    gave_up="lkdtm: .*failed",
    by=r"kernel BUG at mm/usercopy\.c",
    reported="WARNING: .*usercopy",
)
PROBE = AttackPlan(option="order", most=0.25)
RETURNS = AttackPlan(option="canary", by="is corrupted", lands="RIP: 0010:0xffff")
REFUSED = AttackPlan(option="log", refused=("EPERM",))


@pytest.mark.parametrize(
    ("attack", "values", "died", "lines", "outcome"),
    [
        # A trigger that returns landed, whatever LKDTM says of it.
        (TRIGGER, (1, 1, 0, 0), "", ["lkdtm: ok: all is well"], "VULNERABLE"),
        (TRIGGER, (1, 1, 0, 0), "", ["WARNING: at usercopy"], "DETECTED"),
        (TRIGGER, (1, 1, 0, 0), "", ["lkdtm: copy failed"], "UNSUPPORTED"),
        # A report counts for more than what LKDTM says afterwards.
        (
            TRIGGER,
            (1, 1, 0, 0),
            "",
            ["WARNING: at usercopy", "lkdtm: copy failed"],
            "DETECTED",
        ),
        # One that the kernel ends is stopped only for the reason that is claimed.
        (TRIGGER, (1, 0, 9, 0), "", ["kernel BUG at mm/usercopy.c:102!"], "BLOCKED"),
        (TRIGGER, (1, 0, 9, 0), "", ["kernel BUG at mm/slub.c:1!"], "UNSUPPORTED"),
        (TRIGGER, None, "it panicked", ["kernel BUG at mm/usercopy.c:1!"], "BLOCKED"),
        (TRIGGER, None, "it panicked", [], "UNSUPPORTED"),
        (TRIGGER, None, "", ["kernel BUG at mm/usercopy.c:102!"], "UNSUPPORTED"),
        # A report that ends the kernel stops the attack; one before it died does not.
        (
            TRIGGER,
            None,
            "it panicked",
            [
                "WARNING: at usercopy",
                "Kernel panic - not syncing: kernel: panic_on_warn set",
            ],
            "BLOCKED",
        ),
        (TRIGGER, None, "it panicked", ["WARNING: at usercopy"], "DETECTED"),
        (TRIGGER, (1, 0, 9, 0), "", ["WARNING: at usercopy"], "DETECTED"),
        (
            TRIGGER,
            None,
            "it panicked",
            ["Kernel panic - not syncing: kernel: panic_on_warn set"],
            "UNSUPPORTED",
        ),
        # One that ends the kernel by what it did has landed.
        (RETURNS, None, "it panicked", ["RIP: 0010:0xffff"], "VULNERABLE"),
        (RETURNS, None, "it panicked", ["stack is corrupted"], "BLOCKED"),
        (RETURNS, (1, 0, 9, 0), "", ["RIP: 0010:elsewhere"], "UNSUPPORTED"),
        (TRIGGER, (0, 0, 0, 22), "", [], "UNSUPPORTED"),
        # A line of the kernel alone is no proof that it stopped anything.
        (TRIGGER, (1, 1, 0, 0), "", ["kernel BUG at mm/usercopy.c:1!"], "VULNERABLE"),
        (PROBE, (64, 16, 0, 0), "", [], "BLOCKED"),
        (PROBE, (64, 17, 0, 0), "", [], "VULNERABLE"),
        (PROBE, (0, 0, 0, 0), "", [], "UNSUPPORTED"),
        (REFUSED, (1, 0, 0, 1), "", [], "BLOCKED"),
        (REFUSED, (1, 1, 0, 0), "", [], "VULNERABLE"),
        (REFUSED, (1, 0, 0, 38), "", [], "UNSUPPORTED"),
        # Something else than a refusal kept it from landing.
        (REFUSED, (1, 0, 0, 0), "", [], "UNSUPPORTED"),
        (REFUSED, (1, 0, 11, 0), "", [], "UNSUPPORTED"),
    ],
)
def test_an_attack_is_judged_by_what_it_did(
    attack: AttackPlan,
    values: tuple[int, ...] | None,
    died: str,
    lines: list[str],
    outcome: str,
) -> None:
    sent = Values(*values) if values else None
    assert judged(attack, sent, died, lines).outcome == Outcome(outcome)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ((1, 0, 0, 38), "this kernel does not have it"),
        ((1, 0, 0, 1), "0 of 1 try landed, EPERM"),
        ((1, 0, 11, 0), "ended for another reason: killed by SIGSEGV"),
        ((1, 0, 99, 0), "ended for another reason: killed by signal 99"),
        ((1, 0, 0, 999), "error 999"),
        ((1, 0, 0, 0), "0 of 1 try landed, but the kernel did not refuse it"),
        ((0, 0, 0, 0, 0), "what it attacks is not there"),
    ],
)
def test_the_reason_is_told(values: tuple[int, ...], why: str) -> None:
    assert judged(REFUSED, Values(*values), "", []).why == why


def test_the_kernels_own_words_are_the_reason() -> None:
    lines = ["attack: 1", "BUG: unable to handle page fault", "Kernel panic - x"]
    found = judged(TRIGGER, None, "another attack's line", lines)
    assert found.why == f"ended for another reason: {lines[1]}"


ATTACKS = {"COPY": TRIGGER, "order": PROBE, "dmesg": REFUSED}
ROLES = {"shipped": Role.SHIPPED, "off": Role.CONTROL, "on": Role.REMEDY}
STOPPED = {"COPY": (1, 0, 9, 0), "order": (64, 4, 0, 0), "dmesg": (1, 0, 0, 1)}
LANDED = {"COPY": (1, 1, 0, 0), "order": (64, 60, 0, 0), "dmesg": (1, 1, 0, 0)}
BUG = "[    1.0] kernel BUG at mm/usercopy.c:102!"


def option(name: str, **changes: object) -> OptionPlan:
    given: dict[str, Any] = {
        "title": f"title of {name}",
        "promise": f"Promise of {name}.",
        "settings": {f"CONFIG_{name.upper()}": "y", f"{name}.on": "1"},
        "control": f"{name}=off",
        "has_control": True,
        "remedy": f"{name}=on",
    }
    return OptionPlan(**{**given, **changes})


def plan(**changes: object) -> RunPlan:
    loads = ("run attack module lkdtm",)
    jobs = {name: (*loads, "run attack lkdtm COPY") for name in ROLES}
    given: dict[str, Any] = {
        "kind": Kind.AUDIT,
        "feature": "audit",
        "title": "linux-image-made-up 1",
        "baseline": "",
        "options": {name: option(name) for name in ("copies", "order", "log")},
        "attacks": ATTACKS,
        "audited": {
            name: AuditBoot(role=role, attacks=tuple(ATTACKS))
            for name, role in ROLES.items()
        },
        "slots": tuple(Slot(variant=name, repeat=0) for name in ROLES),
    }
    given["variants"] = {name: variant_plan(name, job=jobs[name]) for name in ROLES}
    return run_plan(**{**given, **changes})


def boot(
    variant: str,
    values: Sent,
    *,
    loaded: tuple[int, ...] = (1, 1, 0, 0),
    error: str = "",
    died: str = "",
    config: Mapping[str, str] | None = None,
) -> StoredBoot:
    """Return a boot in which attacks ended as in ``values``; one may have ended it."""
    records: list[dict[str, Any]] = [
        {"type": "samples", "name": name, "values": list(each)}
        for name, each in {"lkdtm": loaded, **values}.items()
        if name != died
    ]
    if died:
        program = f"attack lkdtm {died}"
        records.append({"type": "died", "program": program, "how": "it panicked"})
    lines = []
    for name, each in values.items():
        lines.append(f"[    1.0] temper: attack {name} begins")
        if each[2]:
            lines.append(BUG)
        lines.append(f"[    1.0] temper: attack {name} ends")
    facts = BootFacts(
        variant=variant,
        repeat=0,
        machine=machine_facts(),
        kernel=kernel_facts(options=config or {}),
        release="6.12.117",
        initramfs_hash="x",
        status="boot_error" if error else "ok",
        error=error,
        started=STARTED,
        wall_seconds=1.0,
    )
    numbered = [{"n": n, **record} for n, record in enumerate(records)]
    return StoredBoot(
        facts=facts, records=[] if error else numbered, console="\n".join(lines)
    )


def report(*boots: StoredBoot, **changes: object) -> AuditReport:
    given = boots or (
        boot("shipped", STOPPED),
        boot("off", LANDED),
        boot("on", STOPPED),
    )
    run = StoredRun(id=1, plan=plan(**changes), started=STARTED, boots=list(given))
    return audit_report(run)


def printed(found: AuditReport) -> str:
    out = StringIO()
    print_documents(Console(file=out, width=78), [audit_document(found)], full=True)
    return " ".join(out.getvalue().split())


def test_what_is_stopped_only_with_the_option_is_proven() -> None:
    found = report()
    assert found.complete
    assert found.meets_policy
    assert found.tried == 3
    assert all(each.proven for each in found.options)
    assert "3 of 3 options hold in this kernel; for 3 of them" in printed(found)


def test_what_never_lands_is_not_proven() -> None:
    found = report(
        boot("shipped", STOPPED),
        boot("off", {**LANDED, "dmesg": (1, 0, 0, 1)}),
        boot("on", STOPPED),
    )
    log = next(each for each in found.options if each.name == "log")
    assert (log.outcome, log.control_lands, log.proven) == (
        Outcome.BLOCKED,
        False,
        False,
    )
    assert "dmesg does not land with log=off: BLOCKED" in printed(found)


def test_a_control_in_which_nothing_can_be_attacked_is_none() -> None:
    absent = {**STOPPED, "dmesg": (0, 0, 0, 38)}
    found = report(
        boot("shipped", absent),
        boot("off", {**LANDED, "dmesg": (0, 0, 0, 38)}),
        boot("on", absent),
    )
    log = next(each for each in found.options if each.name == "log")
    assert (log.outcome, log.control_lands) == (Outcome.UNSUPPORTED, None)
    assert "does not land" not in printed(found)
    # What a kernel lacks needs no sysctl that shuts it.
    shut = {**STOPPED, "dmesg": (0, 0, 0, 95)}
    found = report(
        boot("shipped", STOPPED),
        boot("off", shut),
        boot("on", shut),
        must={"log": Outcome.BLOCKED},
    )
    log = next(each for each in found.options if each.name == "log")
    assert (log.control_lands, log.remedy_holds, found.meets_policy) == (
        None,
        None,
        True,
    )
    # One that was refused there for another reason is another matter.
    found = report(
        boot("shipped", STOPPED),
        boot("off", {**LANDED, "dmesg": (1, 0, 0, 38)}),
        boot("on", STOPPED),
    )
    assert "dmesg does not land with log=off: UNSUPPORTED" in printed(found)


@pytest.mark.parametrize(
    ("places", "off", "outcome", "why"),
    [
        # Places in the boot as it is, and in those for other attacks.
        ((5, 6, 7), 0, "BLOCKED", "0 of 3 tries landed"),
        ((5, 6, 5), 0, "BLOCKED", "1 of 3 tries landed"),
        ((5, 6, 6), 0, "BLOCKED", "1 of 3 tries landed"),
        ((5, 5, 5), 0, "VULNERABLE", "2 of 3 tries landed"),
        # Where it is linked is known to all.
        ((0, 5, 6), 0, "VULNERABLE", "1 of 1 try landed"),
        # Boots that hide it from root, too, do not count.
        ((5, None, 6), 0, "BLOCKED", "0 of 2 tries landed"),
        ((None, 5, 5), 0, "UNSUPPORTED", "ENODATA"),
        # The boot with the option off is no try.
        ((5, 6, 7), 5, "BLOCKED", "0 of 3 tries landed"),
    ],
)
def test_what_differs_from_boot_to_boot_is_seen_in_all_of_them(
    places: tuple[int | None, ...], off: int, outcome: str, why: str
) -> None:
    def values(place: int | None) -> tuple[int, ...]:
        if place is None:
            return (1, 0, 0, 61, 0)
        return (1, int(not place), 0, 1, place)

    names = ("shipped", "off", "users", "memory")
    roles = {"shipped": Role.SHIPPED, "off": Role.CONTROL}
    shipped, *others = (values(place) for place in places)
    given = dict(zip(names, (shipped, values(off), *others), strict=True))
    place = REFUSED.model_copy(update={"most": 0.4, "across_boots": True})
    found = report(
        *(boot(name, {"place": each}) for name, each in given.items()),
        options={"log": option("log")},
        attacks={"place": place},
        slots=tuple(Slot(variant=name, repeat=0) for name in names),
        variants={name: variant_plan(name) for name in names},
        audited={
            name: AuditBoot(
                role=roles.get(name, Role.CONTROL),
                attacks=("place",) if name in roles else (),
            )
            for name in names
        },
    )
    attack = found.options[0].attacks[0]
    assert attack.shipped
    assert (attack.shipped.outcome, attack.shipped.why.partition(",")[0]) == (
        outcome,
        why,
    )


def test_the_worst_attack_is_the_options_outcome() -> None:
    attacks = {**ATTACKS, "dmesg": REFUSED.model_copy(update={"option": "order"})}
    options = {name: option(name) for name in ("copies", "order")}
    shipped = {**STOPPED, "dmesg": (1, 1, 0, 0)}
    found = report(
        boot("shipped", shipped),
        boot("off", LANDED),
        boot("on", STOPPED),
        attacks=attacks,
        options=options,
    )
    assert [each.outcome for each in found.options] == ["BLOCKED", "VULNERABLE"]
    assert "Closed by order=on, where no attack landed unseen." in printed(found)


def test_a_remedy_in_which_an_attack_lands_closes_nothing() -> None:
    found = report(boot("shipped", LANDED), boot("off", LANDED), boot("on", LANDED))
    assert [each.remedy_holds for each in found.options] == [False] * 3
    assert "order=on should close it; it was not seen to." in printed(found)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("n", "wants CONFIG_LOG = y (it is not set), log.on = 1."),
        ("", "wants CONFIG_LOG = y (it is not found), log.on = 1."),
        ('"m"', "wants CONFIG_LOG = y (it is m), log.on = 1."),
        ("y", "wants log.on = 1."),
        (None, "wants CONFIG_LOG = y, log.on = 1."),
    ],
)
def test_what_is_open_is_told_in_the_words_of_the_checker(
    value: str | None, said: str
) -> None:
    config = {} if value is None else {"CONFIG_LOG": value}
    found = report(
        boot("shipped", {**STOPPED, "dmesg": (1, 1, 0, 0)}, config=config),
        boot("off", LANDED),
        boot("on", STOPPED),
    )
    text = printed(found)
    assert f"kernel-hardening-checker {said}" in text
    assert text.count("kernel-hardening-checker wants") == 1


def test_a_setting_that_is_as_it_should_be_is_not_told() -> None:
    options = {"log": option("log", settings={"CONFIG_LOG": "is not set"})}
    attacks = {"dmesg": REFUSED}
    found = report(
        boot("shipped", LANDED, config={"CONFIG_LOG": "n"}),
        options=options,
        attacks=attacks,
    )
    assert "kernel-hardening-checker" not in printed(found)


def test_an_attack_that_ends_the_kernel_is_judged_by_its_last_lines() -> None:
    found = report(
        boot("shipped", STOPPED, died="COPY"), boot("off", LANDED), boot("on", STOPPED)
    )
    copies = found.options[0]
    assert copies.outcome is Outcome.BLOCKED
    assert found.boots == 4


def test_lines_of_other_attacks_do_not_count() -> None:
    values = {"order": (64, 4, 9, 0), "COPY": (1, 0, 9, 0)}
    shipped = boot("shipped", values)
    console = shipped.console.replace(BUG, "", 2).replace(
        "attack order begins", f"attack order begins\n{BUG}"
    )
    found = report(shipped.model_copy(update={"console": console}))
    assert found.options[0].outcome is Outcome.UNSUPPORTED


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (129, "signed with its key"),
        (1, "locked down"),
        (8, "vermagic"),
        (6, "debugfs is off"),
        (5, "EIO"),
        (0, "unknown"),
    ],
)
def test_a_kernel_that_loads_no_module_is_not_audited(error: int, why: str) -> None:
    refused = boot("shipped", STOPPED, loaded=(1, 0, 0, error))
    found = report(refused, boot("off", LANDED), boot("on", STOPPED))
    assert why in found.refused
    assert not found.complete
    assert "NOT AUDITED: the kernel did not load lkdtm" in printed(found)


def test_a_kernel_that_is_not_heard_is_not_audited() -> None:
    silent = boot("shipped", STOPPED).model_copy(update={"console": ""})
    found = report(silent, boot("off", LANDED), boot("on", STOPPED))
    assert "does not reach its serial console" in found.refused
    assert not found.complete
    # One that has said nothing since it did not boot is another matter.
    failed = boot("shipped", {}, error="the kernel hung")
    assert report(failed.model_copy(update={"console": ""})).refused == ""


def test_a_boot_that_fails_leaves_its_options_unsupported() -> None:
    found = report(
        boot("shipped", {}, error="the kernel hung"),
        boot("off", LANDED),
        boot("on", STOPPED),
    )
    assert found.failed == {"shipped": "the kernel hung"}
    assert {each.outcome for each in found.options} == {Outcome.UNSUPPORTED}
    assert not found.complete
    assert "NOT COMPLETE: shipped: the kernel hung" in printed(found)


def test_what_has_not_booted_is_missing() -> None:
    found = report(boot("shipped", STOPPED))
    assert found.missing == ["off", "on"]
    assert "still to boot: off, on" in printed(found)


@pytest.mark.parametrize(
    ("must", "shipped", "met"),
    [
        (Outcome.BLOCKED, STOPPED, True),
        (Outcome.BLOCKED, LANDED, False),
        (Outcome.DETECTED, STOPPED, True),
        (Outcome.DETECTED, LANDED, False),
    ],
)
def test_a_policy_is_met_or_not(must: Outcome, shipped: Sent, met: bool) -> None:
    found = report(
        boot("shipped", shipped),
        boot("off", LANDED),
        boot("on", STOPPED),
        must={"log": must},
    )
    assert found.meets_policy is met
    text = "The policy is met." if met else "AGAINST THE POLICY: log is VULNERABLE"
    assert text in printed(found)
    checks = {check.name: check.result for check in suites(found)[0].checks}
    assert checks["log"] is (Result.PASSED if met else Result.FAILED)


def test_a_policy_is_not_met_by_what_something_else_stops() -> None:
    found = report(
        boot("shipped", STOPPED),
        boot("off", STOPPED),
        boot("on", STOPPED),
        must={"log": Outcome.BLOCKED},
    )
    assert not found.meets_policy
    said = "log is BLOCKED, but something else stops the attacks: not all land with"
    assert f"AGAINST THE POLICY: {said} log=off." in printed(found)


def test_without_a_policy_what_lands_is_neither_red_nor_green() -> None:
    found = report(boot("shipped", LANDED), boot("off", LANDED), boot("on", STOPPED))
    options, audit = suites(found)
    assert {check.result for check in options.checks} == {Result.SKIPPED}
    assert audit.result is Result.PASSED


def test_a_table_has_a_line_for_each_attack_in_each_role() -> None:
    lines = to_csv(report()).splitlines()
    assert lines[0] == "option,attack,role,outcome,tries,landed,why"
    assert len(lines) == 1 + 3 * 3
    assert "copies,COPY,control,VULNERABLE,1,1,1 of 1 try landed" in lines


def test_lines_of_another_checker_are_told_what_was_proven() -> None:
    found = report(
        boot("shipped", {**STOPPED, "order": (64, 60, 0, 0), "dmesg": (0, 0, 0, 38)}),
        boot("off", LANDED),
        boot("on", STOPPED),
    )
    lines = CHECKER_LINES.validate_python(
        [
            {"option_name": name, "type": "kconfig", "check_result_bool": True}
            for name in ("CONFIG_COPIES", "CONFIG_ORDER", "CONFIG_LOG", "CONFIG_MORE")
        ]
    )
    proofs = [(each["proof"], each.get("outcome")) for each in joined(lines, found)]
    assert proofs == [
        ("proven", "BLOCKED"),
        ("not proven", "VULNERABLE"),
        ("not tried", None),
        ("not tried", None),
    ]
    assert joined(lines, found)[0]["check_result_bool"] is True


def test_a_setting_that_is_not_as_it_should_be_is_not_proven() -> None:
    lines = CHECKER_LINES.validate_python(
        [
            {"option_name": "copies.on", "check_result_bool": False},
            {"option_name": "copies.on"},
        ]
    )
    wrong, unjudged = joined(lines, report())
    assert (wrong["proof"], wrong["outcome"]) == ("not proven", "BLOCKED")
    assert unjudged == {
        "option_name": "copies.on",
        "proof": "proven",
        "outcome": "BLOCKED",
    }


@pytest.mark.parametrize(
    ("landed", "proof"),
    [
        ({}, ("proven", "BLOCKED")),
        ({"COPY": (1, 1, 0, 0)}, ("not proven", "VULNERABLE")),
        ({"order": (64, 60, 0, 0)}, ("not proven", "VULNERABLE")),
        ({"order": (0, 0, 0, 38)}, ("proven", "BLOCKED")),
    ],
)
def test_a_setting_of_several_options_is_proven_if_all_are(
    landed: Sent, proof: tuple[str, str]
) -> None:
    shared = {"CONFIG_RWX": "y"}
    options = {name: option(name, settings=shared) for name in ("copies", "order")}
    found = report(
        boot("shipped", {**STOPPED, **landed}),
        boot("off", LANDED),
        boot("on", STOPPED),
        options=options,
    )
    lines = CHECKER_LINES.validate_python([{"option_name": "CONFIG_RWX"}])
    (line,) = joined(lines, found)
    assert (line["proof"], line["outcome"]) == proof


def test_what_lands_with_the_option_on_is_not_proven() -> None:
    found = report(boot("shipped", STOPPED), boot("off", LANDED), boot("on", LANDED))
    assert [each.outcome for each in found.options] == [Outcome.BLOCKED] * 3
    assert not any(each.proven for each in found.options)
