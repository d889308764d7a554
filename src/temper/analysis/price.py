"""What a feature costs, from the boots of a run.

A variant has a price only if its in-force checks passed in every boot; otherwise the
price is refused, with the reason.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from temper.analysis.boots import BootResults, results_by_variant
from temper.analysis.exactness import exactness
from temper.analysis.failed_programs import failed_programs, without
from temper.analysis.models import (
    ClassRow,
    Distribution,
    PriceReport,
    PriceRow,
    TickCount,
)
from temper.analysis.once import once_rows
from temper.analysis.refusals import in_force_summaries, refusals
from temper.analysis.switches import switches
from temper.analysis.variants import hosts, variant_infos
from temper.analysis.whole import WHOLE_LOOP, confirmed
from temper.record.boot import StoredRun
from temper.record.plan import Kind
from temper.stats.comparison import Bins, Comparison, Difference, Sample
from temper.stats.exact import Exact, merge


def price_report(run: StoredRun) -> PriceReport:
    """Price every variant of a run relative to its baseline.

    Raises StoreError if the stored records contradict each other, InputError if the
    feature states what instructions cost of a class that was not counted.
    """
    plan, finished = run.plan, results_by_variant(run)
    failed = failed_programs(run, finished)
    boots = without(finished, failed)
    in_force = in_force_summaries(plan, boots)
    refused = refusals(run, boots, in_force)
    priced = {name: kept for name, kept in boots.items() if name not in refused}
    usual = {
        name: [boot for boot in kept if boot.facts.repeat not in plan.layouts]
        for name, kept in priced.items()
    }
    exact, why = exactness(usual) if len(priced) > 1 else (False, "no price")
    # Identical boots count once; if they differ, all of them count.
    measured = {
        name: _Measured(
            usual[name][:1] if exact else usual[name],
            [boot for boot in kept if boot.facts.repeat in plan.layouts],
        )
        for name, kept in priced.items()
    }
    base = measured.get(plan.baseline, _Measured([]))
    classes = _class_rows(plan.baseline, measured)
    comparison = Exact(repeated=exact)
    wholes = _whole_rows(plan.baseline, measured, comparison)
    rows = _rows(plan.baseline, measured, comparison)
    return PriceReport(
        kind="compare" if plan.kind is Kind.COMPARE else "price",
        run=run.id,
        feature=plan.feature,
        title=plan.full_title,
        arch=plan.arch,
        machine=plan.machine,
        baseline=plan.baseline,
        exact=exact,
        exact_why=why,
        unit=base.unit,
        layouts=1 + len(plan.layouts),
        rows=[*confirmed(rows, wholes), *wholes],
        ticks=_ticks(measured),
        classes=classes,
        switches=switches(classes, plan.switch) if plan.switch and classes else None,
        once=once_rows(plan.baseline, usual),
        overhead={name: base.overhead(name) for name in base.workloads},
        operations={name: base.operations(name) for name in base.workloads},
        calls={name: base.calls(name) for name in base.workloads},
        in_force=in_force,
        has_proofs=plan.has_proofs,
        in_force_note="" if in_force else _NOT_CHECKED,
        refused=refused,
        failed=failed,
        distributions=_distributions(measured),
        variants=variant_infos(run),
        real_programs=plan.work.real_programs,
        packages={
            package.name: package.version
            for package in (plan.work.root.packages if plan.work.root else ())
        },
        started=run.started,
        hosts=hosts(run),
        temper_version=plan.temper_version,
        command=plan.command,
    )


_NOT_CHECKED = "no feature is named, so there was nothing to check"


class _Measured:
    """The boots of one variant taken together, by workload.

    ``layouts``: its boots in other layouts of memory, of which only samples count.
    """

    def __init__(
        self, boots: Sequence[BootResults], layouts: Sequence[BootResults] = ()
    ) -> None:
        self._boots = boots
        self._layouts = layouts
        self._first = boots[0].workloads if boots else {}
        self.workloads = list(self._first)

    @property
    def unit(self) -> str:
        """The unit of all values; a job has one clock, so all workloads share it."""
        return next((w.unit for w in self._first.values()), "instructions")

    def operations(self, workload: str) -> int:
        return self._first[workload].operations

    def overhead(self, workload: str) -> int:
        return self._first[workload].overhead

    def calls(self, workload: str) -> int:
        return self._first[workload].samples

    def quiet(self, workload: str) -> dict[int, int]:
        return merge(boot.quiet[workload] for boot in self._boots)

    def ticked(self, workload: str) -> dict[int, int]:
        return merge(boot.ticked[workload] for boot in self._boots)

    def sample(self, workload: str, without_ticks: bool) -> Sample:
        """Return what was measured, with or without the samples that ticks hit."""
        boots, layouts = (
            [_bins(boot, workload, without_ticks) for boot in boots]
            for boots in (self._boots, self._layouts)
        )
        return Sample(boots, self.operations(workload), layouts)

    def whole(self, workload: str) -> Sample | None:
        """Return each boot's whole loop as one measurement; None if not counted."""
        if not all(workload in boot.wholes for boot in self._boots):
            return None
        boots, layouts = (
            [{boot.wholes[workload]: 1} for boot in boots if workload in boot.wholes]
            for boots in (self._boots, self._layouts)
        )
        operations = self.calls(workload) * self.operations(workload)
        return Sample(boots, operations, layouts)

    def classes(self, workload: str) -> dict[str, Fraction]:
        """Return instructions by class per operation, ticks included."""
        counts = merge(boot.classes[workload] for boot in self._boots)
        samples = sum(boot.workloads[workload].samples for boot in self._boots)
        operations = samples * self.operations(workload)
        return {name: Fraction(n, operations) for name, n in counts.items()}


