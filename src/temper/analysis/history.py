"""How prices, or outcomes, of one feature went from run to run."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

from temper.analysis.models import PriceReport, ProofReport, VariantInfo
from temper.analysis.price import price_report
from temper.analysis.proof import proof_report
from temper.errors import TemperError
from temper.record.boot import StoredRun
from temper.record.outcome import Outcome
from temper.record.plan import Kind


class _Report(BaseModel):
    model_config = ConfigDict(frozen=True)


class PastRun(_Report):
    """A finished run."""

    run: int
    started: datetime
    machine_version: str
    cpu_model: str
    calls: int
    """0 for proofs."""
    good: bool
    """A price: its counts are exact. A proof: proven, and all as expected."""
    refused: dict[str, str]
    """variant -> why it has no price in this run."""
    baseline: str
    """The variant that prices are relative to; empty for proofs."""


class PastPrice(_Report):
    """The median of one workload under one variant in one run."""

    run: int
    variant: str
    kernel_release: str
    kernel_key: str
    workload: str
    unit: str
    p50: float
    """Per operation, without samples hit by a timer tick."""
    price: float | None
    """How much more than the baseline of the same run; None for the baseline."""


class PastOutcome(_Report):
    """How one proof ended on one variant in one run."""

    run: int
    variant: str
    kernel_release: str
    kernel_key: str
    proof: str
    outcome: Outcome
    limit: bool = False
    """Whether the proof showed a known limit in this run."""


class HistoryReport(_Report):
    """What ``temper history`` prints, oldest run first."""

    schema_version: Literal[1] = 1
    kind: Literal["history"] = "history"
    of: Literal["prices", "outcomes"]
    feature: str
    arch: str
    setting: str
    """The setting of all runs; empty: none."""
    runs: list[PastRun]
    prices: list[PastPrice]
    outcomes: list[PastOutcome]
    left_out: dict[int, str]
    """Run -> why it cannot be reported."""

    @property
    def variants(self) -> list[str]:
        """All variants that some run has, a baseline first."""
        found = dict.fromkeys(price.variant for price in self.prices)
        found |= dict.fromkeys(outcome.variant for outcome in self.outcomes)
        baselines = {run.baseline for run in self.runs}
        return sorted(found, key=lambda name: name not in baselines)

    @property
    def workloads(self) -> list[str]:
        """All workloads that some run has measured."""
        return list(dict.fromkeys(price.workload for price in self.prices))

    def only(
        self, variants: Collection[str], workloads: Collection[str]
    ) -> "HistoryReport":
        """Return the part with these variants and workloads; none means all."""

        def wanted(row: PastPrice | PastOutcome) -> bool:
            return not variants or row.variant in variants

        prices = [
            price
            for price in filter(wanted, self.prices)
            if not workloads or price.workload in workloads
        ]
        outcomes = list(filter(wanted, self.outcomes))
        return self.model_copy(update={"prices": prices, "outcomes": outcomes})


def history_report(
    feature: str,
    arch: str,
    setting: str,
    kind: Kind,
    runs: Mapping[int, Callable[[], StoredRun]],
) -> HistoryReport:
    """Report finished runs of one kind and feature, oldest first.

    ``runs``: number -> what loads that run. One that cannot be loaded or judged is
    left out, with the reason.
    """
    proofs = kind is Kind.PROVE
    found: list[_Found] = []
    left_out: dict[int, str] = {}
    for number in sorted(runs):
        try:
            run = runs[number]()
            found.append(_proof(run) if proofs else _price(run))
        except TemperError as error:
            left_out[number] = error.message
    return HistoryReport(
        of="outcomes" if proofs else "prices",
        feature=feature,
        arch=arch,
        setting=setting,
        runs=[run for run, _, _ in found],
        prices=[price for _, prices, _ in found for price in prices],
        outcomes=[outcome for _, _, outcomes in found for outcome in outcomes],
        left_out=left_out,
    )


_Found = tuple[PastRun, Sequence[PastPrice], Sequence[PastOutcome]]


def _price(run: StoredRun) -> _Found:
    report = price_report(run)
    past = _run(run, report.variants, report.exact, report.refused, report.baseline)
    return past, list(_medians(report)), ()


def _proof(run: StoredRun) -> _Found:
    report = proof_report(run)
    good = report.proven and report.as_expected
    return _run(run, report.variants, good, {}, ""), (), list(_outcomes(report))


def _run(
    run: StoredRun,
    variants: Mapping[str, VariantInfo],
    good: bool,
    refused: dict[str, str],
    baseline: str,
) -> PastRun:
    first = next(iter(variants.values()))
    return PastRun(
        run=run.id,
        started=run.started,
        machine_version=first.machine_version,
        cpu_model=first.cpu_model,
        calls=run.plan.calls,
        good=good,
        refused=refused,
        baseline=baseline,
    )


def _medians(report: PriceReport) -> Iterator[PastPrice]:
    rows = [x for x in report.rows if x.without_ticks and x.result_class == "p50"]
    base = {row.workload: row.baseline_value for row in rows}
    for workload, value in base.items():
        yield _median(report, report.baseline, workload, value, None)
    for row in rows:
        yield _median(report, row.variant, row.workload, row.value, row.delta)


def _median(
    report: PriceReport, variant: str, workload: str, p50: float, price: float | None
) -> PastPrice:
    return PastPrice(
        run=report.run,
        variant=variant,
        kernel_release=report.variants[variant].kernel_release,
        kernel_key=report.variants[variant].kernel_key,
        workload=workload,
        unit=report.unit,
        p50=p50,
        price=price,
    )


def _outcomes(report: ProofReport) -> Iterator[PastOutcome]:
    for variant, proofs in report.evidence.items():
        for proof, found in proofs.items():
            yield PastOutcome(
                run=report.run,
                variant=variant,
                kernel_release=report.variants[variant].kernel_release,
                kernel_key=report.variants[variant].kernel_key,
                proof=proof,
                outcome=found.outcome,
                limit=proof in report.limits,
            )
