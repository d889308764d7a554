"""Whether the mitigation really was on, or off, during the measurement."""

from collections.abc import Sequence

from temper.analysis.models import InForceSummary
from temper.record.wire import InForce


def summarise_checks(expected: bool, checks: Sequence[InForce]) -> InForceSummary:
    """Sum up the in-force checks of all boots of one variant."""
    agreed = sum(check.on is expected for check in checks)
    return InForceSummary(
        expected=expected,
        found=(agreed == len(checks)) is expected if checks else None,
        checks=len(checks),
        agreed=agreed,
        how=_evidence(checks),
    )


def objection(summary: InForceSummary) -> str:
    """Say why the checks forbid a price; empty if they allow it."""
    if not summary.checks:
        return "no in-force check was made"
    if summary.agreed == summary.checks:
        return ""
    wrong = summary.checks - summary.agreed
    return (
        f"{wrong} of {summary.checks} in-force checks found it "
        f"{on_off(not summary.expected)}, but it must be {on_off(summary.expected)} "
        f"({summary.how})"
    )


def on_off(on: bool) -> str:
    """Name the state of a mitigation."""
    return "on" if on else "off"


def _evidence(checks: Sequence[InForce]) -> str:
    """Put what the checks saw into words, e.g. ``calls 512, positions 1 to 33``."""
    names = dict.fromkeys(name for check in checks for name in check.evidence)
    parts = []
    for name in names:
        seen = [check.evidence[name] for check in checks if name in check.evidence]
        low, high = min(seen), max(seen)
        span = f"{low}" if low == high else f"{low} to {high}"
        parts.append(f"{name.replace('_', ' ')} {span}")
    return ", ".join(parts)
