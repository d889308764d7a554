"""The reports as data: ``--json`` prints them, and every other view draws them.

The schemas are versioned (``schema_version``) and documented in docs/json.md.
Adding a field keeps the version; changing or removing a field raises it.
"""

from datetime import datetime
from typing import Literal

from pydantic import Field

from temper.analysis.part import Part
from temper.record.outcome import Outcome
from temper.stats.comparison import Mark

_MOST_READ = 12


class VariantInfo(Part):
    """How one variant was run, for the configuration section of a report."""

    title: str
    cmdline: str
    cpu_model: str
    cpu_lacks: str = ""
    """Features of the CPU model that the machine does not emulate."""
    kernel_release: str
    kernel_key: str
    config_hash: str
    compiler: str
    package: str = ""
    """Name and version of the Debian package that has the kernel; empty: none has."""
    image: str = ""
    """The image's name in what it was unpacked from; empty: it was not packed."""
    image_hash: str = ""
    """SHA-256 of the image that was booted, if it was packed."""
    machine_version: str
    boots: int


class PriceRow(Part):
    """One result class of one workload under one variant.

    ``value``, ``baseline_value`` and ``delta`` are in ``unit`` per operation;
    ``delta`` is value minus baseline_value, so above 0 means more expensive.
    """

    workload: str
    result_class: str = Field(serialization_alias="class", validation_alias="class")
    unit: str
    variant: str
    value: float
    baseline_value: float
    delta: float
    delta_percent: float | None
    """None if the baseline is 0."""
    mark: Mark
    without_ticks: bool
    """True: samples hit by a timer tick are left out."""
    spread: float | None = None
    """How far other layouts of memory move ``delta``; None: not measured."""


class TickCount(Part):
    """How many samples of a workload a timer tick hit."""

    workload: str
    variant: str
    samples: int
    hit: int


class ClassRow(Part):
    """Instructions of one class per operation, counted by the plugin."""

    workload: str
    instruction_class: str = Field(
        serialization_alias="class", validation_alias="class"
    )
    variant: str
    per_operation: float
    baseline_per_operation: float

    @property
    def delta(self) -> float:
        """How many more than with the baseline, per operation."""
        # Both are floats of exact fractions; digits after the ninth are rounding.
        return round(self.per_operation - self.baseline_per_operation, 9)


class SwitchRow(Part):
    """Expensive register writes of one workload under one variant, per operation."""

    workload: str
    variant: str
    baseline_per_operation: float
    """The baseline's instructions of that class, which write other registers."""
    delta: float
    """How many more the variant has: the feature's own writes."""
    cycles: tuple[float, float]
    """The least and the most that ``delta`` and ``others`` add, by the stated model."""
    others: dict[str, tuple[float, float]] = Field(default_factory=dict)
    """Class of other instructions on that register -> baseline's, how many more."""


class Switches(Part):
    """How often an expensive register is written, and a model of what that costs."""

    title: str
    counted_as: str
    """The class of instructions that contains these writes."""
    cycles: tuple[float, float]
    """The least and the most cycles of one on hardware: stated, not measured."""
    source: str
    """Where all cycles come from."""
    rows: list[SwitchRow]
    borrowed: str = ""
    """A sentence on bounds that are those of other instructions; empty: none are."""
    others: dict[str, tuple[float, float]] = Field(default_factory=dict)
    """Class of other instructions on that register -> cycles, as above."""


class OnceRow(Part):
    """What a variant takes once: to start, or in memory for as long as it runs."""

    what: str
    unit: Literal["instructions", "bytes"]
    variant: str
    value: int
    baseline_value: int

    @property
    def delta(self) -> int:
        """How much more than the baseline."""
        return self.value - self.baseline_value


class Distribution(Part):
    """Exact distribution of one workload under one variant, for the plots."""

    workload: str
    variant: str
    unit: str
    operations: int
    """Operations per sample; divide a bin's value by it."""
    bins: list[tuple[int, int]]
    """[value of a sample, samples], without those that a timer tick hit."""
    tick_bins: list[tuple[int, int]]
    """The same for the samples that a timer tick hit."""


class InForceSummary(Part):
    """What the in-force checks of one variant's boots found."""

    expected: bool
    found: bool | None
    """None: nothing was checked."""
    checks: int
    agreed: int
    """Checks that found what was expected; fewer than ``checks``: no price."""
    how: str
    """What the checks looked at, in words."""