def _bins(boot: BootResults, workload: str, without_ticks: bool) -> Bins:
    quiet = boot.quiet[workload]
    return quiet if without_ticks else merge([quiet, boot.ticked[workload]])


def _rows(
    baseline: str, measured: Mapping[str, _Measured], comparison: Comparison
) -> list[PriceRow]:
    if baseline not in measured:
        return []
    base = measured[baseline]
    return [
        _row(workload, variant, name, base.unit, without_ticks, found)
        for without_ticks in (True, False)
        for workload in base.workloads
        for variant, other in measured.items()
        if variant != baseline
        for name, found in comparison.compare(
            base.sample(workload, without_ticks), other.sample(workload, without_ticks)
        ).items()
    ]


def _whole_rows(
    baseline: str, measured: Mapping[str, _Measured], comparison: Comparison
) -> list[PriceRow]:
    """Return the whole loop of each workload under each variant, where counted."""
    if baseline not in measured:
        return []
    base = measured[baseline]
    return [
        _row(
            workload,
            variant,
            WHOLE_LOOP,
            base.unit,
            False,
            comparison.compare(before, after)["mean"],
        )
        for workload in base.workloads
        if (before := base.whole(workload))
        for variant, other in measured.items()
        if variant != baseline
        if (after := other.whole(workload))
    ]


def _row(
    workload: str,
    variant: str,
    name: str,
    unit: str,
    without_ticks: bool,
    found: Difference,
) -> PriceRow:
    return PriceRow(
        workload=workload,
        result_class=name,
        unit=unit,
        variant=variant,
        value=float(found.value),
        baseline_value=float(found.baseline),
        delta=float(found.delta),
        delta_percent=found.percent,
        mark=found.mark,
        spread=None if found.spread is None else float(found.spread),
        without_ticks=without_ticks,
    )


def _ticks(measured: Mapping[str, _Measured]) -> list[TickCount]:
    counts = []
    for variant, results in measured.items():
        for workload in results.workloads:
            hit = sum(results.ticked(workload).values())
            left = sum(results.quiet(workload).values())
            counts.append(
                TickCount(
                    workload=workload, variant=variant, samples=hit + left, hit=hit
                )
            )
    return counts


def _class_rows(baseline: str, measured: Mapping[str, _Measured]) -> list[ClassRow]:
    if baseline not in measured:
        return []
    rows = []
    for workload in measured[baseline].workloads:
        before = measured[baseline].classes(workload)
        for variant, results in measured.items():
            if variant == baseline:
                continue
            after = results.classes(workload)
            rows += [
                ClassRow(
                    workload=workload,
                    instruction_class=name,
                    variant=variant,
                    per_operation=float(after.get(name, 0)),
                    baseline_per_operation=float(before.get(name, 0)),
                )
                for name in before | after
            ]
    return rows


def _distributions(measured: Mapping[str, _Measured]) -> list[Distribution]:
    return [
        Distribution(
            workload=workload,
            variant=variant,
            unit=results.unit,
            operations=results.operations(workload),
            bins=sorted(results.quiet(workload).items()),
            tick_bins=sorted(results.ticked(workload).items()),
        )
        for variant, results in measured.items()
        for workload in results.workloads
    ]
