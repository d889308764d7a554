"""Turns the user's request into a plan. It builds nothing."""

import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from temper import __version__
from temper.arch import Arch
from temper.catalog import Feature, Proof, Variant, check_known
from temper.debian import apt_for
from temper.digest import code_digest
from temper.errors import InfraError, InputError
from temper.extension import judges_of, outside_of
from temper.invocation import as_typed
from temper.kernel import (
    Cache,
    Given,
    KernelSpec,
    Source,
    base_named,
    base_names,
    find_given,
    find_source,
    module_digest,
)
from temper.kernel.compiler import compiler_major
from temper.machine import DEFAULT_KIND
from temper.paths import portable
from temper.record.outcome import Outcome
from temper.record.plan import (
    USUAL_BASE,
    KernelPlan,
    Kind,
    Layout,
    Module,
    Objects,
    Outside,
    ProofPlan,
    Root,
    RunPlan,
    Slot,
    Twins,
    VariantPlan,
    Work,
)
from temper.run.programs import proof_programs, workload_programs
from temper.workloads import (
    Real,
    Workload,
    all_workloads,
    common_workloads,
    workloads,
)

REPEATS = 2
"""Boots of each variant for a price; the second one shows that counts repeat."""
LAYOUTS = 4
"""Layouts of memory for a price, with the usual one. Where layout alone moves a count,
three mark 6 in 100 differences that are none, four 2, and five less than 1."""

_ROOMY = 768
"""MiB for a guest with real programs, whose files are in its memory as well."""

_OBJECTS_OF = "6.12"
"""The series of Debian's source whose objects guests compile."""
_GCC = re.compile(r"gcc-(\d+)")
"""The package of a compiler."""

PRICE_CPUS = 1
"""Only one, since a sample could otherwise include a slice of another CPU."""
_SOURCES_HELP = "give a file like those in /etc/apt/sources.list.d"

TWIN_SEEDS = (1, 2)
"""Any two that differ."""
PROOF_CPUS = 2
"""Two, so that tasks migrate and attacks see whether CPUs share what they must not."""


