"""What is known of each boot and of the whole run, as stored and reported."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from temper.record.plan import RunPlan


class _Facts(BaseModel):
    model_config = ConfigDict(frozen=True)


class MachineFacts(_Facts):
    """What a boot ran on."""

    name: str
    """The kind of machine, as ``tcg``."""
    version: str
    """What counts depend on beside the CPU model, as ``QEMU 7.2.22``."""
    cpu_model: str
    cpus: int
    """Of the machine, not only those that the kernel brought up."""
    cmdline: str
    """The whole kernel command line."""
    clock: str
    """In words, what the guest's clock was."""
    unit: str
    """Of a difference of two readings of that clock."""
    exact: bool
    """True when that clock counted instructions."""
    details: dict[str, str] = Field(default_factory=dict)
    """What else this kind of machine has to tell, by name."""


class KernelFacts(_Facts):
    """Which kernel a boot started."""

    key: str
    """The cache key of the kernel, or the hash of the image file."""
    config_hash: str = ""
    """Empty where the kernel was not built here."""
    compiler: str = ""


class BootFacts(_Facts):
    """One boot: what ran, where, and how it ended."""

    variant: str
    repeat: int
    machine: MachineFacts
    kernel: KernelFacts
    release: str = ""
    """``uname -r``; empty where the kernel never came up."""
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
    """As they came over the channel, see ``temper.record.wire``."""
    console: str = ""


class StoredRun(BaseModel):
    """A run as the store gives it back."""

    id: int
    plan: RunPlan
    started: datetime
    finished: datetime | None = None
    """None: interrupted or still going."""
    boots: list[StoredBoot] = Field(default_factory=list)