class PriceReport(Part):
    """What a feature costs: the result of ``temper price`` and ``compare``."""

    schema_version: Literal[2] = 2
    kind: Literal["price", "compare"]
    run: int
    feature: str
    title: str
    arch: str
    machine: str
    baseline: str
    exact: bool
    exact_why: str
    """What shows that the counts repeat, or where they did not."""
    unit: str
    layouts: int = 1
    """Layouts of memory that were planned; 1: no spread was measured."""
    rows: list[PriceRow]
    ticks: list[TickCount]
    classes: list[ClassRow]
    switches: Switches | None = None
    """None: the feature states none, or no classes were counted."""
    once: list[OnceRow] = Field(default_factory=list)
    """Empty if neither the start nor the kernel's memory was measured."""
    overhead: dict[str, int]
    """workload -> what timing a sample costs; its values include that."""
    operations: dict[str, int]
    calls: dict[str, int]
    """workload -> samples taken in each boot, after the warm-up."""
    in_force: dict[str, InForceSummary]
    has_proofs: bool = True
    """False: Temper has no attack on the feature, so nothing shows that it holds."""
    in_force_note: str = ""
    """Why a run has no in-force check (compare: no feature is named)."""
    refused: dict[str, str] = Field(default_factory=dict)
    """variant -> why it has no price, and so no rows, ticks or classes."""
    failed: dict[str, str] = Field(default_factory=dict)
    """Real program -> how it failed in a boot; no variant has a price on it."""
    distributions: list[Distribution]
    variants: dict[str, VariantInfo]
    real_programs: list[str] = Field(default_factory=list)
    """The workloads that are real programs; the others are micro-benchmarks."""
    packages: dict[str, str] = Field(default_factory=dict)
    """Debian package -> its version, of all that the real programs come from."""
    started: datetime
    hosts: list[str]
    """The hosts that the boots ran on; empty if they were not recorded."""
    temper_version: str
    """The version that planned the run."""
    command: str


class ProofEvidence(Part):
    """What one proof found on one variant."""

    outcome: Outcome
    expected: Outcome | None
    """None: any outcome will do."""
    reasons: list[str]
    """Sentences that say why the proof ended like that."""
    figures: dict[str, float]
    """The measures behind the reasons, by name; the judges' README.md has each."""
    clock: str
    """The guest's clock: it decides how much entropy there is."""
    series: dict[str, list[list[int]]] = Field(default_factory=dict)
    """Name -> a table for the feature's own plots."""

    @property
    def surprising(self) -> bool:
        """Whether another outcome was expected."""
        return self.expected is not None and self.outcome is not self.expected


class Strength(Part):
    """How much is noticed of what could be wrong with a series, by mutants of it."""

    score: float
    """Percent of the booted mutants that were noticed or are accepted."""
    interval: tuple[float, float] | None
    """What the score of all mutants is within, in percent, with a confidence of 95 %;
    None: all were booted."""
    mutants: int
    """How many were booted."""
    survivors: int
    """How many of them must be noticed, and were not."""
    variant: str = ""
    """The hardened variant of the proof that they are mutants of; empty: this stands
    beside no proof."""
    run: int
    """The run that booted them."""
    started: datetime
    command: str


class ProofReport(Part):
    """Whether a feature holds: the result of ``temper prove``."""

    schema_version: Literal[2] = 2
    kind: Literal["prove"] = "prove"
    run: int
    feature: str
    title: str
    arch: str
    machine: str
    control: str
    outcomes: dict[str, Outcome]
    """variant -> worst outcome of all its deciding proofs, if there are any."""
    hardened: list[str]
    """The variants that every deciding proof of this run must find BLOCKED, if any."""
    proven: bool
    """Control VULNERABLE and hardened BLOCKED, by every deciding proof of this run."""
    sabotages: list[str] = Field(default_factory=list)
    """The variants in ``evidence`` that are sabotages."""
    as_expected: bool
    """Every proof of every variant, sabotages included, came out as expected."""
    evidence: dict[str, dict[str, ProofEvidence]]
    """variant -> proof that attacked it -> what was found."""
    in_force: dict[str, InForceSummary]
    variants: dict[str, VariantInfo]
    proofs: dict[str, str]
    """proof -> its title."""
    limits: list[str] = Field(default_factory=list)
    """The proofs that show a known limit; the others decide."""
    variants_left_out: list[str] = Field(default_factory=list)
    """Variants of the feature that the user did not ask for."""
    proofs_left_out: list[str] = Field(default_factory=list)
    """The feature's proofs for this architecture that the user did not ask for."""
    judges_changed: bool = False
    """True: the judges' code is not the code that the run was planned with."""
    strength: Strength | None = None
    """What stored mutants of a hardened variant say; None: nothing, or not asked."""
    started: datetime
    hosts: list[str]
    """The hosts that the boots ran on; empty if they were not recorded."""
    temper_version: str
    """The version that planned the run."""
    command: str

    @property
    def summarised(self) -> bool:
        """Whether there are too many proofs to print the reasons of each."""
        return len(self.proofs) > _MOST_READ

    @property
    def deciding(self) -> list[str]:
        """The proofs of what the feature claims to stop: all that show no limit."""
        return [name for name in self.proofs if name not in self.limits]

    def label(self, proof: str) -> str:
        """Name a proof so that a limit is taken for neither failure nor success."""
        return f"{proof} (limit)" if proof in self.limits else proof