@dataclass(frozen=True)
class Planner:
    """Makes plans for one architecture, source, setting and CPU model."""

    arch: Arch
    cache: Cache
    """Remembers the digests of tarballs."""
    source: Path | None = None
    """The user's source; None: Debian's package."""
    setting: str = ""
    """One of the architecture's settings, for all boots; empty: none."""
    cpu: str = ""
    """The CPU model, except for variants that name one; empty: the machine's own."""
    base: str = USUAL_BASE
    """What kernels are built with besides the feature's options."""
    packages_from: Path | None = None
    """A file of apt's sources for real programs; None: the host's."""

    def __post_init__(self) -> None:
        """Raise InputError for an unknown setting or base."""
        base_named(self.base)
        self.arch.setting_cmdline(self.setting)

    def kernel(self, feature: Feature, variant: Variant) -> KernelPlan:
        """Plan the kernel of a variant.

        Raises InputError if the feature is not for the architecture or the source is
        not a kernel source, InfraError if Debian's source is not installed.
        """
        if self.arch.name not in feature.architectures:
            raise InputError(
                f"{feature.name} is not for {self.arch.name}",
                f"it is for {', '.join(feature.architectures)}",
            )
        if unknown := feature.bases.keys() - set(base_names()):
            raise InputError(
                f"{feature.name} needs options on unknown bases: {sorted(unknown)}",
                f"known: {', '.join(base_names())}",
            )
        feature, variant = self.here(feature), variant.for_arch(self.arch.name)
        return self.built(
            self.source_of(feature.series),
            feature.patches(variant),
            feature.options(variant, self.base),
        )

    def here(self, feature: Feature) -> Feature:
        """Return the feature as it is on this architecture."""
        return feature.for_arch(self.arch.name)

    def machine_of(self, feature: Feature) -> str:
        """Return the kind of machine that the feature needs here."""
        return feature.machine_on(self.arch.name) or DEFAULT_KIND

    def built(
        self, source: Source, patches: Sequence[Path], options: Sequence[str]
    ) -> KernelPlan:
        """Plan a kernel of the base with patches and more options."""
        spec = KernelSpec(
            arch=self.arch,
            source=source,
            patches=tuple(patches),
            options=tuple(options),
            base=self.base,
        )
        return KernelPlan(
            key=spec.key(),
            source=portable(source.path),
            version=source.version,
            patches=tuple(map(portable, spec.patches)),
            options=spec.options,
            base=spec.base,
        )

    def price(
        self,
        feature: Feature,
        calls: int,
        variants: Collection[str] = (),
        *,
        names: tuple[str, ...] = (),
        baseline: str | None = None,
        layouts: int = 1,
    ) -> RunPlan:
        """Plan to price ``variants`` of a feature; none means all.

        The baseline is always included; it is the feature's own unless ``baseline``
        names another. ``names``: the workloads; none means those of the feature.
        ``layouts``: how many layouts of memory, with the usual one.
        Raises InputError for an unknown name or too few layouts, and if there is
        nothing but the baseline.
        """
        others = _other_layouts(layouts)
        feature = self.here(feature).against(baseline=baseline)
        check_known("variant", variants, feature.variants)
        check_known("workload", names, all_workloads())
        wanted = {feature.baseline, *(variants or feature.variants)}
        # No attacks in these boots: the kernel would start some of them by itself.
        part = feature.only(wanted, proofs=())
        if len(part.variants) == 1:
            raise InputError(
                f"{feature.baseline} is the baseline and has no price on its own",
                f"known: {', '.join(feature.variants)}",
            )
        sized = workloads(names or part.workloads, calls)
        work = self._work(_price_job(part, sized), PRICE_CPUS, part, sized, exact=True)
        named = _list("--variants", part.variants if variants else ())
        return RunPlan(
            kind=Kind.PRICE,
            feature=part.name,
            title=part.title,
            setting=self.setting,
            cpu=self.chosen_cpu,
            base=self.base,
            arch=self.arch.name,
            machine=self.machine_of(feature),
            baseline=part.baseline,
            variants=self._variants(part),
            variants_left_out=_left_out(feature.variants, part.variants),
            complaints=part.complaints,
            expected_complaints=_expected_complaints(feature, part),
            switch=part.switches.get(self.arch.name),
            has_proofs=bool(feature.proofs),
            calls=calls,
            work=work,
            slots=_slots(part.variants, (*range(REPEATS), *others)),
            layouts=others,
            command=self.command(
                *("price", part.name),
                *_list("--baseline", (baseline,) if baseline else ()),
                *named,
                *_workload_options(names),
                *("--calls", calls, "--layouts", layouts),
            ),
            temper_version=__version__,
        )

    def prove(
        self,
        feature: Feature,
        variants: Collection[str] = (),
        proofs: Collection[str] = (),
        *,
        control: str | None = None,
        sabotage: bool = False,
    ) -> RunPlan:
        """Plan to attack ``variants`` of a feature by ``proofs``; none means all.

        The control is always included; it is the feature's own unless ``control``
        names another. With ``sabotage``, all sabotages are attacked as well, each only
        by proofs of which an outcome is expected, unless ``variants`` names it. Raises
        InputError for a name that is unknown or not for the architecture, and for a
        control that withstands an attack.
        """
        if not feature.proofs:
            raise InputError(
                f"{feature.name} has no proof: Temper has no attack on it",
                f"to measure what it costs: {as_typed(f'temper price {feature.name}')}",
            )
        feature = self.here(feature).against(control=control)
        here = feature.proofs_on(self.arch.name, self.setting)
        check_known("variant", variants, feature.all_variants)
        self._check_proofs(feature, proofs)
        wanted = {feature.control, *(variants or feature.variants)}
        aimed_at = (
            _expecting(feature, feature.sabotages, proofs or here)
            if sabotage
            else set()
        )
        added = aimed_at - wanted
        part = feature.only(wanted | added, proofs or here)
        needed = _needed(part, twins=False)
        named = [name for name in part.all_variants if name in wanted]
        work = self._work(_prove_job(part, twins=False), PROOF_CPUS, part, exact=False)
        return RunPlan(
            kind=Kind.PROVE,
            feature=part.name,
            title=part.title,
            setting=self.setting,
            cpu=self.chosen_cpu,
            base=self.base,
            arch=self.arch.name,
            machine=self.machine_of(feature),
            baseline=part.baseline,
            control=part.control,
            hardened=part.hardened,
            variants=self._variants(part, needed, added),
            proofs={name: _proof_plan(proof) for name, proof in part.proofs.items()},
            judges=code_digest(judges_of(feature.folder)),
            complaints=part.complaints,
            expected_complaints=_expected_complaints(feature, part),
            definitions=tuple(program.line for program in part.definitions),
            variants_left_out=_left_out(feature.variants, part.variants),
            proofs_left_out=_left_out(here, part.proofs),
            work=work.model_copy(update={"hardware": _hardware(part)}),
            outside=_outside(part),
            twins=_twins(part),
            slots=(
                *_slots(_booted(part, added, twins=False), (0,)),
                *_slots(
                    _booted(part, added, twins=True), range(1, 1 + len(TWIN_SEEDS))
                ),
            ),
            command=self.command(
                *("prove", part.name),
                *_list("--control", (control,) if control else ()),
                *_list("--variants", named if variants else ()),
                *_list("--proofs", part.proofs if proofs else ()),
                *(["--sabotage"] if sabotage else []),
            ),
            temper_version=__version__,
        )

    def compare(
        self,
        kernels: Mapping[str, tuple[Path, str]],
        names: tuple[str, ...],
        calls: int,
        *,
        layouts: int = 1,
    ) -> RunPlan:
        """Plan to price the second of two kernels that others built.

        ``kernels``: A and B -> image, package or folder, and command line. ``names``:
        the workloads; none means the common ones. ``layouts``: as for a price. Raises
        InputError for a workload that needs a module, since building a module takes the
        kernel's source, for whatever has no kernel for the architecture, and for too
        few layouts.
        """
        others = _other_layouts(layouts)
        check_known("workload", names, all_workloads())
        sized = workloads(names or common_workloads(), calls)
        for workload in sized:
            if workload.module:
                raise InputError(
                    f"{workload.name} needs a kernel module, which takes the source",
                    f"use it with '{as_typed('temper price')}', which has the source",
                )
        job = (_SETTLE, *(workload.line for workload in sized))
        (path_a, cmdline_a), (path_b, cmdline_b) = kernels.values()
        return RunPlan(
            kind=Kind.COMPARE,
            feature="compare",
            title="two kernels",
            setting=self.setting,
            cpu=self.chosen_cpu,
            arch=self.arch.name,
            machine=DEFAULT_KIND,
            baseline=next(iter(kernels)),
            variants={
                name: self._given_variant(path, cmdline, _alike(path_a, path_b))
                for name, (path, cmdline) in kernels.items()
            },
            calls=calls,
            work=self._work(job, PRICE_CPUS, None, sized, exact=True),
            slots=_slots(kernels, (*range(REPEATS), *others)),
            layouts=others,
            command=self.command(
                *("compare", path_a.resolve(), path_b.resolve()),
                *("--cmdline-a", cmdline_a, "--cmdline-b", cmdline_b),
                *_workload_options(names),
                *("--calls", calls, "--layouts", layouts),
            ),
            temper_version=__version__,
        )

    @property
    def chosen_cpu(self) -> str:
        """What the user chose, unless it is the machine's own."""
        return self.cpu if self.arch.cpu_model(self.cpu) else ""

    def source_of(self, series: str) -> Source:
        """Return the user's source, or Debian's for ``series``; see ``find_source``."""
        return find_source(self.source, series, self.cache)

    def _check_proofs(self, feature: Feature, proofs: Collection[str]) -> None:
        """Refuse proofs that are not for the architecture."""
        here = feature.proofs_on(self.arch.name, self.setting)
        check_known("proof", proofs, feature.proofs)
        for name in proofs:
            needed = feature.proofs[name].setting
            if name in feature.proofs_on(self.arch.name, needed) and name not in here:
                raise InputError(
                    f"proof '{name}' needs a setting", f"--setting {needed}"
                )
            if name not in here:
                raise InputError(
                    f"proof '{name}' is not for {self.arch.name}",
                    f"its proofs: {', '.join(here)}",
                )

    def _variants(
        self, part: Feature, cmdline: str = "", added: Collection[str] = ()
    ) -> dict[str, VariantPlan]:
        """Plan all variants; their boots also need the parameters ``cmdline``.

        ``added``: sabotages attacked only by proofs of which an outcome is expected.
        """
        return {
            name: VariantPlan(
                title=variant.title,
                kernel=self.kernel(part, variant),
                cmdline=self.cmdline(variant.cmdline, cmdline),
                cpu=variant.cpu or self.arch.cpu_model(self.cpu),
                in_force=variant.in_force,
                expect=_expectations(part, name),
                sabotage=name in part.sabotages,
                expected_complaints=variant.expected_complaints,
                job=_aimed_job(part, name) if name in added else (),
            )
            for name, variant in part.all_variants.items()
        }

    def given(self, path: Path) -> KernelPlan:
        """Plan a kernel that others built; raise InputError if there is none."""
        return _given_plan(find_given(path, self.arch))

    def _given_variant(self, path: Path, cmdline: str, alike: bool) -> VariantPlan:
        given = find_given(path, self.arch)
        return VariantPlan(
            title=_title(path, given.file, whole=alike),
            kernel=_given_plan(given),
            cmdline=self.cmdline(cmdline),
            cpu=self.arch.cpu_model(self.cpu),
            in_force=None,
        )

    def _work(
        self,
        job: tuple[str, ...],
        cpus: int,
        part: Feature | None,
        sized: Sequence[Workload] = (),
        *,
        exact: bool,
    ) -> Work:
        programs = workload_programs(self.arch, [each.program for each in sized])
        real = {each.name: each.real for each in sized if each.real}
        if part:
            programs.append(proof_programs(self.arch, part))
        return Work(
            job=job,
            cpus=cpus,
            exact=exact,
            memory=_ROOMY if real else 0,
            programs=tuple(programs),
            modules=(*_proof_modules(part), *_workload_modules(sized)),
            root=(root := self._root(real.values())),
            objects=self._objects(real, root),
            texts={
                path: text
                for name, each in real.items()
                for path, text in each.written(name).items()
            },
            needs={name: each.needs for name, each in real.items() if each.needs},
        )

    def _root(self, real: Collection[Real]) -> Root | None:
        """Plan the root of real programs; None if there are none."""
        if not real:
            return None
        names = {name for each in real for name in each.packages}
        programs = {path for each in real for path in each.programs}
        sources = self._sources()
        return Root(
            packages=apt_for(self.arch, self.cache, sources).resolve(names),
            programs=tuple(sorted(programs)),
            files=tuple(sorted({path for each in real for path in each.files})),
            sources=sources,
        )

    def _objects(self, real: Mapping[str, Real], root: Root | None) -> Objects | None:
        """Plan the objects that real programs compile; None if there are none.

        Those of one kernel whatever is priced, so that rows are comparable. Raises
        InfraError if Debian's source is not installed, InputError if the packages'
        compiler is not like this host's, for which Kbuild writes its commands.
        """
        compiling = [name for name, each in real.items() if each.objects]
        if not (compiling and root):
            return None
        ours, theirs = compiler_major(self.arch), _compilers(root)
        if theirs - {ours}:
            raise InputError(
                f"{compiling[0]} compiles by gcc {max(theirs)} of the packages what is "
                f"configured for gcc {ours} of this host",
                "use packages of the host's own suite",
            )
        try:
            source = find_source(None, _OBJECTS_OF, self.cache)
        except InfraError as error:
            message = f"{compiling[0]} compiles objects of Linux: {error.message}"
            raise InfraError(message, error.hint) from error
        names = dict.fromkeys(name for each in real.values() for name in each.objects)
        kernel = replace(self, base=USUAL_BASE).built(source, (), ())
        return Objects(names=tuple(names), kernel=kernel)

    def _sources(self) -> str:
        """Read the user's file of apt's sources; raise InputError if it has none."""
        if self.packages_from is None:
            return ""
        try:
            text = self.packages_from.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(
                f"the sources of packages cannot be read: {error}", _SOURCES_HELP
            ) from error
        if not text.strip():
            raise InputError(f"{self.packages_from} names no sources", _SOURCES_HELP)
        return text

    def command(self, *words: object) -> str:
        """Return the command line that reproduces a run."""
        all_words = ["temper", *words, "--arch", self.arch.name]
        if self.setting:
            all_words += ["--setting", self.setting]
        if self.chosen_cpu:
            all_words += ["--cpu", self.chosen_cpu]
        if self.base != USUAL_BASE:
            all_words += ["--base", self.base]
        if self.source:
            all_words += ["--source", self.source.resolve()]
        if self.packages_from:
            all_words += ["--packages", self.packages_from.resolve()]
        return shlex.join(str(word) for word in all_words)

    def cmdline(self, *cmdlines: str) -> str:
        """Add the setting's parameters to those of a variant and its boots."""
        return _joined((*cmdlines, self.arch.setting_cmdline(self.setting)))


