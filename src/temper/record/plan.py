"""A plan: everything that is decided before the first boot, as plain data.

A *run* is one call of ``temper price``, ``prove``, ``mutate``, ``compare``, ``audit``,
``exposure``, ``stress``, ``events`` or ``selftest``. Its plan says what has to be
built, what has to be booted, and all that its verdict depends on. So the plan can be
printed, stored and sent elsewhere, and a stored run is judged by its own plan alone,
whatever has become of the feature since.

Paths of files in the checkout are relative to it; all others are absolute.
"""

import math
from collections.abc import Sequence
from enum import StrEnum
from typing import Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

from temper.record.outcome import Outcome

_Item = TypeVar("_Item")

FORMAT: Literal[2] = 2
"""Raise it if a change makes it impossible to judge older plans."""

USUAL_BASE = "small"
"""The base of kernels, a folder in kernel/, unless the user chose another."""


class Plain(BaseModel):
    """Plain data: immutable, and without unknown fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Kind(StrEnum):
    """What a run is for."""

    PRICE = "price"
    PROVE = "prove"
    MUTATE = "mutate"
    COMPARE = "compare"
    AUDIT = "audit"
    EXPOSURE = "exposure"
    STRESS = "stress"
    EVENTS = "events"
    SELFTEST = "selftest"


class Slot(Plain):
    """The place of one boot in a run's plan."""

    variant: str
    repeat: int
    """0 for the first boot of this variant, 1 for its repetition, …"""


class Package(Plain):
    """A package of Debian's."""

    name: str
    version: str
    digest: str
    """SHA-256 of its archive."""


class Headers(Plain):
    """What modules for a kernel that others built are built against."""

    release: str
    """``uname -r`` of that kernel."""
    folder: str = ""
    """Of a build or of installed headers, or the archive ``devel.tar.gz`` beside a
    kernel of ours; empty: packages have them."""
    digest: str = ""
    """SHA-256 over its configuration and its symbols; empty: packages have them."""
    packages: tuple[Package, ...] = ()
    """Debian's; the first one has the configuration."""
    tools: tuple[Package, ...] = ()
    """Debian's for this host, with the programs that a build calls."""


class KernelPlan(Plain):
    """A kernel to build, or one that others built."""

    key: str
    """Its key in the cache, or ``file:`` and the SHA-256 of ``image``."""
    image: str = ""
    """The image file, or the package that has it; empty: the kernel is built."""
    package: str = ""
    """Name and version of the Debian package that ``image`` is; empty: it is none."""
    config: str = ""
    """The configuration of ``image``, if it is in no package; empty: unknown."""
    source: str = ""
    version: str = ""
    """The source's version, from its Makefile."""
    patches: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    """``CONFIG_X=y`` lines in addition to the base's."""
    base: str = USUAL_BASE
    """What else it is built with."""
    headers: Headers | None = None
    """What modules for it are built against, if others built it and it takes any."""

    @property
    def title(self) -> str:
        """A short description."""
        if self.image:
            return self.package or self.image
        base = "" if self.base == USUAL_BASE else f" ({self.base})"
        patched = f" with {len(self.patches)} patch" if self.patches else ""
        return f"Linux {self.version}{base}{patched}" + "es" * (len(self.patches) > 1)


class VariantPlan(Plain):
    """One way to run a kernel, and what checks and proofs must find."""

    title: str
    kernel: KernelPlan
    cmdline: str
    """Kernel command line, in addition to what the machine needs."""
    cpu: str
    """CPU model; empty: the machine's own."""
    in_force: bool | None
    """What the in-force checks must find; None: there are none."""
    expect: dict[str, Outcome] = Field(default_factory=dict)
    """proof -> the outcome it must have; other proofs may have any outcome."""
    sabotage: bool = False
    """True: this kernel is broken on purpose, to see whether the proofs notice."""
    expected_complaints: tuple[str, ...] = ()
    """Regular expressions of complaints that this kernel may print on its console."""
    job: tuple[str, ...] = ()
    """What its boots do instead of the run's job, twins excepted; empty: that job."""


class ProofPlan(Plain):
    """An attack and how it is judged."""

    title: str
    line: str
    """The words that run it on the target."""
    judge: str
    params: dict[str, float]
    """Keyword arguments of the judge."""
    twins: bool = False
    """Whether it compares a variant's twins, instead of attacking one boot."""
    limit: bool = False
    """Whether it shows a known limit: an attack that the feature does not stop."""
    outside: str = ""
    """The function that attacks by a debugger meanwhile; empty: none does."""


