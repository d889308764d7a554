"""Reads ``features/*/feature.toml`` into typed objects.

A feature's folder has everything about it; this module only checks that it is
complete, and says what is missing.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Set
from pathlib import Path, PurePath
from typing import Annotated, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from temper.arch import ARCHES
from temper.errors import InputError
from temper.extension import attack_named, judge_named, outside_of
from temper.paths import FEATURES
from temper.record.outcome import Outcome
from temper.record.plan import Plain, Register, Switch
from temper.toml import read_toml
from temper.workloads import all_workloads

_Kind = TypeVar("_Kind")

GUIDE = "docs/adding-a-feature.md lists every field"
"""Where to look if a table of a feature is wrong."""


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"'{pattern}' is not a regular expression: {error}") from None
    return pattern


Pattern = Annotated[str, AfterValidator(_compiles)]
"""A regular expression in Python's syntax."""


def _is_an_arch(name: str) -> str:
    if name not in ARCHES:
        known = ", ".join(ARCHES)
        raise ValueError(f"unknown architecture '{name}'; known: {known}")
    return name


ArchName = Annotated[str, AfterValidator(_is_an_arch)]
"""The name of an architecture."""


def _is_a_stem(name: str) -> str:
    if not re.fullmatch(r"[\w-]+", name, re.ASCII):
        raise ValueError(f"'{name}' is not the name of a C file, without .c")
    return name


Stem = Annotated[str, AfterValidator(_is_a_stem)]
"""The name of a C file in the folder that it belongs to, without ``.c``."""


def _is_inside(name: str) -> str:
    path = PurePath(name)
    if path.is_absolute() or ".." in path.parts:
        raise ValueError(f"'{name}' is outside the feature's folder")
    return name


Inside = Annotated[str, AfterValidator(_is_inside)]
"""A path that does not leave the folder it is relative to."""

Param = Annotated[float, Field(strict=True, allow_inf_nan=False)]
"""A number, and no text that could be read as one."""

_OTHERS = "*"
_ANY = "any"

Expected = Outcome | dict[str, Outcome | Literal["any"]]
"""The outcome of all proofs, or proof -> its outcome; ``*`` is all others."""


class VariantOn(Plain):
    """What one architecture has of its own, beside or in place of a variant's."""

    config: tuple[str, ...] = ()
    """``CONFIG_X=y`` lines in addition."""
    patches: tuple[Inside, ...] = ()
    """In place of the variant's; none: the variant's."""
    cpu: str = ""
    """QEMU CPU model in place of the variant's; empty: the variant's."""
    expect: Expected | None = None
    """In place of the variant's; None: the variant's."""


class Variant(Plain):
    """One way to run a kernel with the feature compiled in."""

    title: str
    cmdline: str
    """Kernel command line, in addition to what the machine needs."""
    in_force: bool
    """What the in-force check must find in every boot."""
    expect: Expected = Field(default_factory=dict)
    """The outcome that all proofs must have, or proof -> its outcome.

    ``*`` in the table stands for all proofs that it does not name. Without that, a
    proof that is not in the table may have any outcome, which is just reported; with
    it, so may one that has ``any``.
    Neither one outcome nor ``*`` stands for a limit: ``Feature.expected`` has it.
    """
    patches: tuple[Inside, ...] = ()
    """Folders of ``*.patch`` in the feature's folder, or single patches, in order."""
    config: tuple[str, ...] = ()
    """``CONFIG_X=y`` lines in addition to the feature's."""
    cpu: str = ""
    """QEMU CPU model; empty: the architecture's."""
    expected_complaints: tuple[Pattern, ...] = ()
    """Regular expressions of complaints that this kernel may print on its console."""
    architectures: tuple[ArchName, ...] = ()
    """Where there is such a variant; empty: on all of the feature's architectures."""
    on: dict[ArchName, VariantOn] = Field(default_factory=dict)
    """architecture -> what it has in addition, or in place of the rest."""

    def for_arch(self, arch: str) -> Self:
        """Return the variant as it is on an architecture."""
        own = self.on.get(arch, VariantOn())
        return self.model_copy(
            update={
                "config": (*self.config, *own.config),
                "patches": own.patches or self.patches,
                "cpu": own.cpu or self.cpu,
                "expect": self.expect if own.expect is None else own.expect,
                "on": {},
            }
        )