def _given_plan(given: Given) -> KernelPlan:
    return KernelPlan(
        key=f"file:{given.digest}",
        image=str(given.file.resolve()),
        package=given.package,
        config=str(given.config.resolve()) if given.config else "",
    )


def _alike(one: Path, other: Path) -> bool:
    """Return whether two different files or folders have the same name."""
    ours, theirs = one.resolve(), other.resolve()
    return ours != theirs and ours.name == theirs.name


def _title(path: Path, file: Path, *, whole: bool) -> str:
    """Name what the user gave, and the file in it if that is a folder."""
    given = path.resolve()
    name = str(given) if whole else given.name
    return name if path == file else f"{name}/{file.relative_to(path)}"


def _hardware(part: Feature) -> tuple[str, ...]:
    """Return the options of the machine that proofs need, each set of them once."""
    sets = dict.fromkeys(proof.hardware for proof in part.proofs.values())
    return tuple(word for each in sets for word in each)


def _proof_plan(proof: Proof) -> ProofPlan:
    return ProofPlan(
        title=proof.title,
        line=proof.line,
        judge=proof.judge,
        params=proof.params,
        twins=proof.twins,
        limit=proof.limit,
        outside=proof.outside,
    )


def _expectations(part: Feature, variant: str) -> dict[str, Outcome]:
    found = {name: part.expected(variant, name) for name in part.proofs}
    return {name: outcome for name, outcome in found.items() if outcome is not None}


