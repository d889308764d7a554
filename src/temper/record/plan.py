"""A plan: all that is decided before the first boot, as plain data.

A *run* is one call of ``temper price``, ``prove``, ``compare`` or ``stress``. Its plan
says what has to be built, what has to be booted, and all that its verdict depends on.
So the plan can be printed, stored and sent elsewhere, and a stored run is judged by its
own plan alone, whatever has become of the feature since.

Paths are relative to the checkout where the file is in it, otherwise absolute.
"""

import math
from enum import StrEnum
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from temper.record.outcome import Outcome

FORMAT: Literal[2] = 2
"""Raise it when older plans can no longer be judged."""


class Plain(BaseModel):
    """Plain data: immutable, and without fields that nobody knows."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Kind(StrEnum):
    """What a run is for."""

    PRICE = "price"
    PROVE = "prove"
    COMPARE = "compare"
    STRESS = "stress"


class Slot(Plain):
    """A place for one boot in a run's plan."""

    variant: str
    repeat: int
    """0 for the first boot of this variant, 1 for its repetition, …"""


class KernelPlan(Plain):
    """Which kernel is built, or which image file is taken as it is."""

    key: str
    """Its key in the cache, or ``file:`` and the SHA-256 of the image file."""
    image: str = ""
    """The image file; empty: the kernel is built."""
    source: str = ""
    version: str = ""
    """Of the source, as its Makefile says it."""
    patches: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    """``CONFIG_X=y`` lines on top of the architecture's fragment."""

    @property
    def title(self) -> str:
        """What it is, in a few words."""
        if self.image:
            return self.image
        patched = f" with {len(self.patches)} patch" if self.patches else ""
        return f"Linux {self.version}{patched}" + "es" * (len(self.patches) > 1)


class VariantPlan(Plain):
    """One way to run a kernel, and what has to be found of it."""

    title: str
    kernel: KernelPlan
    cmdline: str
    """Kernel command line, after what the machine itself needs."""
    cpu: str
    """CPU model; empty: the machine's own."""
    in_force: bool | None
    """What the in-force checks must find; None: there are none."""
    expect: dict[str, Outcome] = Field(default_factory=dict)
    """proof -> the outcome it must have; any outcome will do for the others."""
    sabotage: bool = False
    """A kernel broken on purpose, to see that the proofs notice."""
    expected_complaints: tuple[str, ...] = ()
    """Regular expressions of what this kernel may complain of on its console."""


class ProofPlan(Plain):
    """An attack and how it is judged."""

    title: str
    line: str
    """The words that run it on the target."""
    judge: str
    params: dict[str, float]
    """What the judge is told, as keyword arguments."""


class Switch(Plain):
    """A register write that counts as one instruction and takes hardware longer."""

    title: str = Field(max_length=30)
    """What such writes are called, as ``level switches``; it goes into headings."""
    counted_as: str
    """The class of instructions that they are in, as ``kernel_wrmsr``."""
    cycles: tuple[float, float]
    """Least and most that one takes on hardware: stated, not measured."""
    source: str
    """Where ``cycles`` is from."""

    @model_validator(mode="after")
    def _cycles_are_a_range(self) -> Self:
        if not 0 < self.cycles[0] <= self.cycles[1] < math.inf:
            raise ValueError("cycles must be the least and the most, above 0")
        return self


class Programs(Plain):
    """Programs for the target that are built together."""

    title: str
    folder: str
    sources: dict[str, tuple[str, ...]]
    """program -> its C files, relative to ``folder``; headers there can be included."""
    wanted: tuple[str, ...]
    """Those that go into the initramfs."""
    include: tuple[str, ...] = ()
    """Other folders whose headers they may include."""
    key: str
    """Their key in the cache."""


class Module(Plain):
    """A kernel module that is built for each variant's kernel."""

    source: str
    """Its C file, which may include the headers in its folder."""
    kernel_files: tuple[str, ...] = ()
    """Files of the kernel's own source that it includes."""
    digest: str
    """SHA-256 of ``source`` and of those headers."""


class Work(Plain):
    """What every boot of a run does, and what it needs for that."""

    job: tuple[str, ...]
    """Lines of the job, without those the machine decides."""
    cpus: int
    exact: bool
    """Whether the clock must count instructions."""
    memory: int = 0
    """Of a boot, in MiB; 0: the machine's own."""
    programs: tuple[Programs, ...] = ()
    modules: tuple[Module, ...] = ()
    files: dict[str, str] = Field(default_factory=dict)
    """File that goes into the initramfs as it is -> its SHA-256."""
    host_files: dict[str, str] = Field(default_factory=dict)
    """The same for files that keep the path they have on this host."""

    @property
    def program_count(self) -> int:
        """How many programs the job runs."""
        return sum(line.startswith("run ") for line in self.job)


class Growth(Plain):
    """A counter that may be a little higher after the work than before."""

    title: str
    """What is counted, as ``keyed pages``."""
    before: str
    after: str
    """Names of the counters."""
    apart: str = ""
    """A counter of what grew for a known reason, and does not count."""
    most: int


class StressTerms(Plain):
    """What a boot under stress is judged by."""

    seconds: int
    """Of the guest's time, that the stress lasts."""
    used: tuple[str, ...]
    """Counters that have to be above 0, or the boot says nothing of them."""
    zero: tuple[str, ...] = ()
    """Counters of failures."""
    growth: tuple[Growth, ...] = ()


class RunPlan(Plain):
    """A run, before its first boot. Immutable afterwards."""

    format: Literal[2] = FORMAT
    kind: Kind
    feature: str
    """Name of the feature; for compare the word ``compare``."""
    title: str
    """The feature's title."""
    setting: str = ""
    """The architecture's setting that all boots have; empty: none."""
    arch: str
    machine: str
    baseline: str
    """The variant that prices are relative to; empty: nothing is compared (stress)."""
    control: str = ""
    """The variant that must be vulnerable (prove)."""
    hardened: tuple[str, ...] = ()
    """The variants that every proof must find BLOCKED (prove)."""
    variants: dict[str, VariantPlan]
    proofs: dict[str, ProofPlan] = Field(default_factory=dict)
    has_proofs: bool = True
    """False: no attack on the feature is known, so nothing shows that it holds."""
    complaints: tuple[str, ...] = ()
    """Regular expressions of console lines that are complaints of the feature's own."""
    expected_complaints: tuple[str, ...] = ()
    """Those of complaints that the programs of the job bring about on purpose."""
    definitions: tuple[str, ...] = ()
    """Lines of the job whose definitions all proofs are judged against."""
    variants_left_out: tuple[str, ...] = ()
    """Variants of the feature that were not asked for."""
    proofs_left_out: tuple[str, ...] = ()
    """Proofs of the feature, for this architecture, that were not asked for."""
    switch: Switch | None = None
    """The costly register write that the feature states, if it does (price)."""
    calls: int = 0
    """System calls to time in each boot (price, compare)."""
    stress: StressTerms | None = None
    """What its boots are judged by (stress)."""
    work: Work
    slots: tuple[Slot, ...]
    command: str
    """The command line that reproduces this run."""
    temper_version: str

    @property
    def full_title(self) -> str:
        """The title, and the setting wherever there is one."""
        return f"{self.title}, with {self.setting}" if self.setting else self.title
