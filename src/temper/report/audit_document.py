"""The report of an audit, as a tree of blocks."""

from collections.abc import Iterable, Iterator

from temper.analysis.audit import (
    AT_LEAST,
    PASSED,
    AttackResult,
    AuditedAttack,
    AuditedOption,
    AuditReport,
)
from temper.invocation import as_typed
from temper.record.outcome import WORST_FIRST, Outcome
from temper.report.document import (
    Block,
    Bullets,
    Cell,
    Command,
    Detail,
    Document,
    Paragraph,
    Row,
    Section,
    Table,
    Tone,
)
from temper.report.outcomes import OUTCOME_TONES
from temper.report.provenance import downloads, made


def audit_document(report: AuditReport) -> Document:
    """Return an audit's report as blocks: options, what is open, each attack."""
    return Document(
        heading=f"Audit of {report.title}",
        feature=report.feature,
        title=_kernel(report),
        conclusion=list(_conclusion(report)),
        blocks=[
            Section("Options", [_table(report)]),
            *map(Paragraph, _legend(report)),
            *_open(report),
            *_doubtful(report),
            Detail("Each attack", list(_attacks(report)), contents="each attack"),
            *_prices(report),
            *_configuration(report),
        ],
        made=made(report),
        full=as_typed(f"temper report {report.run} --full"),
        downloads=downloads(report),
    )


def _kernel(report: AuditReport) -> str:
    release = f"Linux {report.release}, " if report.release else ""
    return f"{release}{report.arch}, on CPU model {report.cpu}"


def _conclusion(report: AuditReport) -> Iterator[Paragraph]:
    if report.refused:
        yield Paragraph(f"NOT AUDITED: {report.refused}.", Tone.BAD)
    if report.missing or report.failed:
        yield Paragraph(_incomplete(report), Tone.BAD)
    blocked = [o for o in report.options if o.outcome is Outcome.BLOCKED]
    proven = sum(option.proven for option in blocked)
    yield Paragraph(
        f"{len(blocked)} of {len(report.options)} options hold in this kernel; for "
        f"{proven} of them, each attack lands once the option is weakened. "
        f"{report.tried} attacks were tried on the kernel as it is."
    )
    for outcome in WORST_FIRST[:-1]:
        names = [o.name for o in report.options if o.outcome is outcome]
        if names:
            text = f"{outcome.value}: {', '.join(names)}."
            yield Paragraph(text, OUTCOME_TONES[outcome])
    bad = [option for option in report.options if not option.meets_policy]
    for option in bad:
        yield Paragraph(f"AGAINST THE POLICY: {_against(option)}.", Tone.BAD)
    if any(option.must for option in report.options) and not bad:
        yield Paragraph("The policy is met.", Tone.GOOD)


def _against(option: AuditedOption) -> str:
    if option.outcome in AT_LEAST[option.must or Outcome.BLOCKED]:
        return (
            f"{option.name} is {option.outcome}, but something else stops the attacks: "
            f"not all land with {option.control}"
        )
    return f"{option.name} is {option.outcome}, and must be {option.must}"


def _incomplete(report: AuditReport) -> str:
    parts = [f"{name}: {why}" for name, why in report.failed.items()]
    if report.missing:
        parts.append(f"still to boot: {', '.join(report.missing)}")
    return f"NOT COMPLETE: {'; '.join(parts)}."


def _sorted(report: AuditReport) -> list[AuditedOption]:
    return sorted(report.options, key=lambda each: WORST_FIRST.index(each.outcome))


_COLUMNS = ("outcome", "stopped", "if off", "if on")


def _table(report: AuditReport) -> Table:
    rows = [Row(option.name, tuple(_cells(option))) for option in _sorted(report)]
    return Table(_COLUMNS, tuple(rows), "What each option is worth in this kernel")


def _cells(option: AuditedOption) -> Iterator[Cell]:
    yield Cell((option.outcome.value,), OUTCOME_TONES[option.outcome])
    stopped = sum(
        each.shipped is not None and each.shipped.outcome is Outcome.BLOCKED
        for each in option.attacks
    )
    yield Cell((f"{stopped} of {len(option.attacks)}",))
    yield _yes_no(option.control_lands, "lands", "NO EFFECT")
    yield _yes_no(option.remedy_holds, "holds", "NO EFFECT")