def _expected_complaints(feature: Feature, part: Feature) -> tuple[str, ...]:
    """Return what the programs of a part's job cause on the console they share.

    Several proofs may share a program, which causes it whichever of them is asked for.
    """
    lines = {program.line for program in part.target_programs}
    found = (
        program.expected_complaints
        for program in feature.target_programs
        if program.line in lines
    )
    return tuple(dict.fromkeys(pattern for each in found for pattern in each))


def _proof_modules(part: Feature | None) -> list[Module]:
    return [module_plan(source) for source in _module_sources(part)] if part else []


def _workload_modules(sized: Iterable[Workload]) -> list[Module]:
    needed = {
        each.folder / "module" / each.module: each.kernel_files
        for each in sized
        if each.module
    }
    return [
        module_plan(source, kernel_files) for source, kernel_files in needed.items()
    ]


def module_plan(source: Path, kernel_files: tuple[str, ...] = ()) -> Module:
    """Plan a module whose C file is ``source``."""
    return Module(
        source=portable(source),
        kernel_files=kernel_files,
        digest=module_digest(source),
    )


def _compilers(root: Root) -> set[int]:
    """Return the major versions of the compilers in a root."""
    found = (_GCC.fullmatch(package.name) for package in root.packages)
    return {int(each[1]) for each in found if each}


