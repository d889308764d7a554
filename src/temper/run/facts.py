"""What is known of a run and of each of its boots, as stored and reported.

A *run* is one call of ``temper price``, ``prove`` or ``compare``. It plans its
boots first (its *slots*), so an interrupted run knows what is missing.
"""

from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Kind(StrEnum):
    """What a run was for."""

    PRICE = "price"
    PROVE = "prove"
    COMPARE = "compare"


class Slot(BaseModel):
    """A place for one boot in a run's plan."""

    model_config = ConfigDict(frozen=True)

    variant: str
    repeat: int
    """0 for the first boot of this variant, 1 for its repetition, …"""


class RunPlan(BaseModel):
    """All that is decided before the first boot. Immutable afterwards."""

    model_config = ConfigDict(frozen=True)

    kind: Kind
    feature: str
    """Name of the feature; for compare the word ``compare``."""
    arch: str
    machine: str
    baseline: str
    """The variant that prices are relative to."""
    control: str = ""
    """The variant that must be vulnerable (prove)."""
    slots: tuple[Slot, ...]
    titles: dict[str, str] = Field(default_factory=dict)
    """variant -> one line saying what it is."""
    command: str
    """The command line that reproduces this run."""
    params: dict[str, Any] = Field(default_factory=dict)
    """Calls per workload, attack samples, and whatever else was chosen."""
    temper_version: str


class BootFacts(BaseModel):
    """One boot: what ran, where, and how it ended."""

    model_config = ConfigDict(frozen=True)

    variant: str
    repeat: int
    machine: str
    arch: str
    exact: bool
    """True when the guest's clock counted instructions."""
    clock: str
    """In words, what the guest's clock was."""
    cpus: int
    """Of the machine, not only those that the kernel brought up."""
    cpu_model: str
    qemu_version: str
    qemu_command: str
    plugin: str = ""
    """The plugin's API level where one was loaded."""
    kernel_key: str
    """The cache key of the kernel, or the hash of the image file."""
    kernel_release: str = ""
    config_hash: str = ""
    compiler: str = ""
    cmdline: str
    initramfs_hash: str
    status: Literal["ok", "boot_error"]
    error: str = ""
    """Why the kernel failed, when it did."""
    started: datetime
    wall_seconds: float


class StoredBoot(BaseModel):
    """A boot with all that came back from it."""

    facts: BootFacts
    records: list[dict[str, Any]]
    """As they came over the channel, see ``temper.run.wire``."""
    console: str = ""


class StoredRun(BaseModel):
    """A run as the store gives it back."""

    id: int
    plan: RunPlan
    started: datetime
    finished: datetime | None = None
    """None: interrupted or still going."""
    boots: list[StoredBoot] = Field(default_factory=list)
