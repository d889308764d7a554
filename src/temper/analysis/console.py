"""Console messages that invalidate a measurement or a proof.

A kernel that warned, oopsed or hung is not the kernel that we meant to measure: its
locking may be broken, its memory corrupt, a CPU gone.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from temper.record.boot import StoredBoot
from temper.record.outcome import Outcome
from temper.record.plan import RunPlan

_COMPLAINTS = (
    # WARN() and lockdep begin a line with it. Mere notices have it further on, such
    # as "Spectre V2 : WARNING: Unprivileged eBPF is enabled".
    r"^WARNING: ",
    # The same after another line that was cut off by it.
    r"\] WARNING: (?:CPU|possible|suspicious)",
    # Sanitisers, bad pages, sleeping while atomic and lockups all report a BUG.
    r"(?:^|: |\[ )BUG\b|kernel BUG at ",
    # Every die() ends its first line with the number of the oops, such as "[#1]".
    r"\bOops\b|\[#\d+\]|^Internal error: ",
    r"\bbad p[gu4m]d\b|Corrupted page table",
    r"^Unable to handle kernel ",
    r"[Kk]ernel panic",
    r"(?:^|: )PANIC: ",
    r"\bSError Interrupt on CPU|Bad mode in|Insufficient stack space to handle",
    r"unchecked MSR access",
    r"\bINFO: (?:task .* blocked .*for more than|trying to register non-static key)",
    r"\brcu.*(?:self-detected stall|detected stalls|detected expedited stalls)",
    r"hard LOCKUP",
    r"^UBSAN: ",
    r"^kmemleak: \d+ new suspected",
    r"list_(?:add|del) corruption",
    r"page allocation failure",
    r"VM_FAULT_OOM leaked",
)
# What printk puts before a line: the time and, if configured, the caller.
_PREFIX = re.compile(r"^(?:<\d+>)?(?:\[ *[\d.]+\])?(?:\[ *[TC]\d+\])? ?")
_COLOUR = re.compile(r"\x1b\[[\d;]*m")
_LONGEST = 1000
"""Characters of a line that are looked at: patterns are slow on very long ones."""


def complaints(
    console: str, expected: Iterable[str] = (), own: Iterable[str] = ()
) -> list[str]:
    """Return the lines that report something wrong, in order, without timestamps.

    ``expected``: regular expressions of complaints to ignore, such as the fault that
    an attack causes. ``own``: those of lines by which the feature's own code complains.
    """
    # Each by itself: flags and groups of one must not reach into another.
    wrong = [re.compile(each) for each in (*_COMPLAINTS, *own)]
    fine = [re.compile(each) for each in expected]
    return [
        line
        for line in map(bare, console.splitlines())
        if any(each.search(line) for each in wrong)
        and not any(each.search(line) for each in fine)
    ]


def bare(line: str) -> str:
    """Return a line without colours, time and caller."""
    return _PREFIX.sub("", _COLOUR.sub("", line[:_LONGEST])).strip()


def boot_complaints(plan: RunPlan, boot: StoredBoot) -> list[str]:
    """Return the complaints of a boot's kernel that its plan does not expect."""
    variant = plan.variants[boot.facts.variant]
    noticed = Outcome.VULNERABLE in map(variant.expect.get, plan.deciding)
    if variant.sabotage and noticed:
        # It is broken on purpose; that it says so is no surprise.
        return []
    expected = (*plan.expected_complaints, *variant.expected_complaints)
    return list(_recent_complaints(boot.console, expected, tuple(plan.complaints)))


# Each of a hundred proofs asks about the same boot in turn.
@lru_cache(maxsize=4)
def _recent_complaints(
    console: str, expected: tuple[str, ...], own: tuple[str, ...]
) -> tuple[str, ...]:
    return tuple(complaints(console, expected, own))


def told(lines: list[str]) -> str:
    """Join the first few complaints for the end of a sentence."""
    few = "; ".join(lines[:_FEW])
    more = len(lines) - _FEW
    return f"{few} (and {more} more)" if more > 0 else few


_FEW = 3