def _module_sources(feature: Feature) -> list[Path]:
    names = {wanted.module for wanted in feature.target_programs if wanted.module}
    return [feature.folder / "proof" / f"{name}.c" for name in sorted(names)]


def _slots(variants: Iterable[str], repeats: Iterable[int]) -> tuple[Slot, ...]:
    names = list(variants)
    return tuple(
        Slot(variant=name, repeat=repeat) for repeat in repeats for name in names
    )


def _workload_options(names: Iterable[str]) -> list[str]:
    return [word for name in names for word in ("--workload", name)]


def _other_layouts(count: int) -> dict[int, Layout]:
    """Return repeat -> layout, for ``count`` layouts without the usual one.

    They are the same in every run. Raises InputError if ``count`` is below 1.
    """
    if count < 1:
        raise InputError(f"{count} layouts are too few", "use at least 1")
    # Spacers of up to 1 MiB; with a prime step, 255 of them differ.
    return {
        REPEATS + n: Layout(seed=TWIN_SEEDS[-1] + 1 + n, spacer=37 * (n + 1) % 256)
        for n in range(count - 1)
    }


def _outside(part: Feature) -> Outside | None:
    """Return what attacks from outside; None: no proof of the part does."""
    if not any(proof.outside for proof in part.proofs.values()):
        return None
    folder = outside_of(part.folder)
    return Outside(folder=portable(folder), digest=code_digest(folder))


