"""Judges the attacks on a kernel as shipped, by what they did.

What LKDTM prints of a trigger's outcome counts for nothing: some triggers call a
success a failure, and the other way round. What counts is whether the attack went on
after it should have been stopped, what the kernel itself printed meanwhile, and for
attacks that are tried often, how many tries landed.
"""

import errno
import re
import signal
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

from temper.analysis.console import bare
from temper.analysis.part import Part
from temper.analysis.variants import hosts
from temper.record.boot import StoredBoot, StoredRun
from temper.record.outcome import Outcome, worst_outcome
from temper.record.plan import AttackPlan, Role, RunPlan
from temper.record.wire import Died, Samples, parse_record

_MARK = re.compile(r"temper: attack (\S+) (begins|ends)$")
_ABSENT = {
    0: "what it attacks is not there",
    errno.ENOSYS: "this kernel does not have it",
    errno.ENOTSUP: "this kernel has no such sysctl",
    errno.EINVAL: "the attacker does not have this attack",
    errno.ENOENT: "what it attacks is not there",
}
_MODULE = "module"
_FAULT = (
    "kernel BUG|BUG: |Unable to handle|paging request|general protection fault"
    "|NX-protected|Kernel panic"
)
"""What a kernel says first of what ends a process, or itself."""
_PANICS_ON_REPORTS = "Kernel panic - not syncing: .*panic_on_warn set"


PASSED = (Outcome.VULNERABLE, Outcome.DETECTED)
"""Outcomes of attacks that the kernel did not stop."""


class AttackResult(Part):
    """How an attack ended in one boot."""

    outcome: Outcome
    why: str
    """Tries, or the line by which the kernel stopped or reported it."""
    tries: int
    landed: int

    @property
    def passed(self) -> bool:
        """Whether the kernel did not stop it."""
        return self.outcome in PASSED


class AuditedAttack(Part):
    """An attack on an option: how it ended in each role."""

    name: str
    shipped: AttackResult | None
    """None: its boot is missing, or failed."""
    control: AttackResult | None
    """With the option weakened; None: there is no such boot."""
    remedy: AttackResult | None
    """With the option switched on; None: there is no such boot."""


class AuditedSetting(Part):
    """What sets an option, in the words of kernel-hardening-checker."""

    name: str
    desired: str
    found: str
    """In the kernel's configuration; empty: it is not known, or set elsewhere."""


class AuditedOption(Part):
    """What an option is worth in a kernel."""

    name: str
    title: str
    promise: str
    settings: list[AuditedSetting]
    outcome: Outcome
    """The worst of its attacks on the kernel as it is."""
    control: str
    """What weakens it, or why nothing does without another kernel."""
    control_lands: bool | None
    """Whether all attacks land there; None: there is no control, or none could be tried
    in it."""
    remedy: str
    """What switches it on; empty: nothing does without another kernel."""
    remedy_holds: bool | None
    """Whether no attack lands there; None: there is no such boot, or none could be
    tried in it."""
    must: Outcome | None
    """The least that the policy demands."""
    meets_policy: bool
    """False also if not all attacks land in the control: then something else stops
    them."""
    price: str
    attacks: list[AuditedAttack]

    @property
    def proven(self) -> bool:
        """Whether it was seen to stop what lands without it, and nothing shows else."""
        stops = self.outcome is Outcome.BLOCKED and self.remedy_holds is not False
        return stops and self.control_lands is True


class AuditReport(Part):
    """What ``temper audit`` prints."""

    schema_version: Literal[1] = 1
    kind: Literal["audit"] = "audit"
    run: int
    feature: str
    title: str
    arch: str
    machine: str
    cpu: str
    """The CPU model of the kernel as it is."""
    release: str
    image: str
    kernel_key: str
    config_hash: str
    compiler: str
    source: str
    """The version of the source that LKDTM is from."""
    machine_version: str
    cmdline: str
    started: datetime
    complete: bool
    """True: all boots ran, and the kernel loaded the modules of the attacks."""
    meets_policy: bool
    missing: list[str]
    """Variants that have not booted yet."""
    failed: dict[str, str]
    """Variant whose boot failed -> why."""
    refused: str
    """Why attacks could not be made or judged: a module was not loaded, or the kernel's
    messages do not arrive; empty: they could."""
    boots: int
    """Boots that it took, and more where an attack ended the kernel."""
    tried: int
    """Attacks on the kernel as it is that had an outcome."""
    options: list[AuditedOption]
    hosts: list[str]
    command: str
    temper_version: str