class Sabotaged(Plain):
    """What all sabotages of a feature have in common, before what each has itself."""

    patches: tuple[Inside, ...] = ()
    config: tuple[str, ...] = ()
    cmdline: str = ""
    on: dict[ArchName, VariantOn] = Field(default_factory=dict)
    """architecture -> what it has in addition."""

    def shared_by(self, sabotage: Variant) -> Variant:
        """Return the sabotage with what all have."""
        return sabotage.model_copy(
            update={
                "on": {
                    arch: _joined(self.on.get(arch), sabotage.on.get(arch))
                    for arch in {**self.on, **sabotage.on}
                },
                "patches": (*self.patches, *sabotage.patches),
                "config": (*self.config, *sabotage.config),
                "cmdline": f"{self.cmdline} {sabotage.cmdline}".strip(),
            }
        )


class TargetProgram(Plain):
    """A program of the feature that runs on the target."""

    program: Stem
    """``proof/<program>.c``"""
    module: Stem | Literal[""] = ""
    """``proof/<module>.c``: the kernel module that it needs, if any."""
    expected_complaints: tuple[Pattern, ...] = ()
    """Regular expressions of kernel complaints that it causes on purpose."""

    @property
    def line(self) -> str:
        """The words in the job that run it."""
        return self.program


class InForceCheck(TargetProgram):
    """Tests by behaviour whether the mitigation is on."""


class Definition(TargetProgram):
    """Reports the kernel's own definitions to all judges."""


class Proof(TargetProgram):
    """An attack, and the judge of its results."""

    title: str
    samples: int = Field(gt=0)
    judge: str
    """Name of a function in the package ``judges`` of the feature's folder."""
    params: dict[str, Param] = Field(default_factory=dict)
    """Keyword arguments of the judge."""
    architectures: tuple[ArchName, ...] = ()
    """Where this attack makes sense; empty: on all of the feature's architectures."""
    setting: str = ""
    """The setting of the architecture that it needs; empty: none."""
    cmdline: str = ""
    """Kernel parameters that its boots need, in addition to a variant's."""
    hardware: tuple[str, ...] = ()
    """Options of the machine that its boots need."""
    twins: bool = False
    """Whether it compares two boots whose machines differ in random numbers alone.

    The judge gets each boot's samples, with ``_1`` and ``_2`` after their names.
    """
    limit: bool = False
    """Whether it shows a known limit: an attack that the feature does not stop."""
    outside: str = ""
    """Name of a function in the package ``outside`` of the feature's folder, which
    attacks by a debugger while the program runs; empty: the program attacks."""

    @property
    def line(self) -> str:
        """The words in the job that run it; proofs with the same line share its run."""
        return f"{self.program} {self.samples} {self.outside}".rstrip()


class FeatureOn(Plain):
    """What one architecture has in addition to the rest of a feature."""

    config: tuple[str, ...] = ()
    """``CONFIG_X=y`` lines for all variants."""
    machine: str = ""
    """The kind of machine that it needs; empty: the usual one."""