def _twins(part: Feature) -> Twins | None:
    """Return what twins do; None: there is no proof that compares them."""
    if not any(proof.twins for proof in part.proofs.values()):
        return None
    return Twins(
        job=_prove_job(part, twins=True),
        seeds=TWIN_SEEDS,
        cmdline=_needed(part, twins=True),
    )


def _needed(part: Feature, *, twins: bool) -> str:
    """Return the kernel parameters of proofs that compare twins, or of the others."""
    proofs = part.proofs.values()
    return _joined(proof.cmdline for proof in proofs if proof.twins is twins)


def _booted(part: Feature, added: Collection[str], *, twins: bool) -> list[str]:
    """Return the variants to boot for proofs that compare twins, or for the others.

    ``added``: sabotages, booted only for proofs of which an outcome is expected.
    """
    proofs = [name for name, proof in part.proofs.items() if proof.twins is twins]
    expecting = _expecting(part, part.all_variants, proofs)
    return [
        name
        for name in part.all_variants
        if proofs and (name in expecting or name not in added)
    ]


def _expecting(
    feature: Feature, variants: Iterable[str], proofs: Collection[str]
) -> set[str]:
    """Return the variants that expect an outcome of at least one of ``proofs``."""
    return {
        name
        for name in variants
        if any(feature.expected(name, proof) for proof in proofs)
    }


def _aimed_job(part: Feature, variant: str) -> tuple[str, ...]:
    """Return the job with those attacks alone of which an outcome is expected."""
    aimed = part.only(part.variants, _expectations(part, variant))
    return _prove_job(aimed, twins=False)


def _left_out(known: Iterable[str], kept: Collection[str]) -> tuple[str, ...]:
    return tuple(name for name in known if name not in kept)


def _joined(cmdlines: Iterable[str]) -> str:
    """Join kernel command lines; equal ones appear only once."""
    return " ".join(dict.fromkeys(filter(None, cmdlines)))


def _list(option: str, names: Collection[str]) -> list[str]:
    """Return the words of an option with names; no words if there are no names."""
    return [option, ",".join(names)] if names else []


# In the three seconds after its start, Linux refines the clock's calibration, balances
# and trims: work that could hit samples of one variant but not of another. Under exact
# counts the wait costs nothing, since an idle guest's time skips ahead.
_SETTLE = "settle 3"


def _price_job(feature: Feature, sized: Iterable[Workload]) -> tuple[str, ...]:
    """Return the job of a price: in-force checks around all workloads."""
    check = f"run {feature.in_force.program}"
    lines = [_SETTLE]
    if feature.in_force.module:
        lines.append(f"module {feature.in_force.module}")
    for workload in sized:
        lines += [check, workload.line]
    return (*lines, check)


def _prove_job(feature: Feature, *, twins: bool) -> tuple[str, ...]:
    """Return the job of a proof: each distinct attack once, with checks around it.

    ``twins``: whether it is the job of boots that are compared, or of the others.
    """
    check = f"run {feature.in_force.program}"
    lines = [f"module {source.stem}" for source in _module_sources(feature)] + [check]
    lines += [f"run {definition.program}" for definition in feature.definitions]
    attacks = dict.fromkeys(
        proof.line for proof in feature.proofs.values() if proof.twins is twins
    )
    for attack in attacks:
        lines += [f"run {attack}", check]
    return tuple(lines)