class Weighed(Plain):
    """Instructions that count as one each but cost more on hardware."""

    counted_as: str
    """The class of instructions that contains them, such as ``kernel_wrmsr``."""
    cycles: tuple[float, float]
    """The least and the most that one takes on hardware: stated, not measured."""

    @model_validator(mode="after")
    def _cycles_are_a_range(self) -> Self:
        if not 0 < self.cycles[0] <= self.cycles[1] < math.inf:
            raise ValueError("cycles must be the least and the most, above 0")
        return self


class Switch(Weighed):
    """A write of a register, and what else a feature does with that register."""

    title: str = Field(max_length=30)
    """What such writes are called, such as ``level switches``; used in headings."""
    source: str
    """Where all ``cycles`` come from."""
    borrowed: str = ""
    """A sentence on bounds that are those of other instructions; empty: none are."""
    others: tuple[Weighed, ...] = ()
    """Other instructions on that register, such as reads of it."""


class Register(Plain):
    """A register of the CPU that opens memory to writes by the kernel."""

    title: str
    """What is open meanwhile, such as ``page tables``."""
    msr: int | None = None
    """Its number on x86-64, where one instruction writes many registers; None: an
    instruction of its own writes it."""
    counted_as: str = "kernel_wrmsr"
    """The class of the instructions that write it."""
    opens: int
    """The value that opens it."""
    closes: int
    """The value that closes it; no other is written."""
    never: tuple[str, ...] = ()
    """Functions that must not run while it is open; ``*`` stands for any letters."""


class Programs(Plain):
    """Programs for the target, built together."""

    title: str
    folder: str
    sources: dict[str, tuple[str, ...]]
    """program -> its C files, relative to ``folder``; they may include its headers."""
    wanted: tuple[str, ...]
    """The programs that go into the initramfs."""
    include: tuple[str, ...] = ()
    """Other folders whose headers they may include."""
    key: str
    """Their key in the cache."""


class Module(Plain):
    """A kernel module to build for each variant's kernel."""

    source: str
    """Its C file, which may include the headers in its folder; or a folder, whose
    files are put into ``kernel_folder``."""
    kernel_files: tuple[str, ...] = ()
    """Files of the kernel's own source that it includes."""
    kernel_folder: str = ""
    """The folder of the kernel's own source that it is built from; empty: none."""
    switches: tuple[str, ...] = ()
    """``CONFIG_X=m`` for that folder's Makefile."""
    digest: str
    """SHA-256 over ``source`` and the headers in its folder."""

    @property
    def name(self) -> str:
        """What it is called."""
        return self.source.rpartition("/")[2].removesuffix(".c")


class Root(Plain):
    """Programs of Debian packages, with the libraries that they need."""

    packages: tuple[Package, ...]
    """The packages that have them, and all that those depend on."""
    programs: tuple[str, ...]
    """Their absolute paths, or patterns of them."""
    files: tuple[str, ...] = ()
    """What else of the packages: paths of files and folders, and patterns of them."""
    sources: str = ""
    """Where apt takes packages from, as in a file of /etc/apt; empty: as the host."""


class Objects(Plain):
    """Objects of a kernel's own source, for guests that compile them."""

    names: tuple[str, ...]
    """As Kbuild calls them, such as ``lib/argv_split.o``."""
    kernel: KernelPlan
    """In whose tree they are compiled; the kernel itself is not built."""


def place_of(program: str) -> str:
    """Return where a target has a program of a root.

    One that is known by a pattern, such as ``/usr/lib/postgresql/*/bin/postgres``, is
    in /programs, so that commands can name it. The folder is no ``bin``, since programs
    that are in one may look beside it for what they were installed with.
    """
    return f"/programs/{program.rpartition('/')[2]}" if "*" in program else program