class Feature(Plain):
    """A hardening feature, as its feature.toml describes it."""

    name: str
    title: str
    summary: str
    architectures: tuple[ArchName, ...] = Field(min_length=1)
    series: str
    """The kernel series it is for, such as ``6.12``."""
    config: tuple[str, ...]
    """``CONFIG_X=y`` lines for all variants."""
    baseline: str
    control: str = ""
    """The variant that must be vulnerable; empty if there is no proof."""
    hardened: tuple[str, ...] = ()
    """The variants that deciding proofs must find BLOCKED; a part may have none."""
    workloads: tuple[str, ...] = Field(min_length=1)
    in_force: InForceCheck
    definition: Definition | None = None
    """Reports kernel definitions that judges need, if any."""
    proofs: dict[str, Proof] = Field(default_factory=dict)
    """The attacks; if empty, the feature has a price, but nothing shows it holds."""
    variants: dict[str, Variant] = Field(min_length=2)
    sabotage: Sabotaged = Sabotaged()
    """What all sabotages have in common."""
    sabotages: dict[str, Variant] = Field(default_factory=dict)
    """Broken variants that some proof must find VULNERABLE, and sound ones, whole."""
    complaints: tuple[Pattern, ...] = ()
    """Regular expressions of console lines by which the feature's code complains."""
    switches: dict[ArchName, Switch] = Field(default_factory=dict)
    """architecture -> the feature's expensive register write, if it has one."""
    registers: dict[ArchName, Register] = Field(default_factory=dict)
    """architecture -> the register that opens what it protects, if it has one."""
    on: dict[ArchName, FeatureOn] = Field(default_factory=dict)
    """architecture -> what it has in addition."""
    bases: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Base of the kernels -> ``CONFIG_X=y`` lines for all variants in addition."""
    folder: Path

    @field_validator("sabotages")
    @classmethod
    def _sabotages_share(
        cls, own: dict[str, Variant], info: ValidationInfo
    ) -> dict[str, Variant]:
        shared: Sabotaged = info.data.get("sabotage", Sabotaged())
        return {name: shared.shared_by(each) for name, each in own.items()}

    @model_validator(mode="after")
    def _names_are_known(self) -> Self:
        self._check_roles()
        for role, names in (
            ("baseline", (self.baseline,)),
            ("control", (self.control,) if self.proofs else ()),
            ("hardened", self.hardened),
        ):
            for name in names:
                if name not in self.variants:
                    raise ValueError(f"{role} '{name}' is not among the variants")
        both = self.variants.keys() & self.sabotages.keys()
        if both:
            raise ValueError(f"both a variant and a sabotage: {sorted(both)}")
        self._check_architectures()
        self._check_settings()
        return self

    def _check_architectures(self) -> None:
        """Check that nothing is for an architecture that the feature is not for."""
        named: dict[str, Collection[str]] = {
            "switches are": self.switches,
            "registers are": self.registers,
            "the table 'on' is": self.on,
        }
        for name, proof in self.proofs.items():
            named[f"proof '{name}' is"] = proof.architectures
        for name, variant in self.all_variants.items():
            named[f"'{name}' is"] = {*variant.architectures, *variant.on}
        for what, architectures in named.items():
            if foreign := set(architectures) - set(self.architectures):
                raise ValueError(f"{what} for {sorted(foreign)}")
        for name in {self.baseline, self.control, *self.hardened} - {""}:
            if self.variants[name].architectures:
                raise ValueError(f"'{name}' has a role, so it is for all architectures")

    def _check_settings(self) -> None:
        """Check that some architecture of a proof has the setting that it needs."""
        for name, proof in self.proofs.items():
            arches = proof.architectures or self.architectures
            known = {each for arch in arches for each in ARCHES[arch].settings}
            if proof.setting not in {"", *known}:
                raise ValueError(
                    f"proof '{name}' needs the setting '{proof.setting}'; "
                    f"known: {', '.join(sorted(known)) or 'none'}"
                )

    def _check_roles(self) -> None:
        """Check that a control and hardened variants exist exactly if proofs do."""
        attacked = {"control": self.control, "hardened": self.hardened}
        if not self.proofs:
            attacked["sabotages"] = tuple(self.sabotages)
        for role, given in attacked.items():
            if self.proofs and not given:
                raise ValueError(f"there are proofs, but '{role}' is missing")
            if given and not self.proofs:
                raise ValueError(f"there is '{role}', but no proof")

    @model_validator(mode="after")
    def _expectations_make_sense(self) -> Self:
        if not self.proofs:
            return self._nothing_is_expected()
        for name, variant in self.all_variants.items():
            for expect in (variant.expect, *(o.expect for o in variant.on.values())):
                if isinstance(expect, dict):
                    known = self.proofs.keys() | {_OTHERS}
                    _check_names(name, expect.keys(), known)
        self._check_limits()
        self._check_expected_of_roles()
        for proof in self.proofs:
            if all(
                self.expected(name, proof) is not Outcome.VULNERABLE
                for name in self.all_variants
            ):
                raise ValueError(f"no variant expects '{proof}' to end VULNERABLE")
        return self

    def _check_limits(self) -> None:
        if not self.deciding:
            raise ValueError("every proof is a limit, so there is nothing to prove")
        for name, proof in self.proofs.items():
            for variant in self.hardened if proof.limit else ():
                if self.expected(variant, name) is Outcome.BLOCKED:
                    raise ValueError(
                        f"proof '{name}' is no limit: '{variant}' expects BLOCKED"
                    )

    def _check_expected_of_roles(self) -> None:
        if not self._control_is_vulnerable():
            raise ValueError(f"control '{self.control}' must expect VULNERABLE")
        for name in self.hardened:
            if self._all_expected(name) != {Outcome.BLOCKED}:
                raise ValueError(f"hardened '{name}' must expect BLOCKED")
        for name in self.sabotages:
            expected = self._all_expected(name)
            # Nothing is broken in one that all attacks are expected to find so.
            free = {Outcome.UNSUPPORTED, *({None} if self._names_all(name) else ())}
            if Outcome.VULNERABLE not in expected and expected - free != {
                Outcome.BLOCKED
            }:
                raise ValueError(f"sabotage '{name}' expects no proof to notice it")

    def _control_is_vulnerable(self) -> bool:
        expected = self._all_expected(self.control)
        stopped = expected & {Outcome.BLOCKED, None}
        return Outcome.VULNERABLE in expected and not stopped

    def _nothing_is_expected(self) -> Self:
        for name, variant in self.variants.items():
            if variant.expect:
                raise ValueError(f"'{name}' expects an outcome, but there is no proof")
        return self

    def _names_all(self, name: str) -> bool:
        """Whether a variant says of every proof what to expect, if only ``any``."""
        given = self.all_variants[name].expect
        return not isinstance(given, dict) or _OTHERS in given

    def _all_expected(self, name: str) -> set[Outcome | None]:
        return {self.expected(name, proof) for proof in self.deciding}

    def expected(self, variant: str, proof: str) -> Outcome | None:
        """Return the outcome that a proof must have on a variant; None: any outcome.

        A limit lands on every variant that does not name it. It says nothing about a
        sabotage: it lands whether the feature is broken or not.
        """
        given = self.all_variants[variant].expect
        table = given if isinstance(given, dict) else {_OTHERS: given}
        wanted = table.get(proof)
        if wanted == _ANY:
            return None
        if wanted is None and self.proofs[proof].limit:
            return None if variant in self.sabotages else Outcome.VULNERABLE
        wanted = wanted or table.get(_OTHERS)
        return Outcome(wanted) if wanted and wanted != _ANY else None

    @property
    def deciding(self) -> dict[str, Proof]:
        """The proofs of what the feature claims: all that show no limit, by name."""
        return {name: proof for name, proof in self.proofs.items() if not proof.limit}

    def proofs_on(self, arch: str, setting: str = "") -> dict[str, Proof]:
        """Return the proofs that make sense on an architecture with a setting."""
        return {
            name: proof
            for name, proof in self.proofs.items()
            if arch in (proof.architectures or self.architectures)
            and proof.setting in ("", setting)
        }

    def for_arch(self, arch: str) -> Self:
        """Return the feature as it is on an architecture, with all proofs."""
        own = self.on.get(arch, FeatureOn())
        return self.model_copy(
            update={
                "config": (*self.config, *own.config),
                "on": {arch: FeatureOn(machine=own.machine)},
                "variants": _on(arch, self.variants),
                "sabotages": _on(arch, self.sabotages),
            }
        )

    def options(self, variant: Variant, base: str) -> tuple[str, ...]:
        """Return the options of a variant's kernel in addition to a base's."""
        return (*self.config, *self.bases.get(base, ()), *variant.config)

    def machine_on(self, arch: str) -> str:
        """Return the kind of machine that an architecture needs; empty: the usual."""
        return self.on.get(arch, FeatureOn()).machine

    def only(self, variants: Collection[str], proofs: Collection[str]) -> Self:
        """Return the part with these variants (including sabotages) and proofs.

        Raises InputError for a name that the feature does not have. The part's
        hardened variants are those of the feature's that are in it; if there are
        none, the variants that all its deciding proofs are expected to find BLOCKED.
        Without a deciding proof nothing has to hold.
        """
        check_known("variant", variants, self.all_variants)
        check_known("proof", proofs, self.proofs)
        part = self.model_copy(
            update={
                "variants": _among(self.variants, variants),
                "sabotages": _among(self.sabotages, variants),
                "proofs": _among(self.proofs, proofs),
            }
        )
        hardened = tuple(name for name in self.hardened if name in part.variants)
        must_hold = (hardened or part._holding()) if part.deciding else ()
        return part.model_copy(update={"hardened": must_hold})

    def against(
        self, *, baseline: str | None = None, control: str | None = None
    ) -> Self:
        """Return the feature with another baseline or control; None: its own.

        Raises InputError for an unknown name, and for a control that some proof is not
        expected to find VULNERABLE.
        """
        names = {"baseline": baseline, "control": control}
        roles = {role: name for role, name in names.items() if name is not None}
        check_known("variant", set(roles.values()), self.variants)
        changed = self.model_copy(update=roles)
        if control is not None and not changed._control_is_vulnerable():
            raise InputError(
                f"{control} is no control: attacks are not expected to land on it",
                f"{self.name} has {self.control}",
            )
        return changed

    def _holding(self) -> tuple[str, ...]:
        return tuple(
            name
            for name in self.variants
            if self._all_expected(name) == {Outcome.BLOCKED}
        )

    @property
    def target_programs(self) -> tuple[TargetProgram, ...]:
        """The in-force check, the definitions and the attacks."""
        return (self.in_force, *self.definitions, *self.proofs.values())

    @property
    def definitions(self) -> tuple[Definition, ...]:
        """The definition, if there are proofs that may need it."""
        return (self.definition,) if self.definition and self.proofs else ()

    @property
    def all_variants(self) -> dict[str, Variant]:
        """Variants and sabotages by name."""
        return {**self.variants, **self.sabotages}

    def patches(self, variant: Variant) -> tuple[Path, ...]:
        """Return the patch files of ``variant``, in the order they apply."""
        return tuple(
            patch for name in variant.patches for patch in _patches(self.folder / name)
        )


def _joined(shared: VariantOn | None, own: VariantOn | None) -> VariantOn:
    """Return what an architecture has of what all sabotages have, and of one."""
    given = own.model_dump(exclude_unset=True) if own else {}
    whole = (shared or VariantOn()).model_copy(update=given)
    if shared and own:
        return whole.model_copy(update={"config": (*shared.config, *own.config)})
    return whole


def _on(arch: str, variants: Mapping[str, Variant]) -> dict[str, Variant]:
    return {
        name: variant.for_arch(arch)
        for name, variant in variants.items()
        if arch in (variant.architectures or (arch,))
    }


def check_known(what: str, names: Collection[str], known: Collection[str]) -> None:
    """Raise InputError unless each of ``names`` is one of ``known``, and named once."""
    hint = f"known: {', '.join(known)}"
    for name, times in Counter(list(names)).items():
        if not name:
            raise InputError(f"the name of a {what} is missing", hint)
        if name not in known:
            raise InputError(f"unknown {what} '{name}'", hint)
        if times > 1:
            raise InputError(f"the {what} '{name}' is named {times} times", hint)


def _among(table: dict[str, _Kind], names: Collection[str]) -> dict[str, _Kind]:
    return {name: each for name, each in table.items() if name in names}


def _check_names(variant: str, given: Set[str], known: Set[str]) -> None:
    if foreign := given - known:
        raise ValueError(f"expect of '{variant}': unknown proof '{min(foreign)}'")


def load_feature(folder: Path) -> Feature:
    """Read one feature's folder; raise InputError that names file, table and key."""
    feature = read_feature(folder)
    path = folder / "feature.toml"
    if feature.name != folder.name:
        raise InputError(f"{path}: name '{feature.name}' differs from its folder's")
    _check_patches(path, feature)
    _check_programs(path, feature)
    _check_workloads(path, feature)
    _check_judges(path, feature)
    _check_outside(path, feature)
    return feature


