"""The reports as data: what ``--json`` prints and every other view draws.

The schemas are versioned (``schema_version``) and documented in docs/json.md.
Adding a field keeps the version; changing or removing one raises it.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from temper.record.outcome import Outcome
from temper.stats.comparison import Mark


class _Report(BaseModel):
    model_config = ConfigDict(frozen=True, populate_by_name=True)


_MOST_READ = 12


class VariantInfo(_Report):
    """How one variant was run, for the configuration block of a report."""

    title: str
    cmdline: str
    cpu_model: str
    kernel_release: str
    kernel_key: str
    config_hash: str
    compiler: str
    machine_version: str
    boots: int


class PriceRow(_Report):
    """One result class of one workload under one variant.

    ``value``, ``baseline_value`` and ``delta`` are in ``unit`` per operation;
    ``delta`` is value minus baseline_value, so more than 0 means dearer.
    """

    workload: str
    result_class: str = Field(serialization_alias="class", validation_alias="class")
    unit: str
    variant: str
    value: float
    baseline_value: float
    delta: float
    delta_percent: float | None
    """None where the baseline is 0."""
    mark: Mark
    without_ticks: bool
    """True: samples hit by a timer tick are left out."""


class TickCount(_Report):
    """How many samples of a workload a timer tick fell into."""

    workload: str
    variant: str
    samples: int
    hit: int


class ClassRow(_Report):
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
        """How many more than the baseline's, per operation."""
        # Both are floats of exact fractions; what is left past 9 digits is rounding.
        return round(self.per_operation - self.baseline_per_operation, 9)


class SwitchRow(_Report):
    """Costly register writes of one workload under one variant, per operation."""

    workload: str
    variant: str
    baseline_per_operation: float
    """Instructions of the class that the baseline has: other registers."""
    delta: float
    """How many more the variant has: the writes that are meant."""
    cycles: tuple[float, float]
    """By the stated model: the least and the most that ``delta`` adds."""


class Switches(_Report):
    """How often a costly register is written, and a model of what that takes."""

    title: str
    counted_as: str
    """The class of instructions that such writes are in."""
    cycles: tuple[float, float]
    """Least and most cycles of one on hardware: stated, not measured."""
    source: str
    """Where ``cycles`` is from."""
    rows: list[SwitchRow]


class Distribution(_Report):
    """Exact distribution of one workload under one variant, for the plots."""

    workload: str
    variant: str
    unit: str
    operations: int
    """Operations in a sample; divide a bin's value by it."""
    bins: list[tuple[int, int]]
    """[value of a sample, samples], without those a timer tick fell into."""
    tick_bins: list[tuple[int, int]]
    """The same for those a timer tick fell into."""


class InForceSummary(_Report):
    """What the in-force checks of one variant's boots found."""

    expected: bool
    found: bool | None
    """None: nothing was checked."""
    checks: int
    agreed: int
    """Checks that found what was expected; less than ``checks``: no price."""
    how: str
    """In words, what was looked at."""


class PriceReport(_Report):
    """What a feature costs: the answer of ``temper price`` and ``compare``."""

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
    """How it was found that counts repeat, or where they did not."""
    unit: str
    rows: list[PriceRow]
    ticks: list[TickCount]
    classes: list[ClassRow]
    switches: Switches | None = None
    """None: the feature states none, or nothing was counted."""
    overhead: dict[str, int]
    """workload -> what timing a sample costs itself, included in its values."""
    operations: dict[str, int]
    calls: dict[str, int]
    """workload -> samples taken in each boot, after the warm-up."""
    in_force: dict[str, InForceSummary]
    has_proofs: bool = True
    """False: no attack on the feature is known, so nothing shows that it holds."""
    in_force_note: str = ""
    """Why a run has no in-force check (compare: no feature is named)."""
    refused: dict[str, str] = Field(default_factory=dict)
    """variant -> why it has no price; it has no rows, ticks or classes then."""
    distributions: list[Distribution]
    variants: dict[str, VariantInfo]
    command: str


class ProofEvidence(_Report):
    """What one proof found on one variant."""

    outcome: Outcome
    expected: Outcome | None
    """None: any outcome will do."""
    reasons: list[str]
    """Sentences: why the outcome is what it is."""
    figures: dict[str, float]
    """The measures behind the reasons, by name; the judges' README.md has each."""
    clock: str
    """What clock the guest had: it decides what entropy there is."""
    series: dict[str, list[list[int]]] = Field(default_factory=dict)
    """Tables by name, from which the feature's own plots are drawn."""

    @property
    def surprising(self) -> bool:
        """Whether another outcome was expected."""
        return self.expected is not None and self.outcome is not self.expected


class ProofReport(_Report):
    """Whether a feature holds: the answer of ``temper prove``."""

    schema_version: Literal[2] = 2
    kind: Literal["prove"] = "prove"
    run: int
    feature: str
    title: str
    arch: str
    machine: str
    control: str
    outcomes: dict[str, Outcome]
    """variant -> worst outcome of all its proofs."""
    hardened: list[str]
    """The variants that every proof of this run must find BLOCKED; maybe none."""
    proven: bool
    """Control VULNERABLE and hardened variants BLOCKED, by every proof of this run."""
    sabotages: list[str] = Field(default_factory=list)
    """The outcomes that are of sabotaged variants, by name."""
    as_expected: bool
    """Every proof of every variant, sabotages too, came out as expected."""
    evidence: dict[str, dict[str, ProofEvidence]]
    """variant -> proof -> what was found."""
    in_force: dict[str, InForceSummary]
    variants: dict[str, VariantInfo]
    proofs: dict[str, str]
    """proof -> its title."""
    variants_left_out: list[str] = Field(default_factory=list)
    """Variants of the feature that were not asked for."""
    proofs_left_out: list[str] = Field(default_factory=list)
    """Proofs of the feature, for this architecture, that were not asked for."""
    command: str

    @property
    def summarised(self) -> bool:
        """Whether there are more proofs than people read the reasons of."""
        return len(self.proofs) > _MOST_READ
