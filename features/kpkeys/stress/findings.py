"""What came of one boot under stress."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from temper.analysis.console import complaints
from temper.catalog import feature_named
from temper.record.wire import AnyRecord, Exit, Samples

_OWN = (r"stress: (?:wrong|stuck)", r"stress: \S+ ended with", r"\bnot ok \d")
"""What the stress itself says, and KUnit."""

_FAILURES = ("pool/alloc_failed",)
"""What the kernel counted, and had better not have."""
_LEAK = 64
"""Keyed pages more in use than before, beside those that splits of the direct map took:
tables of vmalloc space stay; without end they do not grow."""
_USED = ("done", "event")
"""Groups of counters that tell that something was put under stress at all."""
_MORE_USED = ("pool/blocks_added", "pool/blocks_returned")


@dataclass(frozen=True)
class Findings:
    """One boot."""

    counters: dict[str, int]
    """``done/KIND``: operations; ``event/NAME``: of /proc/vmstat; ``before/NAME`` and
    ``pool/NAME``: of the allocator's debugfs file, before them and after."""
    bad: tuple[str, ...]
    """Lines of the log, failures counted, and why the boot ended if it broke."""
    console: str

    @property
    def missing(self) -> list[str]:
        """What was never done, so that the boot says nothing of it."""
        used = [n for n in self.counters if n.split("/")[0] in _USED]
        return [n for n in (*used, *_MORE_USED) if not self.counters.get(n)]

    @property
    def clean(self) -> bool:
        """Whether there is nothing wrong, and nothing was left out."""
        return not self.bad and not self.missing


def findings(
    records: Iterable[AnyRecord], console: str, broken: Sequence[str] = ()
) -> Findings:
    """Judge what a boot brought back; ``broken`` says why it ended early, if so."""
    records = list(records)
    counters = {r.name: r.values[0] for r in records if isinstance(r, Samples)}
    failed = [f"{name} is {counters[name]}" for name in _FAILURES if counters.get(name)]
    if (kept := _kept(counters)) > _LEAK:
        failed.append(f"{kept} keyed pages more are in use than before")
    ended = [
        f"{record.program} ended with status {record.status}"
        for record in records
        if isinstance(record, Exit) and record.status
    ]
    bad = (*broken, *bad_lines(console), *failed, *ended)
    return Findings(counters, bad, console)


def _kept(counters: dict[str, int]) -> int:
    more = counters.get("pool/pages_used", 0) - counters.get("before/pages_used", 0)
    return more - counters.get("event/direct_map_level2_splits", 0)


def bad_lines(console: str) -> list[str]:
    """Return the lines that tell of something wrong, in order, without their time.

    Kills for want of memory are none: the stress brings them about.
    """
    return complaints(console, own=(*feature_named("kpkeys").complaints, *_OWN))