class Values(NamedTuple):
    """What an attack sent, in this order."""

    tries: int
    landed: int
    killed: int = 0
    """The signal that ended it."""
    error: int = 0
    seen: int = 0
    """What has to differ from boot to boot; 0: nothing has."""


@dataclass(frozen=True)
class _Seen:
    """What is known of an attack in one boot."""

    values: Values | None
    """None: it sent nothing."""
    died: str
    """How the kernel ended; empty: it went on."""
    lines: Sequence[str]
    """What the console said meanwhile."""


def audit_report(run: StoredRun) -> AuditReport:
    """Judge a run by its plan."""
    plan = run.plan
    seen = {
        boot.facts.variant: _seen(boot) for boot in run.boots if not boot.facts.error
    }
    shipped = [b.facts for b in run.boots if b.facts.variant in _shipped(plan)]
    first = shipped[0] if shipped else run.boots[0].facts if run.boots else None
    values = shipped[0].kernel.options if shipped else {}
    options = [_option(plan, name, seen, values) for name in plan.options]
    booted = {boot.facts.variant for boot in run.boots}
    missing = [name for name in plan.variants if name not in booted]
    failed = {
        boot.facts.variant: boot.facts.error for boot in run.boots if boot.facts.error
    }
    refused = _silent(plan, run.boots) or _refused(plan, seen)
    kernel = next(iter(plan.variants.values())).kernel
    results = [attack.shipped for option in options for attack in option.attacks]
    return AuditReport(
        run=run.id,
        feature=plan.feature,
        title=plan.title,
        arch=plan.arch,
        machine=plan.machine,
        cpu=first.machine.cpu_model if first else "",
        release=next((fact.release for fact in shipped if fact.release), ""),
        image=kernel.image,
        kernel_key=kernel.key,
        config_hash=first.kernel.config_hash if first else "",
        compiler=first.kernel.compiler if first else "",
        source=kernel.version,
        machine_version=first.machine.version if first else "",
        cmdline=first.machine.cmdline if first else "",
        started=run.started,
        complete=not (missing or failed or refused),
        meets_policy=all(option.meets_policy for option in options),
        missing=missing,
        failed=failed,
        refused=refused,
        boots=len(run.boots)
        + sum(bool(each.died) for found in seen.values() for each in found.values()),
        tried=sum(
            result is not None and result.outcome is not Outcome.UNSUPPORTED
            for result in results
        ),
        options=options,
        hosts=hosts(run),
        command=plan.command,
        temper_version=plan.temper_version,
    )


def _shipped(plan: RunPlan) -> list[str]:
    return [name for name, boot in plan.audited.items() if boot.role is Role.SHIPPED]


def _option(
    plan: RunPlan,
    name: str,
    seen: dict[str, dict[str, _Seen]],
    values: Mapping[str, str],
) -> AuditedOption:
    described = plan.options[name]
    attacks = [
        AuditedAttack(
            name=attack,
            shipped=_result(plan, attack, Role.SHIPPED, seen),
            control=_result(plan, attack, Role.CONTROL, seen),
            remedy=_result(plan, attack, Role.REMEDY, seen),
        )
        for attack, how in plan.attacks.items()
        if how.option == name
    ]
    outcome = _worst(attack.shipped for attack in attacks)
    must = plan.must.get(name)
    control_lands = _lands(attacks) if described.has_control else None
    return AuditedOption(
        name=name,
        title=described.title,
        promise=described.promise,
        settings=[
            AuditedSetting(name=each, desired=desired, found=_found(each, values))
            for each, desired in described.settings.items()
        ],
        outcome=outcome,
        control=described.control,
        control_lands=control_lands,
        remedy=described.remedy,
        remedy_holds=_holds(attacks),
        must=must,
        meets_policy=must is None
        or (outcome in AT_LEAST[must] and control_lands is not False),
        price=described.price,
        attacks=attacks,
    )


def _found(setting: str, values: Mapping[str, str]) -> str:
    """Return the value of a setting as kernel-hardening-checker has it."""
    if setting not in values:
        return ""
    value = values[setting].strip('"')
    return {"": "is not found", "n": "is not set"}.get(value, value)


