"""Reads the table of hardening options: ``options/*.toml``, an option each."""

from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from temper.catalog import ArchName, Pattern, check_known
from temper.paths import REPOSITORY
from temper.record.outcome import Outcome
from temper.record.plan import AttackPlan, Plain
from temper.toml import read_toml

OPTIONS = REPOSITORY / "options"
TWINS = OPTIONS / "twins"
"""What kernels that are built for an audit need."""
GUIDE = "docs/audit.md says what an option's table holds"

ConfigLine = Annotated[str, Field(pattern=r"^CONFIG_\w+=\S+$")]

Kind = Literal["lkdtm", "probe", "user"]
KINDS: tuple[Kind, ...] = ("lkdtm", "probe", "user")
"""By LKDTM's triggers, by our own module, and by processes of users."""

MODULES: dict[Kind, str] = {"lkdtm": "lkdtm", "probe": "probe"}
"""Kind -> the module that it takes, in options/modules."""

_LKDTM_GAVE_UP = (
    r"lkdtm: .*(?:XFAIL|lacked Oops|failed|Failed to|Unable to|could not|NOT written"
    r"|Reallocation missed|didn't get the same)"
    # It got one of the few objects that KFENCE watches, and not one of a slab.
    r"|BUG: KFENCE: "
)
_REFUSED = ("EPERM", "EACCES")


class Setting(Plain):
    """What weakens an option, or switches it on."""

    cmdline: str = ""
    """Kernel command line."""
    cpu: str = ""
    """Properties of the CPU model, such as ``-smep``."""
    sysctls: tuple[str, ...] = ()
    """``name=value``, set for each of its attacks alone."""
    config: tuple[ConfigLine, ...] = ()
    """``CONFIG_X=y`` lines of a twin: a kernel that is built for the audit."""
    patches: tuple[str, ...] = ()
    """What else the twin needs: files in options/twins."""
    boot: str = ""
    """What it shares a boot with: all settings of this name; empty: it has its own.
    All that take a twin share one."""
    none: str = ""
    """Why there is nothing of the kind."""

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        twin = self.config or self.patches
        given = [self.cmdline, self.cpu, self.sysctls, twin, self.none]
        if sum(map(bool, given)) != 1:
            raise ValueError(
                "give cmdline, cpu, sysctls, what makes a twin (config, patches), or "
                "none with the reason"
            )
        for name in self.patches:
            if not (TWINS / name).is_file():
                raise ValueError(f"options/twins has no {name}")
        return self

    @property
    def is_twin(self) -> bool:
        """Whether it takes another kernel."""
        return bool(self.config or self.patches)

    @property
    def words(self) -> str:
        """What it is, in short."""
        cpu = f"-cpu MODEL,{self.cpu}" if self.cpu else ""
        patches = (Path(name).stem for name in self.patches)
        made = (self.cmdline, cpu, *self.sysctls, *self.config, *patches, self.none)
        return " ".join(filter(None, made))


class Attacks(Plain):
    """Attacks that are judged alike: names of one kind."""

    lkdtm: tuple[str, ...] = ()
    probe: tuple[str, ...] = ()
    user: tuple[str, ...] = ()
    architectures: tuple[ArchName, ...] = ()
    """Those that it is for; empty: all."""
    by: Pattern = ""
    reported: Pattern = ""
    gave_up: Pattern = ""
    refused: tuple[str, ...] = _REFUSED
    lands: Pattern = ""
    most: float = Field(default=0.0, ge=0, lt=1)
    """These are as an AttackPlan has them."""
    sysctls: tuple[str, ...] = ()
    """``name=value``, set whenever they are made."""
    across_boots: bool = False
    """Whether what they see must differ from boot to boot: they are made in every boot
    of the kernel that leaves their option as it is."""
    apart: bool = False
    """Whether one that lands damages the kernel, so that it needs a boot of its own."""

    @property
    def kind(self) -> Kind:
        """How they are made."""
        return next(kind for kind in KINDS if getattr(self, kind))

    @property
    def names(self) -> tuple[str, ...]:
        """What they are called."""
        return self.lkdtm or self.probe or self.user

    @model_validator(mode="after")
    def _are_judged(self) -> Self:
        if sum(bool(getattr(self, kind)) for kind in KINDS) != 1:
            raise ValueError("attacks are of one kind: lkdtm, probe or user")
        if self.lkdtm and not self.by:
            raise ValueError("triggers of LKDTM need 'by', which tells what stops them")
        return self

    def plan(self, option: str) -> AttackPlan:
        """Return how each of them is judged."""
        usual = _LKDTM_GAVE_UP if self.lkdtm else ""
        return AttackPlan(
            option=option,
            gave_up=self.gave_up or usual,
            by=self.by,
            reported=self.reported,
            lands=self.lands,
            refused=self.refused if self.user else (),
            most=self.most,
            across_boots=self.across_boots,
        )


class Option(Plain):
    """A hardening option of any kernel: what it promises, and how that is attacked."""

    name: str
    title: str = Field(max_length=44)
    promise: str
    settings: dict[str, str] = Field(default_factory=dict)
    """What sets it -> what it should be, both in kernel-hardening-checker's words:
    options, parameters, sysctls."""
    architectures: tuple[ArchName, ...] = ()
    """Those that have it; empty: all."""
    control: Setting
    remedy: Setting = Setting(none="it takes another kernel")
    price: str = ""
    """Where its price misleads, and why."""
    attacks: tuple[Attacks, ...] = Field(min_length=1)

    def on(self, arch: str) -> Self | None:
        """Return it with its attacks on an architecture; None: it has none there."""
        if self.architectures and arch not in self.architectures:
            return None
        here = tuple(
            each
            for each in self.attacks
            if not each.architectures or arch in each.architectures
        )
        return self.model_copy(update={"attacks": here}) if here else None

    def each(self) -> Iterator[tuple[str, Attacks]]:
        """Yield its attacks: name, and what it has in common with others."""
        for attacks in self.attacks:
            yield from ((name, attacks) for name in attacks.names)


class Policy(Plain):
    """What a user demands of a kernel: a TOML file."""

    blocked: tuple[str, ...] = ()
    """Options that must be BLOCKED."""
    detected: tuple[str, ...] = ()
    """Options that must be BLOCKED or at least DETECTED."""

    @property
    def least(self) -> dict[str, Outcome]:
        """Return option -> the least that it must be."""
        return {
            **dict.fromkeys(self.detected, Outcome.DETECTED),
            **dict.fromkeys(self.blocked, Outcome.BLOCKED),
        }


@cache
def all_options() -> dict[str, Option]:
    """Return name -> option, sorted; raise InputError for a broken table."""
    return {
        path.stem: read_toml(path, Option, GUIDE, name=path.stem)
        for path in sorted(OPTIONS.glob("*.toml"))
    }


def options_on(arch: str, wanted: Collection[str] = ()) -> dict[str, Option]:
    """Return the options of an architecture; ``wanted``: only these.

    Raises InputError for an unknown one.
    """
    here = {name: found.on(arch) for name, found in all_options().items()}
    known = {name: found for name, found in here.items() if found}
    check_known("option", wanted, known)
    return {name: found for name, found in known.items() if name in (wanted or known)}
