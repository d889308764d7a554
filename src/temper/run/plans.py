"""Turns what the user asked for into a plan and the set-ups of its variants."""

import hashlib
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from temper import __version__
from temper.arch import Arch
from temper.catalog import Feature, Variant, check_known
from temper.errors import InputError
from temper.kernel import (
    Cache,
    Kernel,
    KernelSpec,
    build,
    build_module,
    find_source,
    source_tree,
)
from temper.progress import Progress
from temper.run.campaign import Setup
from temper.run.facts import Kind, RunPlan, Slot
from temper.run.job import (
    TARGET,
    Workload,
    common_workloads,
    proof_programs,
    target_programs,
    workloads,
)
from temper.run.toolchain import compiler_files
from temper.stats.judges import judge_named

REPEATS = 2
"""Boots of each variant of a price: the second shows that counts repeat."""

PRICE_CPUS = 1
"""A sample could swallow a slice of another CPU."""
PROOF_CPUS = 2
"""Tasks migrate, and CPUs must not share what they keep to themselves."""


@dataclass(frozen=True)
class Planned:
    """A run that could start."""

    plan: RunPlan
    setups: dict[str, Setup]


@dataclass(frozen=True)
class _Work:
    """What all boots of a feature's run are for."""

    job: tuple[str, ...]
    cpus: int
    exact: bool
    workloads: tuple[Workload, ...] = ()
    cmdline: str = ""
    """Kernel parameters on top of a variant's."""