AT_LEAST = {
    Outcome.BLOCKED: (Outcome.BLOCKED,),
    Outcome.DETECTED: (Outcome.BLOCKED, Outcome.DETECTED),
}
"""What a policy demands -> the outcomes that are enough."""


def _worst(results: Iterable[AttackResult | None]) -> Outcome:
    """Return the outcome of an option; what has none is not known to be stopped."""
    found = [each.outcome if each else Outcome.UNSUPPORTED for each in results]
    return worst_outcome(found)


def _lands(attacks: Sequence[AuditedAttack]) -> bool | None:
    """Return whether all land in the control; None if none could be tried there.

    Nor if none was tried with or without it: then it changes nothing.
    """
    found = [attack.control for attack in attacks]
    both = [*found, *(attack.shipped for attack in attacks)]
    if _untried(found) or all(
        each and each.outcome is Outcome.UNSUPPORTED for each in both
    ):
        return None
    return all(each is not None and each.passed for each in found)


def _holds(attacks: Iterable[AuditedAttack]) -> bool | None:
    """Return whether none lands with the remedy; None if none could be tried there."""
    found = [attack.remedy for attack in attacks if attack.remedy]
    if _untried(found):
        return None
    return all(each.outcome in AT_LEAST[Outcome.DETECTED] for each in found)


def _untried(results: Iterable[AttackResult | None]) -> bool:
    """Return whether what they attack, or set, is not there: a kernel without it."""
    return all(each is not None and not each.tries for each in results)


def _result(
    plan: RunPlan, attack: str, role: Role, seen: dict[str, dict[str, _Seen]]
) -> AttackResult | None:
    for variant, boot in plan.audited.items():
        if boot.role is role and attack in boot.attacks and variant in seen:
            how = plan.attacks[attack]
            found = seen[variant].get(attack, _Seen(None, "", ()))
            values = found.values
            if how.across_boots and role is Role.SHIPPED:
                values = _across_boots(values, _others(plan, attack, seen))
            return judged(how, values, found.died, found.lines)
    return None


def _others(
    plan: RunPlan, attack: str, seen: dict[str, dict[str, _Seen]]
) -> list[Values]:
    """Return the values of an attack in the boots that are for other attacks."""
    boots = [
        seen[variant]
        for variant, boot in plan.audited.items()
        if attack not in boot.attacks and variant in seen
    ]
    found = [each[attack].values for each in boots if attack in each]
    return [values for values in found if values]


def _across_boots(values: Values | None, others: Iterable[Values]) -> Values | None:
    """Return the values of an attack of which each boot is a try.

    It also lands where it sees what it saw in a boot before. Boots in which it saw
    nothing do not count, unless the first is such a one.
    """
    if not values or not values.seen:
        return values
    known = {values.seen}
    tries, landed = values.tries, values.landed
    for each in others:
        if each.landed or each.seen:
            tries += 1
            landed += bool(each.landed) or each.seen in known
            known.add(each.seen)
    return values._replace(tries=tries, landed=landed)


def judged(
    attack: AttackPlan, values: Values | None, died: str, lines: Sequence[str]
) -> AttackResult:
    """Judge an attack by its effect.

    ``values``: None if it sent nothing. ``died``: how the kernel ended meanwhile; empty
    if it went on. ``lines``: the console meanwhile.
    """
    tries, landed, killed, error, _ = values or Values(1, 0)
    if values is None and not died:
        outcome, why = Outcome.UNSUPPORTED, "it did not say how it ended"
    elif landed > attack.most * tries:
        outcome, why = _went_on(attack, _tally(tries, landed), lines)
    elif killed or died:
        outcome, why = _ended(attack, died or f"killed by {_signal(killed)}", lines)
    else:
        outcome, why = _was_refused(attack, tries, landed, error)
    return AttackResult(outcome=outcome, why=why, tries=tries, landed=landed)


def _went_on(
    attack: AttackPlan, tally: str, lines: Sequence[str]
) -> tuple[Outcome, str]:
    """Judge an attack of which more tries landed than by chance."""
    if reported := _first(attack.reported, lines):
        return Outcome.DETECTED, reported
    if gave_up := _first(attack.gave_up, lines):
        return Outcome.UNSUPPORTED, f"it gave up: {gave_up}"
    return Outcome.VULNERABLE, tally