def read_feature(folder: Path) -> Feature:
    """Read a feature.toml alone; raise InputError that names file and field.

    That is quick, since it loads no judges, and says nothing of the other files.
    """
    return read_toml(folder / "feature.toml", Feature, GUIDE, folder=folder)


def _check_patches(path: Path, feature: Feature) -> None:
    tables = {"variants": feature.variants, "sabotages": feature.sabotages}
    for table, variants in tables.items():
        for name, variant in variants.items():
            for given in variant.patches:
                if not _patches(feature.folder / given):
                    where = f"{path}: {table}.{name}.patches"
                    raise InputError(f"{where}: {given} is no patch, and has none")


def _patches(path: Path) -> list[Path]:
    """Return a patch, or those of a folder in the order of their names."""
    return [path] if path.is_file() else sorted(path.glob("*.patch"))


def _check_programs(path: Path, feature: Feature) -> None:
    for table, program in _programs(feature):
        for key, source in (("program", program.program), ("module", program.module)):
            if source and not (feature.folder / "proof" / f"{source}.c").is_file():
                raise InputError(f"{path}: {table}.{key}: proof/{source}.c is missing")


def _programs(feature: Feature) -> Iterator[tuple[str, TargetProgram]]:
    """Yield the table of each program, as TOML names it, and the program."""
    yield "in_force", feature.in_force
    if feature.definition:
        yield "definition", feature.definition
    for name, proof in feature.proofs.items():
        yield f"proofs.{name}", proof