class Work(Plain):
    """What every boot of a run does, and what it needs for that."""

    job: tuple[str, ...]
    """Lines of the job, without those that the machine adds."""
    cpus: int
    exact: bool
    """Whether the clock must count instructions."""
    memory: int = 0
    """Of a boot, in MiB; 0: the machine's own."""
    hardware: tuple[str, ...] = ()
    """More options of the machine."""
    in_turn: bool = True
    """False: the machine leaves out its cure for a race (a selftest's control)."""
    programs: tuple[Programs, ...] = ()
    modules: tuple[Module, ...] = ()
    root: Root | None = None
    objects: Objects | None = None
    texts: dict[str, str] = Field(default_factory=dict)
    """Path in the initramfs -> what the file there says."""
    needs: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Workload -> options that every kernel must have for it."""
    told: tuple[str, ...] = ()
    """Options whose value in each kernel goes into its facts."""

    @model_validator(mode="before")
    @classmethod
    def _of_older_plans(cls, data: object) -> object:
        """Leave out the host's compiler, which older plans may name for build/cc."""
        if not isinstance(data, dict):
            return data
        return {k: v for k, v in data.items() if k not in {"files", "host_files"}}

    @property
    def real_programs(self) -> list[str]:
        """The workloads that are real programs: those that target/real.c runs."""
        run = "run "
        lines = [line.removeprefix(run) for line in self.job if line.startswith(run)]
        return [workload for line in lines if (workload := real_program(line))]


def real_program(line: str) -> str:
    """Return which real program a line of a job runs; empty: none."""
    runner, *words = line.split()
    return words[0] if runner == "real" and words else ""


class Growth(Plain):
    """A counter that may be a little higher after the work than before."""

    title: str
    """What it counts, such as ``keyed pages``."""
    before: str
    after: str
    """Names of the counters before and after the work."""
    apart: str = ""
    """A counter of growth for a known reason, which is subtracted."""
    most: int


class AttackPlan(Plain):
    """An attack on an option, and how its outcome is judged."""

    option: str
    gave_up: str = ""
    """Regular expression of console lines by which it says that it did not attack."""
    by: str = ""
    """Regular expression of the console line with which the kernel stops it."""
    reported: str = ""
    """The same of one by which the kernel reports it, and lets it go on."""
    lands: str = ""
    """The same of one that shows that it landed, though it ended the kernel."""
    refused: tuple[str, ...] = ()
    """The errors with which the kernel refuses it."""
    most: float = Field(default=0.0, ge=0, lt=1)
    """The share of its tries that may land by chance."""
    across_boots: bool = False
    """Whether it also lands if it sees in two boots the same: a boot is a try."""


class Role(StrEnum):
    """Why a variant of an audited kernel is booted."""

    SHIPPED = "shipped"
    """To see what each option is worth."""
    CONTROL = "control"
    """An option is weakened: each attack on it must land."""
    REMEDY = "remedy"
    """An option is switched on: no attack on it may land."""


class AuditBoot(Plain):
    """What a variant of an audited kernel is for."""

    role: Role
    attacks: tuple[str, ...]
    """Those that are made in its boot."""


class OptionPlan(Plain):
    """A hardening option of any kernel."""

    title: str
    promise: str
    settings: dict[str, str]
    """What sets it -> what it should be, in kernel-hardening-checker's words."""
    control: str
    """What weakens it, or why nothing does without another kernel."""
    has_control: bool
    remedy: str
    """What switches it on; empty: nothing does without another kernel."""
    price: str = ""
    """Where its price misleads, and why."""


class TrialTerms(Plain):
    """The criteria by which a boot under stress, or through an event, is judged."""

    seconds: int = 0
    """How long the stress lasts, in the guest's time; 0: as long as the event."""
    used: tuple[str, ...] = Field(min_length=1)
    """Counters that must be above 0, or the boot shows nothing about them."""
    zero: tuple[str, ...] = ()
    """Counters of failures."""
    growth: tuple[Growth, ...] = ()


class Scripts(Plain):
    """The scripts that lead guests through events, from outside."""

    folder: str
    """A Python package with a function for each event."""
    digest: str
    """SHA-256 over its files."""
    by_variant: dict[str, str]
    """variant -> the function that leads its boot."""
    hardware: tuple[str, ...] = ()
    """Options of the machine that the events need."""


class Outside(Plain):
    """The code that attacks guests from outside."""

    folder: str
    """A Python package with a function for each attack."""
    digest: str
    """SHA-256 over its files."""


class Fate(StrEnum):
    """What the compiler makes of a mutant."""

    DISTINCT = "distinct"
    """A kernel of its own, which is booted."""
    SAME = "same"
    """The same as without the mutant."""
    DUPLICATE = "duplicate"
    """The same as another mutant."""
    BROKEN = "broken"
    """Nothing: it does not compile, or does not link."""
    UNREACHED = "unreached"
    """Nothing: the configuration leaves its line out."""


