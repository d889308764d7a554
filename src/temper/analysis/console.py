"""What a kernel says on its console that spoils a measurement or a proof.

A kernel that warned, oopsed or hung somewhere is not the kernel that was to be
measured: its locks may be off, its memory broken, a CPU gone.
"""

import re
from collections.abc import Iterable

from temper.record.boot import StoredBoot
from temper.record.plan import RunPlan

_COMPLAINTS = (
    # WARN() and lockdep begin a line with it; that a mitigation is missing, and the
    # like, is said further on: "Spectre V2 : WARNING: Unprivileged eBPF is enabled".
    r"^WARNING: ",
    # Sanitisers, bad pages, sleeping while atomic, lockups: all are BUGs.
    r"(?:^|: )BUG\b|kernel BUG at ",
    r"\bOops\b",
    r"^Unable to handle kernel ",
    r"[Kk]ernel panic",
    r"^PANIC: ",
    r"unchecked MSR access",
    r"\bINFO: (?:task .* blocked for more than|trying to register non-static key)",
    r"\brcu.*(?:self-detected stall|detected stalls|detected expedited stalls)",
    r"hard LOCKUP",
    r"^UBSAN: ",
    r"^kmemleak: \d+ new suspected",
    r"list_(?:add|del) corruption",
    r"page allocation failure",
    r"VM_FAULT_OOM leaked",
)
# Of printk: the time, and who calls where that is configured.
_PREFIX = re.compile(r"^(?:\[ *[\d.]+\])?(?:\[ *[TC]\d+\])? ?")


def complaints(
    console: str, expected: Iterable[str] = (), own: Iterable[str] = ()
) -> list[str]:
    """Return the lines that tell of something wrong, in order, without their time.

    ``expected``: regular expressions of complaints that are no surprise, such as the
    fault of an attack. ``own``: of lines that are complaints of the feature's own.
    """
    wrong = re.compile("|".join((*_COMPLAINTS, *own)))
    fine = [re.compile(each) for each in expected]
    lines = (_PREFIX.sub("", line).strip() for line in console.splitlines())
    return [
        line
        for line in lines
        if wrong.search(line) and not any(each.search(line) for each in fine)
    ]


def boot_complaints(plan: RunPlan, boot: StoredBoot) -> list[str]:
    """Return what a boot's kernel complained of that its plan does not expect."""
    variant = plan.variants[boot.facts.variant]
    expected = (*plan.expected_complaints, *variant.expected_complaints)
    return complaints(boot.console, expected, plan.complaints)


def told(lines: list[str]) -> str:
    """Put complaints into a sentence's end; the first few say most."""
    few = "; ".join(lines[:_FEW])
    more = len(lines) - _FEW
    return f"{few} (and {more} more)" if more > 0 else few


_FEW = 3