def _ended(attack: AttackPlan, how: str, lines: Sequence[str]) -> tuple[Outcome, str]:
    """Judge an attack that the kernel ended: only for the reason claimed it counts."""
    if stopped := _first(attack.by, lines):
        return Outcome.BLOCKED, stopped
    if landed := _first(attack.lands, lines):
        return Outcome.VULNERABLE, landed
    if reported := _first(attack.reported, lines):
        ended = _first(_PANICS_ON_REPORTS, lines)
        return Outcome.BLOCKED if ended else Outcome.DETECTED, reported
    why = _first(_FAULT, lines) or how
    return Outcome.UNSUPPORTED, f"ended for another reason: {why}"


def _was_refused(
    attack: AttackPlan, tries: int, landed: int, error: int
) -> tuple[Outcome, str]:
    """Judge an attack that came to its end, and landed no more often than by chance."""
    name = errno.errorcode.get(error, f"error {error}")
    wrong = attack.refused and error and name not in attack.refused
    if not tries or wrong:
        return Outcome.UNSUPPORTED, _ABSENT.get(error, name)
    tally = _tally(tries, landed)
    if not attack.refused:
        return Outcome.BLOCKED, tally
    if not error:
        return Outcome.UNSUPPORTED, f"{tally}, but the kernel did not refuse it"
    return Outcome.BLOCKED, f"{tally}, {name}"


def _tally(tries: int, landed: int) -> str:
    return f"{landed:,} of {tries:,} {'try' if tries == 1 else 'tries'} landed"


def _first(pattern: str, lines: Iterable[str]) -> str:
    """Return the first line with a pattern; empty without a pattern, or a line."""
    if not pattern:
        return ""
    found = re.compile(pattern)
    return next((line for line in lines if found.search(line)), "")


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _seen(boot: StoredBoot) -> dict[str, _Seen]:
    """Return attack -> what is known of it in a boot; modules are among them."""
    values: dict[str, Values] = {}
    died: dict[str, str] = {}
    for record in map(parse_record, boot.records):
        if isinstance(record, Samples):
            values[record.name] = Values(*record.values)
        elif isinstance(record, Died):
            died[record.program.split()[2]] = record.how
    lines = _by_attack(boot.console)
    return {
        name: _Seen(values.get(name), died.get(name, ""), lines.get(name, ()))
        for name in {**values, **died}
    }


def _by_attack(console: str) -> dict[str, list[str]]:
    """Return attack -> the lines between its marks, or from its mark to the end."""
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in map(bare, console.splitlines()):
        mark = _MARK.search(line)
        if mark:
            current = found.setdefault(mark[1], []) if mark[2] == "begins" else None
        elif current is not None:
            current.append(line)
    return found


def _silent(plan: RunPlan, boots: Iterable[StoredBoot]) -> str:
    """Say so if not one mark of the attacks on the kernel as it is was heard."""
    shipped = _shipped(plan)
    ran = [b for b in boots if b.facts.variant in shipped and not b.facts.error]
    if ran and not any(_by_attack(boot.console) for boot in ran):
        return "what the kernel says, which decides, does not reach its serial console"
    return ""


def _refused(plan: RunPlan, seen: dict[str, dict[str, _Seen]]) -> str:
    """Say why the kernel as it is did not load a module; empty if it loaded all."""
    for name in _shipped(plan):
        for line in plan.variants[name].job:
            words = line.split()
            if words[2] != _MODULE or name not in seen:
                continue
            found = seen[name].get(words[3])
            if found is None or found.values is None or not found.values.landed:
                error = found.values.error if found and found.values else 0
                why = _REFUSALS.get(error, errno.errorcode.get(error, "unknown"))
                return f"the kernel did not load {words[3]}: {why}"
    return ""


_REFUSALS = {
    errno.EKEYREJECTED: "it loads only modules that are signed with its key",
    errno.ENOKEY: "it loads only modules that are signed with its key",
    errno.EPERM: "it loads no modules, or is locked down",
    errno.ENOSYS: "it cannot load modules",
    errno.ENOEXEC: "it is of another version than the headers (vermagic)",
    errno.ENOENT: "it does not export what the module needs",
    errno.EEXIST: "it has it built in",
    errno.ENXIO: "debugfs is off, and LKDTM's triggers are there",
}