def again(variant: str) -> str:
    """Return the variant that boots the kernel of a mutant a second time.

    On a busy host a proof may find what is not there, but hardly twice.
    """
    return f"{variant}-again"


def under(condition: str, mutant: str) -> str:
    """Return the variant that boots the kernel of a mutant under a condition."""
    return f"{mutant}-{condition}"


class MutantPlan(Plain):
    """A line of a series that was changed, to see whether the proofs notice."""

    file: str
    """In the kernel's tree."""
    line: int
    """Its number there, with the series."""
    hunk: str
    """The change, as lines of a diff."""
    does: str
    """What it does, as a verb and its object."""
    fate: Fate
    accepted: str = ""
    """Why it need not be noticed; empty: it must be."""


class HostLoad(Plain):
    """What disturbs the boots of a run on purpose."""

    stressors: tuple[str, ...]
    """Words for stress-ng."""
    longest_stop: float = Field(gt=0)
    """A QEMU is stopped for a random time up to this, in seconds."""
    longest_run: float = Field(gt=0)
    """The same for the time between two stops."""


class Twins(Plain):
    """Two boots of a variant whose machines differ in their random numbers alone.

    Their clock counts instructions, so the host has no part in it, and they have one
    CPU, since several take turns as the host has it. They have the slots 1 and 2 of
    each variant that has any; slot 0 is that of other attacks.
    """

    job: tuple[str, ...]
    """What they do instead of the run's job."""
    seeds: tuple[int, int]
    """What each machine's random numbers start from."""
    cmdline: str = ""
    """Words for their kernels beside those of the variant."""


class Layout(Plain):
    """What shifts the memory of a boot, and leaves its work as it is."""

    seed: int
    """What the machine's random numbers start from: they place the kernel."""
    spacer: int = Field(ge=0)
    """Pages of a file that the initramfs has in addition."""


class Shard(Plain):
    """Which part of a plan a run makes, while others make the rest."""

    number: int = Field(ge=1)
    count: int = Field(ge=1)
    of: tuple[Slot, ...]
    """The slots of the whole plan."""

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