def _yes_no(value: bool | None, yes: str, no: str) -> Cell:
    if value is None:
        return Cell(("-",))
    return Cell((yes,)) if value else Cell((no,), Tone.DOUBT)


def _legend(report: AuditReport) -> Iterator[str]:
    yield (
        "outcome and stopped: of the kernel as it is, and how many of the attacks it "
        "stopped. if off: whether all land with the option off (the control). if on: "
        "whether none lands unseen with it on. -: that takes another kernel, which "
        "--twins builds, or there is nothing of the kind."
    )
    yield (
        "The kernel's own defaults count: sysctls that a distribution sets at start "
        "are not set here."
    )


def _open(report: AuditReport) -> Iterable[Block]:
    found = [o for o in _sorted(report) if o.outcome in PASSED]
    if found:
        yield Section("What is open", [Bullets([_gap(option) for option in found])])


def _gap(option: AuditedOption) -> str:
    landed = [a.name for a in option.attacks if a.shipped and a.shipped.passed]
    closes = ""
    if option.remedy and option.remedy_holds:
        closes = f" Closed by {option.remedy}, where no attack landed unseen."
    elif option.remedy:
        closes = f" {option.remedy} should close it; it was not seen to."
    return (
        f"{option.name}, {option.outcome}: {', '.join(landed)} landed. Promised: "
        f"{option.promise}{closes}{_as_checked(option)}"
    )


def _as_checked(option: AuditedOption) -> str:
    """Say what is set otherwise than kernel-hardening-checker wants it."""
    wanted = [
        f"{each.name} {_verb(each.desired, '=')}{_now(each.found)}"
        for each in option.settings
        if each.found != each.desired
    ]
    return f" kernel-hardening-checker wants {', '.join(wanted)}." if wanted else ""


def _now(found: str) -> str:
    return f" (it {_verb(found, 'is')})" if found else ""


def _verb(value: str, verb: str) -> str:
    """Return a value with a verb before it; some are called "is not set"."""
    return value if value.startswith("is ") else f"{verb} {value}"


def _doubtful(report: AuditReport) -> Iterable[Block]:
    lines = [
        f"{option.name}: {attack.name} does not land with {option.control}: "
        f"{_why(attack.control)}"
        for option in report.options
        if option.control_lands is False
        for attack in option.attacks
        if not (attack.control and attack.control.passed)
    ]
    if lines:
        yield Section("Controls that do not land", [Bullets(lines)])


def _why(result: AttackResult | None) -> str:
    return f"{result.outcome}, {result.why}" if result else "its boot failed"


def _attacks(report: AuditReport) -> Iterable[Block]:
    for option in _sorted(report):
        yield Section(
            f"{option.name}: {option.title}",
            [Bullets(list(map(_line, option.attacks)))],
        )


def _line(attack: AuditedAttack) -> str:
    roles = {"if off": attack.control, "if on": attack.remedy}
    parts = [
        f"{attack.name}: {_why(attack.shipped)}",
        *(f"{role} {_why(found)}" for role, found in roles.items() if found),
    ]
    return "; ".join(parts)


def _prices(report: AuditReport) -> Iterable[Block]:
    lines = [
        f"{option.name}: {option.price}" for option in report.options if option.price
    ]
    if lines:
        yield Detail("What to know of prices", [Bullets(lines)])


def _configuration(report: AuditReport) -> Iterable[Block]:
    lines = [
        f"image: {report.image}",
        f"kernel key: {report.kernel_key}",
        f"built by: {report.compiler or 'unknown'}",
        f"config hash: {report.config_hash or 'unknown'}",
        f"LKDTM from: Linux {report.source}",
        f"machine: {report.machine_version}",
        f"command line: {report.cmdline}",
    ]
    yield Detail("Configuration and command lines", [Bullets(lines)])
    yield Section("To reproduce", [Command(as_typed(report.command))])