@dataclass(frozen=True)
class Workshop:
    """What plans are made with."""

    arch: Arch
    cache: Cache
    progress: Progress
    source: Path | None = None
    """Where the user has the source; None: Debian's package."""
    setting: str = ""
    """One of the architecture's settings, for all boots; empty: none."""

    def __post_init__(self) -> None:
        """Raise InputError for an unknown setting, before kernels are built."""
        self.arch.setting_cmdline(self.setting)

    def kernel(self, feature: Feature, variant: Variant) -> Kernel:
        """Build or find the kernel of a variant."""
        self._check_arch(feature)
        source = find_source(self.source, feature.series, self.cache)
        spec = KernelSpec(
            arch=self.arch,
            source=source,
            patches=feature.patches(variant),
            options=(*feature.config, *variant.config),
        )
        return build(spec, self.cache, self.progress)

    def price(
        self, feature: Feature, calls: int, variants: Collection[str] = ()
    ) -> Planned:
        """Plan to price ``variants`` of a feature; none means all.

        The baseline is always among them. Raises InputError for an unknown name, and
        where there is nothing but the baseline.
        """
        check_known("variant", variants, feature.variants)
        wanted = {feature.baseline, *(variants or feature.variants)}
        # Of attacks nothing may be in the boots: the kernel itself would start some.
        part = feature.only(wanted, proofs=())
        if len(part.variants) == 1:
            raise InputError(
                f"{feature.baseline} is the baseline: alone it has no price",
                f"known: {', '.join(feature.variants)}",
            )
        sized = tuple(workloads(part.workloads, calls))
        work = _Work(_price_job(part, sized), PRICE_CPUS, exact=True, workloads=sized)
        named = _list("--variants", part.variants if variants else ())
        command = self._command("price", part.name, *named, "--calls", calls)
        return self._planned(Kind.PRICE, part, work, REPEATS, command, calls=calls)

    def prove(
        self,
        feature: Feature,
        variants: Collection[str] = (),
        proofs: Collection[str] = (),
        *,
        sabotage: bool = False,
    ) -> Planned:
        """Plan to attack ``variants`` of a feature by ``proofs``; none means all.

        The control is always among them, and with ``sabotage`` all sabotages are.
        Raises InputError for a name that is unknown, or not for the architecture.
        """
        wanted = {feature.control, *(variants or feature.variants)}
        part = feature.only(
            wanted | set(feature.sabotages if sabotage else ()),
            self._proofs(feature, proofs),
        )
        for proof in part.proofs.values():
            judge_named(proof.judge)
        work = _Work(
            job=_prove_job(part),
            cpus=PROOF_CPUS,
            exact=False,
            cmdline=_joined(proof.cmdline for proof in part.proofs.values()),
        )
        named = [name for name in part.all_variants if name in wanted]
        command = self._command(
            *("prove", part.name),
            *_list("--variants", named if variants else ()),
            *_list("--proofs", part.proofs if proofs else ()),
            *(["--sabotage"] if sabotage else []),
        )
        return self._planned(
            Kind.PROVE, part, work, 1, command, proofs=list(part.proofs)
        )

    def _proofs(self, feature: Feature, proofs: Collection[str]) -> Collection[str]:
        """Check what was asked for; nothing means all of the architecture."""
        here = feature.proofs_on(self.arch.name)
        check_known("proof", proofs, feature.proofs)
        for name in proofs:
            if name not in here:
                raise InputError(
                    f"proof '{name}' is not for {self.arch.name}",
                    f"for it are: {', '.join(here)}",
                )
        return proofs or here

    def compare(
        self,
        kernels: Mapping[str, tuple[Path, str]],
        names: tuple[str, ...],
        calls: int,
    ) -> Planned:
        """Plan to price the second of two kernel files relative to the first.

        ``kernels``: A and B -> image and command line. ``names``: the workloads;
        none means those that need not be asked for. Raises InputError for one that
        needs a module: it takes the kernel's source to build one.
        """
        sized = tuple(workloads(names or common_workloads(), calls))
        for workload in sized:
            if workload.module:
                raise InputError(
                    f"{workload.name} needs a module for the kernel",
                    "price a feature on it: there the source is known",
                )
        setups = {
            name: self._file_setup(image, self._cmdline(cmdline), sized)
            for name, (image, cmdline) in kernels.items()
        }
        (image_a, cmdline_a), (image_b, cmdline_b) = kernels.values()
        plan = RunPlan(
            kind=Kind.COMPARE,
            feature="compare",
            arch=self.arch.name,
            machine="tcg",
            baseline=next(iter(kernels)),
            slots=_slots(setups, REPEATS),
            titles={name: image.name for name, (image, _) in kernels.items()},
            command=self._command(
                *("compare", image_a.resolve(), image_b.resolve()),
                *("--cmdline-a", cmdline_a, "--cmdline-b", cmdline_b),
                *(word for name in names for word in ("--workload", name)),
                *("--calls", calls),
            ),
            params={
                "title": self._title("two kernels"),
                "calls": calls,
                **_identity(setups),
            },
            temper_version=__version__,
        )
        return Planned(plan, setups)

    def _command(self, *words: object) -> str:
        all_words = ["uv", "run", "temper", *words, "--arch", self.arch.name]
        if self.setting:
            all_words += ["--setting", self.setting]
        if self.source:
            all_words += ["--source", self.source.resolve()]
        return shlex.join(str(word) for word in all_words)

    def _cmdline(self, *cmdlines: str) -> str:
        """Add the setting to what a variant and its boots want."""
        return _joined((*cmdlines, self.arch.setting_cmdline(self.setting)))

    def _title(self, title: str) -> str:
        """Say the setting wherever a run is named."""
        return f"{title}, with {self.setting}" if self.setting else title

    def _check_arch(self, feature: Feature) -> None:
        if self.arch.name not in feature.architectures:
            raise InputError(
                f"{feature.name} is not for {self.arch.name}",
                f"it is for {', '.join(feature.architectures)}",
            )

    def _setup(self, feature: Feature, variant: Variant, work: _Work) -> Setup:
        kernel = self.kernel(feature, variant)
        return Setup(
            image=kernel.image,
            kernel_key=kernel.key,
            config_hash=kernel.config_hash,
            compiler=kernel.compiler,
            cmdline=self._cmdline(variant.cmdline, work.cmdline),
            cpu=variant.cpu,
            exact=work.exact,
            cpus=work.cpus,
            job=work.job,
            files=(
                *self._programs(work.workloads),
                *proof_programs(feature, self.arch, self.cache, self.progress),
                *self._modules(feature, kernel, work.workloads),
            ),
            host_files=self._host_files(work.workloads),
        )

    def _file_setup(
        self, image: Path, cmdline: str, sized: tuple[Workload, ...]
    ) -> Setup:
        _check_kernel(self.arch, image)
        return Setup(
            image=image.resolve(),
            kernel_key=f"file:{_sha256(image)}",
            config_hash="",
            compiler="",
            cmdline=cmdline,
            cpu="",
            exact=True,
            cpus=PRICE_CPUS,
            job=(_SETTLE, *(workload.line for workload in sized)),
            files=self._programs(sized),
            host_files=self._host_files(sized),
        )

    def _programs(self, sized: tuple[Workload, ...]) -> tuple[Path, ...]:
        """Build init and the programs of workloads, with what they compile."""
        wanted = {"init", *(workload.program for workload in sized)}
        built = target_programs(self.arch, self.cache, self.progress)
        return (*(path for path in built if path.name in wanted), *_compiled(sized))

    def _host_files(self, sized: tuple[Workload, ...]) -> tuple[Path, ...]:
        found = (compiler_files(self.arch, source) for source in _compiled(sized))
        return tuple(sorted({path for files in found for path in files}))

    def _modules(
        self, feature: Feature, kernel: Kernel, sized: tuple[Workload, ...]
    ) -> list[Path]:
        needed = {each.module: each.kernel_files for each in sized if each.module}
        return [
            *(
                build_module(kernel, source, self.cache, self.progress)
                for source in _modules(feature)
            ),
            *(
                self._workload_module(feature, kernel, module, kernel_files)
                for module, kernel_files in needed.items()
            ),
        ]

    def _workload_module(
        self, feature: Feature, kernel: Kernel, module: str, kernel_files: Sequence[str]
    ) -> Path:
        source = find_source(self.source, feature.series, self.cache)
        tree = source_tree(source, self.cache, self.progress)
        return build_module(
            kernel,
            TARGET / "module" / module,
            self.cache,
            self.progress,
            beside=[tree / name for name in kernel_files],
        )

    def _planned(
        self,
        kind: Kind,
        feature: Feature,
        work: _Work,
        repeats: int,
        command: str,
        **params: object,
    ) -> Planned:
        """Plan ``repeats`` boots of all variants and sabotages in ``feature``."""
        variants = feature.all_variants
        setups = {
            name: self._setup(feature, variant, work)
            for name, variant in variants.items()
        }
        plan = RunPlan(
            kind=kind,
            feature=feature.name,
            arch=self.arch.name,
            machine="tcg",
            baseline=feature.baseline,
            control=feature.control,
            slots=_slots(setups, repeats),
            titles={name: variant.title for name, variant in variants.items()},
            command=command,
            params={
                "title": self._title(feature.title),
                "in_force": {n: variant.in_force for n, variant in variants.items()},
                **params,
                **_identity(setups),
            },
            temper_version=__version__,
        )
        return Planned(plan, setups)