def _check_workloads(path: Path, feature: Feature) -> None:
    try:
        check_known("workload", feature.workloads, all_workloads())
    except InputError as error:
        raise InputError(f"{path}: workloads: {error.message}", error.hint) from error


def _check_judges(path: Path, feature: Feature) -> None:
    for name, proof in feature.proofs.items():
        try:
            judge_named(feature.folder, proof.judge, proof.params)
        except InputError as error:
            where = f"{path}: proofs.{name}"
            raise InputError(f"{where}: {error.message}", error.hint) from error


def _check_outside(path: Path, feature: Feature) -> None:
    for name, proof in feature.proofs.items():
        if not proof.outside:
            continue
        if proof.twins:
            raise InputError(f"{path}: proofs.{name}: twins have no debugger")
        try:
            attack_named(outside_of(feature.folder), proof.outside)
        except InputError as error:
            where = f"{path}: proofs.{name}"
            raise InputError(f"{where}: {error.message}", error.hint) from error


def feature_names(root: Path = FEATURES) -> list[str]:
    """Return the names of all features in the catalogue, unreadable ones too."""
    if not root.is_dir():
        return []
    return sorted(path.name for path in root.iterdir() if _is_feature(path))


def _is_feature(folder: Path) -> bool:
    try:
        (folder / "feature.toml").lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        # Whoever loads it is told what is wrong.
        return True
    return True


def all_features(root: Path = FEATURES) -> tuple[list[Feature], list[InputError]]:
    """Return the features that can be loaded, and what is wrong with the others."""
    features, errors = [], []
    for name in feature_names(root):
        try:
            features.append(load_feature(root / name))
        except InputError as error:
            errors.append(error)
    return features, errors


def feature_named(name: str, root: Path = FEATURES) -> Feature:
    """Return the feature called ``name``; raise InputError if there is none."""
    if name not in feature_names(root):
        known = ", ".join(feature_names(root)) or "none"
        raise InputError(f"unknown feature '{name}'", f"known features: {known}")
    return load_feature(root / name)
