"""The results of a selftest: boots on a busy host that must all count the same."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from temper.analysis.boots import BootResults, boot_results
from temper.analysis.exactness import difference
from temper.analysis.part import Part
from temper.analysis.variants import hosts
from temper.record.boot import StoredBoot, StoredRun
from temper.record.plan import HostLoad


class UnequalPair(Part):
    """Two boots of a pair that did not count the same."""

    pair: int
    """From 1."""
    what: str
    """The first difference that was found."""
    outliers: list[int]
    """The boots, from 1, whose counts are not those of most boots."""


class FailedBoot(Part):
    """A boot that has no counts."""

    boot: int
    """From 1."""
    error: str


class ExactnessReport(Part):
    """What ``temper selftest exact`` prints."""

    schema_version: Literal[1] = 1
    kind: Literal["selftest"] = "selftest"
    run: int
    feature: str
    arch: str
    machine: str
    machine_versions: list[str]
    kernel_key: str
    workloads: list[str]
    calls: int
    """System calls that each boot timed; other workloads scale with it."""
    in_turn: bool
    """False: a control, whose QEMUs ran their threads side by side."""
    load: HostLoad
    started: datetime
    hosts: list[str]
    """The hosts that the boots ran on; empty if they were not recorded."""
    exact: bool
    """True: every planned boot ran, and all counted the same."""
    planned: int
    """Pairs of boots."""
    pairs: int
    """Pairs of which both boots have counts."""
    unequal: list[UnequalPair]
    outliers: list[int]
    """All boots, from 1, whose counts are not those of most."""
    failed: list[FailedBoot]
    command: str
    temper_version: str

    @property
    def complete(self) -> bool:
        """Whether every planned pair has counts."""
        return self.pairs == self.planned


def exactness_report(run: StoredRun) -> ExactnessReport:
    """Compare all boots of a run, pair by pair and with each other."""
    plan = run.plan
    assert plan.load is not None
    boots = {
        boot.facts.repeat: boot_results(boot)
        for boot in run.boots
        if boot.facts.status == "ok"
    }
    outliers = _outliers(boots)
    planned = len(plan.slots) // 2
    pairs = [n for n in range(planned) if 2 * n in boots and 2 * n + 1 in boots]
    unequal = [
        _unequal(n, what, outliers)
        for n in pairs
        if (what := difference(boots[2 * n], boots[2 * n + 1]))
    ]
    return ExactnessReport(
        run=run.id,
        feature=plan.feature,
        arch=plan.arch,
        machine=plan.machine,
        machine_versions=sorted({b.facts.machine.version for b in boots.values()}),
        kernel_key=plan.variants[plan.baseline].kernel.key,
        workloads=sorted({name for b in boots.values() for name in b.workloads}),
        calls=plan.calls,
        in_turn=plan.work.in_turn,
        load=plan.load,
        started=run.started,
        hosts=hosts(run),
        exact=len(pairs) == planned and not outliers,
        planned=planned,
        pairs=len(pairs),
        unequal=unequal,
        outliers=[number + 1 for number in outliers],
        failed=_failed(run.boots),
        command=plan.command,
        temper_version=plan.temper_version,
    )


def _outliers(boots: dict[int, BootResults]) -> list[int]:
    """Return the numbers of the boots that did not count what most did."""
    alike: list[list[int]] = []
    for number, boot in boots.items():
        for group in alike:
            if not difference(boots[group[0]], boot):
                group.append(number)
                break
        else:
            alike.append([number])
    usual = max(alike, key=len, default=[])
    return sorted(boots.keys() - set(usual))


def _unequal(pair: int, what: str, outliers: Sequence[int]) -> UnequalPair:
    odd = [n + 1 for n in (2 * pair, 2 * pair + 1) if n in outliers]
    return UnequalPair(pair=pair + 1, what=what, outliers=odd)


def _failed(boots: Sequence[StoredBoot]) -> list[FailedBoot]:
    return [
        FailedBoot(boot=boot.facts.repeat + 1, error=boot.facts.error)
        for boot in boots
        if boot.facts.status != "ok"
    ]