class RunPlan(Plain):
    """What a run will do; complete before its first boot and immutable."""

    format: Literal[2] = FORMAT
    kind: Kind
    feature: str
    """The feature's name; ``compare`` for a comparison."""
    title: str
    """The feature's title."""
    setting: str = ""
    """The setting of the architecture in all boots; empty: none."""
    cpu: str = ""
    """The CPU model that the user chose; empty: the machine's own."""
    base: str = USUAL_BASE
    """The base of all kernels that are built."""
    arch: str
    machine: str
    baseline: str
    """The variant that prices are relative to; empty: no prices (stress, events)."""
    control: str = ""
    """The variant that must be vulnerable (prove)."""
    hardened: tuple[str, ...] = ()
    """The variants that every deciding proof must find BLOCKED (prove)."""
    variants: dict[str, VariantPlan]
    proofs: dict[str, ProofPlan] = Field(default_factory=dict)
    judges: str = ""
    """SHA-256 over the code of the feature's judges (prove)."""
    has_proofs: bool = True
    """False: Temper has no attack on the feature, so nothing shows that it holds."""
    complaints: tuple[str, ...] = ()
    """Regular expressions of console lines by which the feature's code complains."""
    expected_complaints: tuple[str, ...] = ()
    """Regular expressions of complaints that programs of the job cause on purpose."""
    definitions: tuple[str, ...] = ()
    """Lines of the job that report kernel definitions, which every judge gets."""
    variants_left_out: tuple[str, ...] = ()
    """Variants of the feature that the user did not ask for."""
    proofs_left_out: tuple[str, ...] = ()
    """The feature's proofs for this architecture that the user did not ask for."""
    switch: Switch | None = None
    """The expensive register write that the feature states, if any (price)."""
    watched: Register | None = None
    """The register whose open stretches are measured (exposure)."""
    calls: int = 0
    """System calls to time in each boot (price, compare, exposure)."""
    trial: TrialTerms | None = None
    """The criteria for its boots (stress, events)."""
    load: HostLoad | None = None
    """What disturbs its boots (selftest)."""
    scripts: Scripts | None = None
    """What leads its boots, instead of a job (events)."""
    outside: Outside | None = None
    """What attacks by a debugger (prove)."""
    twins: Twins | None = None
    """What proofs compare (prove)."""
    options: dict[str, OptionPlan] = Field(default_factory=dict)
    """Option -> what it promises (audit)."""
    attacks: dict[str, AttackPlan] = Field(default_factory=dict)
    """Attack -> how it is judged (audit)."""
    audited: dict[str, AuditBoot] = Field(default_factory=dict)
    """Variant -> what it is for (audit)."""
    must: dict[str, Outcome] = Field(default_factory=dict)
    """Option -> the least that the user's policy demands (audit)."""
    mutants: dict[str, MutantPlan] = Field(default_factory=dict)
    """Id -> a mutant that was compiled; each distinct one is a variant (mutate)."""
    sampled: bool = False
    """Whether there are more mutants than these (mutate)."""
    chosen: bool = False
    """Whether somebody chose them, so that they are no sample (mutate)."""
    attacked: str = ""
    """The key of the kernel that ``temper prove`` attacks, whose series has these
    mutants; it lacks what sabotages need (mutate)."""
    conditions: dict[str, str] = Field(default_factory=dict)
    """Name -> words for the kernel with which a mutant boots where nothing notices it
    without (mutate)."""
    kunit: str = ""
    """The KUnit suites that run as mutants boot; empty: none do (mutate)."""
    layouts: dict[int, Layout] = Field(default_factory=dict)
    """Repeat -> the layout of memory of those boots, if not the usual one (price)."""
    work: Work
    slots: tuple[Slot, ...] = Field(min_length=1)
    shard: Shard | None = None
    """Which part of another plan this is; None: it is whole."""
    command: str
    """The command line that reproduces this run."""
    temper_version: str

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        """Refuse a plan that no run could be judged by, such as a damaged one."""
        named = {slot.variant for slot in self.slots} | set(self.hardened)
        # Proofs may leave the baseline out.
        priced = self.kind in (Kind.PRICE, Kind.COMPARE, Kind.SELFTEST)
        named |= {self.baseline if priced else self.control} - {""}
        if self.kind is Kind.AUDIT and self.audited.keys() != self.variants.keys():
            raise ValueError("each variant of an audit has one purpose")
        if self.scripts and self.scripts.by_variant.keys() != self.variants.keys():
            raise ValueError("each variant needs one script")
        if unknown := named - self.variants.keys():
            raise ValueError(f"there is no variant {', '.join(sorted(unknown))}")
        needed = {
            Kind.PRICE: ("baseline",),
            Kind.COMPARE: ("baseline",),
            Kind.AUDIT: ("options", "attacks", "audited"),
            Kind.EXPOSURE: ("watched",),
            Kind.PROVE: ("control", "proofs"),
            Kind.MUTATE: ("control", "hardened", "proofs", "mutants"),
            Kind.STRESS: ("trial",),
            Kind.EVENTS: ("trial", "scripts"),
            Kind.SELFTEST: ("baseline", "load"),
        }
        if missing := [name for name in needed[self.kind] if not getattr(self, name)]:
            raise ValueError(f"a plan to {self.kind} needs {', '.join(missing)}")
        if self.twins is None and any(proof.twins for proof in self.proofs.values()):
            raise ValueError("a proof compares twins, but there are none")
        if not self.outside and any(proof.outside for proof in self.proofs.values()):
            raise ValueError("a proof attacks from outside, but nothing is said of it")
        if self.twins and max(slot.repeat for slot in self.slots) > 2:
            raise ValueError("a variant has two twins")
        if self.scripts and self.kind is not Kind.EVENTS:
            raise ValueError(f"a plan to {self.kind} has no scripts")
        return self

    def part(self, number: int, count: int) -> Self:
        """Return the plan of shard ``number`` of ``count``, which counts from 1.

        Boots of one kernel stay together as far as the shards' sizes allow, so that
        few shards build it. All boots of a mutant do: which of them decide depends on
        the others. They are judged by those of the control and of the series as it is,
        so every shard has these. Raises ValueError if there are more shards than boots,
        or than mutants.
        """
        if self.mutants:
            booted = dict.fromkeys(self.mutant_of(slot.variant) for slot in self.slots)
            share = {*_share([*filter(None, booted)], "mutants", number, count)}
            own = [
                slot
                for slot in self.slots
                if self.mutant_of(slot.variant) in share or self.in_each_part(slot)
            ]
        else:
            own = [*_share(self._by_kernel(), "boots", number, count)]
        shard = Shard(number=number, count=count, of=self.slots)
        return self.model_copy(update={"slots": tuple(own), "shard": shard})

    def in_each_part(self, slot: Slot) -> bool:
        """Return whether each shard makes this boot, to judge those of its mutants."""
        return bool(self.mutants) and not self.mutant_of(slot.variant)

    def _by_kernel(self) -> list[Slot]:
        kernels = list(dict.fromkeys(v.kernel for v in self.variants.values()))
        return sorted(
            self.slots,
            key=lambda slot: kernels.index(self.variants[slot.variant].kernel),
        )

    def only(self, variant: str) -> Self:
        """Return the plan of the boots of one variant."""
        own = tuple(slot for slot in self.slots if slot.variant == variant)
        return self.model_copy(update={"slots": own})

    @property
    def whole(self) -> Self:
        """The plan that this is a part of, or this one."""
        if not self.shard:
            return self
        return self.model_copy(update={"slots": self.shard.of, "shard": None})

    @property
    def booted(self) -> dict[str, VariantPlan]:
        """The variants that this plan boots: all, unless it is a part of another."""
        names = {slot.variant for slot in self.slots}
        return {name: each for name, each in self.variants.items() if name in names}

    def mutant_of(self, variant: str) -> str:
        """Return the id of the mutant that a variant boots; empty: it boots none."""
        # again() and under() begin with it, and an id is a digest.
        mutant = variant.partition("-")[0]
        return mutant if mutant in self.mutants else ""

    def tries(self, mutant: str) -> list[str]:
        """Return the variants that boot a mutant or the series as it is, in order.

        The first has no words beside those of the hardened variant. ``again`` names
        the second boot of each.
        """
        return [mutant, *(under(name, mutant) for name in self.conditions)]

    def twin_seed(self, slot: Slot) -> int | None:
        """Return what the random numbers of a twin start from; None: it is none."""
        return self.twins.seeds[slot.repeat - 1] if self.twins and slot.repeat else None

    def cmdline(self, slot: Slot) -> str:
        """Return the words for a boot's kernel, without those that the machine adds."""
        own = self.variants[slot.variant].cmdline
        twins = self.twins.cmdline if self.twins and slot.repeat else ""
        return " ".join(filter(None, (own, twins)))

    def job(self, slot: Slot) -> tuple[str, ...]:
        """Return the lines of a boot's job, without those that the machine adds."""
        if self.twins and slot.repeat:
            return self.twins.job
        return self.variants[slot.variant].job or self.work.job

    def runs(self, slot: Slot, line: str) -> bool:
        """Return whether a boot's job runs a program with these words."""
        return f"run {line}" in self.job(slot)

    def program_count(self, slot: Slot) -> int:
        """Return how many programs a boot's job runs."""
        return sum(line.startswith("run ") for line in self.job(slot))

    @property
    def deciding(self) -> list[str]:
        """The proofs of what the feature claims to stop: all that show no limit."""
        return [name for name, proof in self.proofs.items() if not proof.limit]

    @property
    def without_reasons(self) -> Self:
        """The plan without what changes no boot: why mutants may survive."""
        mutants = {
            name: mutant.model_copy(update={"accepted": ""})
            for name, mutant in self.mutants.items()
        }
        return self.model_copy(update={"mutants": mutants})

    def resuming(self, run: int) -> str:
        """Return the command that makes what is missing of the run with this plan."""
        return f"{self.own_command} --resume {run}"

    @property
    def own_command(self) -> str:
        """The command line that makes this part of the run, or all of it."""
        return f"{self.command} --shard {self.shard}" if self.shard else self.command

    @property
    def full_title(self) -> str:
        """The title, with what the user chose: setting, CPU model, base."""
        setting = f", with {self.setting}" if self.setting else ""
        cpu = f", on CPU model {self.cpu}" if self.cpu else ""
        base = "" if self.base == USUAL_BASE else f", on base {self.base}"
        shard = f", shard {self.shard}" if self.shard else ""
        return f"{self.title}{setting}{cpu}{base}{shard}"


def _share(
    items: Sequence[_Item], called: str, number: int, count: int
) -> Sequence[_Item]:
    """Return share ``number`` of ``count``, none of which is empty."""
    size = len(items)
    if count > size:
        raise ValueError(f"{size} {called} are too few for {count} shards")
    return items[(number - 1) * size // count : number * size // count]