def _slots(setups: Mapping[str, Setup], repeats: int) -> tuple[Slot, ...]:
    return tuple(
        Slot(variant=name, repeat=repeat)
        for repeat in range(repeats)
        for name in setups
    )


def _identity(setups: Mapping[str, Setup]) -> dict[str, Any]:
    """What must not have changed when a run is resumed."""
    return {
        "setups": {
            name: {
                "kernel": setup.kernel_key,
                "cmdline": setup.cmdline,
                "cpu": setup.cpu,
                "cpus": setup.cpus,
                "job": list(setup.job),
                "files": {path.name: _sha256(path) for path in setup.files},
                "host_files": {str(path): _sha256(path) for path in setup.host_files},
            }
            for name, setup in setups.items()
        }
    }


def _modules(feature: Feature) -> list[Path]:
    names = {wanted.module for wanted in feature.target_programs if wanted.module}
    return [feature.folder / "proof" / f"{name}.c" for name in sorted(names)]


def _compiled(sized: tuple[Workload, ...]) -> list[Path]:
    names = dict.fromkeys(filter(None, (workload.compiles for workload in sized)))
    return [TARGET / name for name in names]


def _joined(cmdlines: Iterable[str]) -> str:
    """Join kernel command lines; what several of them want stands there once."""
    return " ".join(dict.fromkeys(filter(None, cmdlines)))


def _list(option: str, names: Collection[str]) -> list[str]:
    """Return the words of an option that takes names; none for no names."""
    return [option, ",".join(names)] if names else []


# Three seconds after its start Linux calibrates the clock again, balances, trims:
# work that would fall into the samples of one variant and not of another. An idle
# guest under exact counts skips the time it waits.
_SETTLE = "settle 3"


def _price_job(feature: Feature, sized: tuple[Workload, ...]) -> tuple[str, ...]:
    """Check before, between and after the workloads that the feature is on."""
    check = f"run {feature.in_force.program}"
    lines = [_SETTLE]
    if feature.in_force.module:
        lines.append(f"module {feature.in_force.module}")
    for workload in sized:
        lines += [check, workload.line]
    return (*lines, check)


def _prove_job(feature: Feature) -> tuple[str, ...]:
    """Attack by every proof of the feature, each program and size once."""
    check = f"run {feature.in_force.program}"
    lines = [f"module {source.stem}" for source in _modules(feature)] + [check]
    lines += [f"run {definition.program}" for definition in feature.definitions]
    attacks = dict.fromkeys(proof.line for proof in feature.proofs.values())
    for attack in attacks:
        lines += [f"run {attack}", check]
    return tuple(lines)


def _check_kernel(arch: Arch, image: Path) -> None:
    """Raise InputError for what QEMU would start and wait for in vain."""
    try:
        with image.open("rb") as file:
            head = file.read(4096)
    except OSError as error:
        raise InputError(f"{image} cannot be read: {error.strerror}") from error
    if not any(head.startswith(word, offset) for offset, word in arch.magic):
        raise InputError(
            f"{image} is not a kernel for {arch.name}", f"give {arch.images}"
        )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
