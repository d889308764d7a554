"""The facts of each boot and of the whole run, as stored and reported."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from temper.record.plan import RunPlan, Slot

CPU_LACKS = "cpu_lacks"
"""The detail that names the features of the CPU model which the machine lacks."""


class _Facts(BaseModel):
    model_config = ConfigDict(frozen=True)


class MachineFacts(_Facts):
    """What a boot ran on."""

    name: str
    """The kind of machine, such as ``tcg``."""
    version: str
    """What counts depend on besides the CPU model, such as ``QEMU 7.2.22``."""
    cpu_model: str
    cpus: int
    """The machine's CPUs, not only those that the kernel brought up."""
    cmdline: str
    """The whole kernel command line."""
    clock: str
    """The guest's clock, in words."""
    unit: str
    """The unit of a difference between two readings of that clock."""
    exact: bool
    """True if that clock counted instructions."""
    details: dict[str, str] = Field(default_factory=dict)
    """Other facts about this kind of machine, by name."""


class KernelFacts(_Facts):
    """Which kernel a boot started."""

    key: str
    """The cache key of the kernel, or the hash of the file that was given."""
    config_hash: str = ""
    """Empty if the configuration is unknown."""
    compiler: str = ""
    """Empty if it is unknown."""
    package: str = ""
    """Name and version of the Debian package that has it; empty: none has."""
    image: str = ""
    """The image's name in what it was unpacked from; empty: it was not packed."""
    image_hash: str = ""
    """SHA-256 of the image that was booted, if it was packed."""
    options: dict[str, str] = Field(default_factory=dict)
    """Option that the plan wants to know -> its value; empty: it has no such option.

    Without any, the configuration is unknown.
    """
    memory: dict[str, int] = Field(default_factory=dict)
    """Bytes of the kernel by their use, see ``temper.kernel.footprint``.

    Empty if they are not known: only for kernels of ours for x86-64 they are.
    """


class BootFacts(_Facts):
    """One boot: what ran, where, and how it ended."""

    variant: str
    repeat: int
    machine: MachineFacts
    kernel: KernelFacts
    release: str = ""
    """``uname -r``; empty if the kernel never came up."""
    initramfs_hash: str
    status: Literal["ok", "boot_error"]
    error: str = ""
    """Why the kernel failed, if it did."""
    early: bool = False
    """Whether it was ended before its job was done: its kernel was noticed."""
    started: datetime
    wall_seconds: float

    @property
    def slot(self) -> Slot:
        """Its place in the run's plan."""
        return Slot(variant=self.variant, repeat=self.repeat)


class StoredBoot(BaseModel):
    """A boot with all its output."""

    facts: BootFacts
    records: list[dict[str, Any]]
    """As the target sent them, see ``temper.record.wire``."""
    console: str = ""

    @property
    def outcome(self) -> tuple[object, ...]:
        """All that a verdict hangs on; exact boots repeat it to the letter."""
        facts = self.facts
        return facts.status, facts.error, facts.release, self.records, self.console


class StoredRun(BaseModel):
    """A run as the store returns it."""

    id: int
    plan: RunPlan
    started: datetime
    finished: datetime | None = None
    """None: interrupted or still running."""
    boots: list[StoredBoot] = Field(default_factory=list)

    @property
    def name(self) -> str:
        """What it is called; a shard may be of another host, which has other runs."""
        return f"shard {self.plan.shard}" if self.plan.shard else f"run {self.id}"


Choice = Callable[[StoredRun], list[Slot]]
"""Returns which boots a run needs next, by those that it has; none: it is complete."""
